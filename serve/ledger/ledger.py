"""The ledger as the rest of the service sees it: each call is one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, select

from relume.advice import Advice, Reconciliation
from relume.models.family.attempt import AttemptGaps, FamilyKey
from relume.serve.ledger import (
    answers,
    attempts,
    audit,
    cursors,
    decisions,
    fleets,
    gaps,
    incidents,
    leases,
    news,
)
from relume.serve.ledger.address import Access
from relume.serve.ledger.aftermath import MAX_PAGE, Aftermath
from relume.serve.ledger.happened import Closing, OutcomeRecord, Struck
from relume.serve.ledger.pages import advice_before
from relume.serve.ledger.records import (
    AttemptOutcome,
    AttemptRecord,
    Lease,
    Milestone,
    MilestoneRecord,
)
from relume.serve.ledger.store import Store
from relume.serve.ledger.tables import ADVICE

LEDGER_FILE = "ledger.db"
"""Its name in the data folder of a service."""
LEASE, RECONCILIATION = "lease", "reconciliation"


class Ledger(Aftermath):
    """Advice and what belongs to it, durable: what a call wrote is on disk when it returns.

    Safe between threads; each process opens its own. Times are UTC microseconds. Besides what they
    name, all calls raise `UnreachableError` (retryable) when the database can't take the
    transaction, and nothing was changed then.
    """

    @classmethod
    def open(cls, url: str, access: Access | None = None) -> Self:
        """Open a ledger, make it if there is none, and bring its tables up to date.

        Parameters
        ----------
        url
            ``sqlite:///`` and a path (see `sqlite_url`), whose folder is made; or
            ``mysql+pymysql://USER@HOST/DATABASE``, a database that is there.
        access
            How a server is entered; null for no password and no TLS.

        Raises
        ------
        ConfigError
            For another URL, for a file on a network filesystem, for a server that isn't fit or
            doesn't let us in, and for a ledger that a newer version wrote or that is none.
        UnreachableError
            When the file can't be opened or stays locked, or the server doesn't answer.
        """
        return cls(Store.open(url, access))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def ping(self) -> None:
        """Make sure that the database can be read."""
        self._store.read(lambda connection: connection.execute(select(ADVICE.c.settled).limit(1)))

    # --- Advice ---

    def put_advice(self, advice: Advice) -> bool:
        """Write a new generation; false, and nothing written, if it is there with equal content.

        With it the incident of its subject is opened, moved on or closed.

        Equal is what must be equal between a live run and a replay (`relume.advice.comparable`), so
        a decision made again after a crash is the same one. Its reconciliation isn't taken over.

        Raises
        ------
        AdviceConflictError
            When the same generation is there with another content.
        SupersededError
            When a newer generation about the attempt is there, but not this one.
        """
        is_new = self._store.write(_put_advice, advice)
        self.bell.ring()
        return is_new

    def active(self, now: int, cluster: str | None = None) -> list[Advice]:
        """Return what is still to be carried out, oldest first.

        That is the newest generation about each attempt, if it is PENDING and expires after `now`;
        of all clusters if `cluster` is null.
        """
        return self._store.read(decisions.active, now, cluster)

    def write(self, one: Advice | Closing | Struck | OutcomeRecord) -> bool:
        """Write Advice or what became of it (`put_advice`, `note`); false if it is known."""
        return self.put_advice(one) if isinstance(one, Advice) else self.note(one)

    def listed(
        self, *, attempt: str | None = None, before: str = "", limit: int = MAX_PAGE
    ) -> list[Advice]:
        """Return Advice, newest first, whatever became of it; at most `limit` and `MAX_PAGE`.

        Parameters
        ----------
        attempt
            Only what is about this attempt, its nodes and its incidents included.
        before
            The `advice_id` of the last one of the page before; the first page when empty.

        Raises
        ------
        NotFoundError
            For a `before` that isn't in the ledger.
        """
        return self._store.read(advice_before, attempt, before, min(limit, MAX_PAGE))

    def ids_like(self, beginning: str) -> list[str]:
        """Return the ids of Advice that begin so, of many only a few."""
        return self._store.read(decisions.ids_like, beginning)

    def newest(self, attempt: str) -> Advice | None:
        """Return the newest generation about an attempt (its text form), null without any."""
        return self._store.read(decisions.newest, attempt)

    def get(self, advice_id: str) -> Advice | None:
        """Return one generation as it was written, with its present reconciliation."""
        return self._store.read(decisions.find, advice_id)

    def reconcile(
        self, advice_id: str, reconciliation: Reconciliation, fencing_token: int, now: int
    ) -> Advice:
        """Write down what became of an Advice, by the word of the controller; return it so.

        The same report again changes nothing. CONVERGED and ABANDONED are final. What changes is
        audited as of `now`.

        Raises
        ------
        NotFoundError
            For an unknown `advice_id`.
        StaleFencingTokenError
            When another controller has taken over the cluster.
        SupersededError
            When there is a newer generation than the Advice or than the one observed.
        FinalDispositionError
            When the Advice has come to another end.
        InputError
            When the report names no generation, or one that doesn't exist.
        """
        changed = self._store.write(_reconcile, advice_id, reconciliation, fencing_token, now)
        self.bell.ring()
        return changed

    # --- controllers ---

    def take_lease(self, cluster: str, holder: str, ttl_seconds: float, now: int) -> Lease:
        """Give the lease of a cluster to `holder`, or renew it.

        A renewal keeps the fencing token, a new holder gets the next one. A lease that has run out
        can be taken by anybody; until somebody did, its holder may still renew it.

        Raises
        ------
        LeaseHeldError
            When another holder's lease is alive.
        InputError
            For an empty name, and for a time to live that isn't above 0.
        """
        wanted = leases.wanted(cluster, holder, ttl_seconds, now)
        return self._store.write(_take_lease, wanted, now)

    def get_lease(self, cluster: str) -> Lease | None:
        """Return the newest lease of a cluster, alive or not; null if there never was one."""
        return self._store.read(leases.find, cluster)

    def check_fence(self, cluster: str, token: int) -> None:
        """Make sure that `token` is the newest of its cluster.

        Raises
        ------
        StaleFencingTokenError
            When it is another, or there never was a lease.
        """
        self._store.read(leases.check_fence, cluster, token)

    # --- attempts ---

    def put_attempt(self, record: AttemptRecord) -> None:
        """Write what is known about an attempt in place of what was known before."""
        self.put_attempts([record])

    def put_attempts(self, records: Iterable[AttemptRecord]) -> None:
        """Write several attempts, all or none.

        Raises
        ------
        InputError
            For an attempt that isn't a text form.
        """
        self._store.write(attempts.put_all, tuple(records))

    def attempts(self, *, active: bool | None = None) -> list[AttemptRecord]:
        """Return all attempts, those that go on (true) or those that have ended; oldest first."""
        return self._store.read(attempts.every, active=active)

    def get_attempt(self, attempt: str) -> AttemptRecord | None:
        """Return one attempt by its text form, or by `job_id-restart_count` of the newest job.

        Raises
        ------
        InputError
            For a name in neither form.
        """
        return self._store.read(attempts.find, attempt)

    def newest_attempt(self, cluster: str, job_id: str) -> AttemptRecord | None:
        """Return the last attempt of the newest job with that id, null if none was ever seen."""
        return self._store.read(attempts.newest, cluster, job_id)

    def tries(self, run: str) -> list[AttemptOutcome]:
        """Return every attempt of a run, oldest first, the one that goes on included."""
        return self._store.read(attempts.tries, run)

    def put_milestone(
        self, attempt: str, milestone: Milestone, *, event_time: int, advice_id: str | None = None
    ) -> bool:
        """Write that an attempt got so far; the first report stands, false for a later one.

        Raises
        ------
        NotFoundError
            For an `advice_id` that isn't in the ledger.
        InputError
            For an attempt that isn't a text form.
        """
        record = MilestoneRecord(attempt, milestone, advice_id, event_time)
        return self._store.write(attempts.put_milestone, record)

    def milestones(self, attempt: str) -> list[MilestoneRecord]:
        """Return the milestones of an attempt in the order of their times."""
        return self._store.read(attempts.milestones, attempt)

    # --- families ---

    def put_gaps(self, key: FamilyKey, left: AttemptGaps) -> None:
        """Write what an attempt that is over leaves to its family."""
        self._store.write(gaps.put, key.digest, left)

    def gaps_before(self, key: FamilyKey, time: int) -> list[AttemptGaps]:
        """Return the last members of a family that were known to be over before a time.

        At most `relume.models.family.prior.MAX_MEMBERS`, the last one first.
        """
        return self._store.read(gaps.before, key.digest, time)

    # --- clusters ---

    def put_fleet(self, cluster: str, document: str) -> None:
        """Write what is known of a cluster beside its attempts; what it says is the judge's."""
        self._store.write(fleets.put, cluster, document)

    def get_fleet(self, cluster: str) -> str | None:
        """Return what was written last of a cluster, null for one that is new."""
        return self._store.read(fleets.find, cluster)

    # --- cursors ---

    def get_cursor(self, source: str) -> str | None:
        """Return the position up to which a source was read, null for a new source."""
        return self._store.read(cursors.find, source)

    def cursors(self) -> dict[str, str]:
        """Return the position of every source."""
        return self._store.read(cursors.every)

    def put_cursor(self, source: str, position: str) -> None:
        """Write the position of a source, whose form is the source's own business."""
        self.put_cursors({source: position})

    def put_cursors(self, positions: Mapping[str, str]) -> None:
        """Write the positions of several sources, all or none."""
        self._store.write(cursors.put, positions)

    def drop_cursors(self, sources: Iterable[str]) -> None:
        """Forget sources that won't be read any more."""
        self._store.write(cursors.drop, tuple(sources))


def _put_advice(connection: Connection, advice: Advice) -> bool:
    is_new = decisions.add(connection, advice)
    if is_new:
        incidents.note(connection, advice)
        answers.ask(connection, advice)
        news.add(connection, news.News.ADVICE, advice.advice_id, advice.created_at)
    return is_new


def _reconcile(
    connection: Connection, advice_id: str, report: Reconciliation, fencing_token: int, now: int
) -> Advice:
    advice = decisions.require(connection, advice_id)
    cluster = decisions.cluster_of(advice)
    leases.check_fence(connection, cluster, fencing_token)
    changed = decisions.reconcile(connection, advice, report, fencing_token)
    if changed != advice:
        holder = leases.holder(connection, cluster)
        audit.add(connection, at=now, who=holder, what=RECONCILIATION, about=advice_id, done=report)
        news.add(connection, news.News.RECONCILIATION, advice_id, now)
    return changed


def _take_lease(connection: Connection, wanted: Lease, now: int) -> Lease:
    before = leases.find(connection, wanted.cluster)
    lease = leases.take(connection, wanted, now)
    if before is None or before.holder != wanted.holder:  # a renewal is no news
        audit.add(
            connection, at=now, who=wanted.holder, what=LEASE, about=wanted.cluster, done=lease
        )
    return lease
