"""What the runner writes into the ledger: attempts, Advice, and the first new step."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import msgspec

from relume.advice import Advice, Scope
from relume.identity import AttemptId
from relume.ingest.lake import Landing
from relume.models.policy.view import PastAttempt
from relume.records import case_record
from relume.serve.api.ports import AttemptView, view_of
from relume.serve.ledger import (
    AdviceConflictError,
    AttemptRecord,
    Landed,
    Ledger,
    Milestone,
    NotFoundError,
    SupersededError,
)
from relume.serve.live.aftermath import Told
from relume.serve.live.fleet import FleetState
from relume.serve.live.history import RunKey
from relume.serve.live.judge import Judge
from relume.serve.live.metrics import RunnerMetrics
from relume.serve.live.watch import AttemptWatch

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Bookkeeper:
    """Keeps ledger and judge in step.

    Attributes
    ----------
    landed_bytes
        Tells how much of an attempt's logs was read.
    retired
        Attempts that aren't watched any more.
    """

    ledger: Ledger
    judge: Judge
    metrics: RunnerMetrics
    landed_bytes: Callable[[str], int] = lambda _: 0
    retired: list[str] = field(default_factory=list)
    _unpublished: list[Advice | Told] = field(default_factory=list)
    _unsaved: dict[str, AttemptWatch] = field(default_factory=dict)
    _complete: set[str] = field(default_factory=set)
    _restored: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.judge.recall = self._recall
        self.judge.recall_gaps = self.ledger.gaps_before
        self.judge.recall_fleet = self._recall_fleet
        self.judge.retired = self._note_retired
        self.judge.is_done = self._is_done
        self.judge.__post_init__()

    def take(self, landing: Landing) -> bool:
        """Let the judge take one landing; what it leads to is published when that is durable.

        Returns whether it led to Advice.
        """
        advice = self.judge.take(landing)
        self._unpublished += (*advice, *self.judge.told)
        return bool(advice)

    def put_records(self, records: Iterable[AttemptRecord]) -> None:
        """Write what the scheduler says of attempts, with what is known of their logs."""
        self.ledger.put_attempts([self._full(record) for record in records])

    def publish(self, now: int) -> None:
        """Write what is due at `now`: everything that led to it is durable.

        Raises
        ------
        UnreachableError
            When the ledger can't be written; the rest is due again the next time.
        """
        while self._unpublished:
            one = self._unpublished[0]
            if not isinstance(one, Advice):
                self._note(one)
            else:
                self._put(one)
                if one.scope is Scope.ATTEMPT:
                    self._mark(one.attempt)
            self._unpublished.pop(0)
        # What a fleet remembers was advised, and whom the ledger calls done is not judged again: so
        # it comes between the two.
        self._put_fleets()
        for name, watch in self.judge.watches.items():
            if watch.landed and name not in self._complete:
                self._complete.add(name)
                self._unsaved[name] = watch
        while self._unsaved:
            name, watch = next(iter(self._unsaved.items()))
            record = self.ledger.get_attempt(name)
            if record is not None:
                self.ledger.put_attempt(_with_logs(record, watch, self.landed_bytes(name)))
            if watch.left is not None:
                self.ledger.put_gaps(watch.family_key, watch.left)
            if name in self.retired:
                self._note_progress(watch, now)  # it may have been seen and over in one moment
                self._restored.discard(name)
            del self._unsaved[name]

    def _put_fleets(self) -> None:
        for cluster, fleet in self.judge.fleets.items():
            if fleet.is_changed:
                self.ledger.put_fleet(cluster, msgspec.json.encode(fleet.state).decode())
                fleet.is_changed = False

    @property
    def done(self) -> tuple[set[str], set[str]]:
        """The attempts whose logs are read up, and those whose first new step is known: as told."""
        return self._complete, self._restored

    def resume(self, complete: set[str], restored: set[str]) -> None:
        """Go on from what was told before."""
        self._complete, self._restored = complete, restored

    def recover(self) -> list[AttemptRecord]:
        """After judging again: go on from what the ledger holds; return the watched attempts."""
        records = []
        for name, watch in self.judge.watches.items():
            newest = self.ledger.newest(name)
            if newest is not None:
                watch.adopt(newest)
            record = self.ledger.get_attempt(name)
            if record is not None:
                records.append(record)
        return records

    def note_progress(self, now: int) -> None:
        """Write down the first new step of restarted attempts."""
        for watch in self.judge.watches.values():
            self._note_progress(watch, now)

    def _note_progress(self, watch: AttemptWatch, now: int) -> None:
        name = str(watch.attempt)
        restarted = watch.attempt.restart_count > 0
        if restarted and name not in self._restored and watch.has_new_progress:
            cause = self.ledger.newest(str(_before(watch.attempt)))
            advice_id = None if cause is None else cause.advice_id
            milestone = Milestone.PROGRESS_RESTORED
            self.ledger.put_milestone(name, milestone, event_time=now, advice_id=advice_id)
            self._restored.add(name)

    def view(self, record: AttemptRecord) -> AttemptView:
        """Return an attempt as the API shows it."""
        watch = self.judge.watches.get(record.attempt)
        if watch is None:
            return view_of(record)
        first, last = watch.steps
        verdict = watch.shown_verdict()
        landed = replace(record.landed, bytes=self.landed_bytes(record.attempt))
        return view_of(
            replace(record, first_step=first, last_step=last),
            verdict=None if verdict is None else case_record(verdict),
            landed=landed if landed.bytes else record.landed,
        )

    def _put(self, advice: Advice) -> None:
        try:
            if self.ledger.put_advice(advice):
                self.metrics.note_advice(advice)
        except (AdviceConflictError, SupersededError) as error:
            # Rules or settings have changed since: what was told stands, and the next one follows.
            log.warning("%s", error)
            newest = self.ledger.newest(advice.subject)
            watch = self.judge.watches.get(advice.subject)
            if newest is not None and watch is not None:
                watch.adopt(newest)

    def _note(self, told: Told) -> None:
        try:
            self.ledger.note(told)
        except NotFoundError as error:  # Advice that was not taken: see `_put`
            log.warning("%s", error)

    def _full(self, record: AttemptRecord) -> AttemptRecord:
        watch = self.judge.watches.get(record.attempt)
        if watch is not None:
            return _with_logs(record, watch, self.landed_bytes(record.attempt))
        known = self.ledger.get_attempt(record.attempt)
        if known is None:
            return record
        return replace(
            record,
            landed=known.landed,
            first_step=known.first_step,
            last_step=known.last_step,
            fingerprint=known.fingerprint,
            over_at=known.over_at,
        )

    def _mark(self, attempt: str) -> None:
        watch = self.judge.watches.get(attempt)
        if watch is not None:
            self._unsaved[attempt] = watch

    def _note_retired(self, watch: AttemptWatch) -> None:
        name = str(watch.attempt)
        self._unsaved[name] = watch
        self.retired.append(name)
        self._complete.discard(name)

    def _is_done(self, attempt: str) -> bool:
        """Whether the ledger holds all there is to say: it ended, was read up and decided about."""
        record = self.ledger.get_attempt(attempt)
        if record is None or not record.ended or not record.landed.complete:
            return False
        newest = self.ledger.newest(attempt)
        return newest is None or newest.settled

    def _recall_fleet(self, cluster: str) -> FleetState | None:
        """What was known of a cluster; what another version wrote otherwise is learned anew."""
        document = self.ledger.get_fleet(cluster)
        try:
            return None if document is None else msgspec.json.decode(document, type=FleetState)
        except msgspec.MsgspecError as error:
            log.warning("what was known of cluster %s is lost: %s", cluster, error)
            return None

    def _recall(self, run: RunKey) -> list[tuple[AttemptId, PastAttempt]]:
        """Outcomes of the run's attempts that ended before what is judged again."""
        found = []
        for outcome in self.ledger.tries(run.name):
            attempt = AttemptId.parse(outcome.attempt)
            theirs = attempt.job_key.cluster == run.cluster and outcome.user == run.user
            if theirs and outcome.ended:
                steps = outcome.first_step, outcome.last_step
                known = outcome.fingerprint, *steps, outcome.over_at
                past = PastAttempt(attempt.restart_count, *known)
                found.append((attempt, past))
        return found


def _before(attempt: AttemptId) -> AttemptId:
    return AttemptId(attempt.job_key, attempt.restart_count - 1)


def _with_logs(record: AttemptRecord, watch: AttemptWatch, landed_bytes: int) -> AttemptRecord:
    first, last = watch.steps
    return replace(
        record,
        landed=Landed(landed_bytes or record.landed.bytes, watch.landed, fsynced=True),
        first_step=first,
        last_step=last,
        fingerprint=watch.outcome().fingerprint,
        over_at=watch.ended_at,
    )
