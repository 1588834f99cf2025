"""The live runner: a step a tick in one thread, snapshots handed in by the API's threads."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from time import monotonic

from relume.advice import Mode
from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import InputError, RelumeError, UnreachableError, counted
from relume.serve.api.ports import AttemptView, PartStatus
from relume.serve.intake.queue import IntakeQueue, Ticket
from relume.serve.ledger import AttemptRecord
from relume.serve.live.compacting import MIN_COMMITS, Compacting
from relume.serve.live.jobs import NO_ENDS, Ends, Taken
from relume.serve.live.session import STALE_SECONDS, TICK_SECONDS, Session
from relume.serve.live.surroundings import Surroundings
from relume.slurm.job import SlurmSnapshot
from relume.verdict import Health

log = logging.getLogger(__name__)
GATHER_SECONDS = 0.02
"""How long what is pushed waits for more: one commit, which costs some fsyncs, holds all of it."""
MAX_NAMED = 5


class Runner:
    """Keeps a session going, whatever happens to it. Thread-safe.

    Attributes
    ----------
    intake
        Where what is pushed waits.
    slurm_error
        Why Slurm can't be asked, where the service asks it itself; null for fine.

    Raises
    ------
    RelumeError
        When lake or ledger can't be opened at the start.
    """

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._error: str | None = None
        self._snapshot_at: int | None = None
        self._stepped_at: int | None = None
        self.slurm_error: str | None = None
        self._is_due = True
        self._compacting = Compacting(
            around.lake, around.clock, around.metrics, around.options.compact_seconds
        )
        self.intake = IntakeQueue(self._wake.set, refused=around.metrics.intake.note_busy)
        around.metrics.intake.watch(self.intake)
        self._session: Session | None = Session(around)

    def run(self, stop: threading.Event) -> None:
        """Do a step a tick, and one at once when a snapshot brought something, until `stop`.

        What is pushed meanwhile is taken in at once, all that waits in one commit.
        """
        tick, due = self._around.options.tick_seconds, 0.0
        while not stop.is_set():
            self._wake.clear()
            if self._is_due or monotonic() >= due:
                self._is_due = False
                due = monotonic() + tick
                self.step()
                due = min(due, monotonic() + self._seconds_to_due(tick))
            wait = max(0.0, due - monotonic())
            if self.take_in():
                wait = min(wait, TICK_SECONDS)
            if not len(self.intake):  # what didn't fit into the commit goes into the next one
                self._wake.wait(wait)
            if len(self.intake):
                stop.wait(GATHER_SECONDS)
            if self._compacting.is_due:
                self.compact()
        self.take_in()
        with self._lock:
            if self._session is not None:
                self._finish(self._session)

    def _finish(self, session: Session) -> None:
        """Write what is there; what can't be written now is judged again by the next service."""
        try:
            session.finish()
        except RelumeError as error:
            self._fail(error)

    def compact(self) -> None:
        """Begin to merge small segments of the lake, when there are enough of them."""
        self._compacting.postpone()
        with self._lock:
            try:
                is_sealed = self._open().seal(MIN_COMMITS)
            except Exception as error:  # noqa: BLE001 - as a step that fails
                self._fail(error)
                return
        if is_sealed:
            self._compacting.start()

    def wait_for_compaction(self) -> None:
        """Wait until what was begun to be merged is."""
        self._compacting.wait()

    def take_in(self) -> bool:
        """Land what was pushed and answer it; return whether judging it waits for a tick."""
        tickets = self.intake.take()
        with self._lock:
            session = self._session
            if not tickets and (session is None or not session.waits_for_tick):
                return False
            if self._land(tickets):
                return self._session is not None and self._session.waits_for_tick
        if len(tickets) > 1:  # one that can't be landed must not take the others with it
            for ticket in tickets:
                with self._lock:
                    self._land([ticket], is_last=True)
        return False

    def _land(self, tickets: Sequence[Ticket], *, is_last: bool = False) -> bool:
        """Make tickets durable and answer them, or say why not; false: try each by itself."""
        try:
            session = self._open()
            outcomes = session.take_pushed([ticket.body for ticket in tickets])
        except InputError as error:
            self._fail(error)
            if len(tickets) > 1 and not is_last:
                return False
            self._refuse(tickets, error)
        except Exception as error:  # noqa: BLE001 - whoever sent it sends it again
            self._fail(error)
            self._refuse(tickets, UnreachableError("what was pushed", found=str(error)))
        else:
            self._error = None
            self._around.metrics.intake.note_commit(outcomes)
            for ticket, outcome in zip(tickets, outcomes, strict=True):
                ticket.done(outcome)
        return True

    def _refuse(self, tickets: Sequence[Ticket], error: RelumeError) -> None:
        self._around.metrics.intake.note_failed(len(tickets))
        for ticket in tickets:
            ticket.fail(error)

    def stop(self, stop: threading.Event) -> None:
        """Set `stop` and don't wait for the next tick."""
        stop.set()
        self._wake.set()

    def step(self) -> None:
        """Do one step; one that fails is begun again from what is durable."""
        with self._lock, self._around.metrics.step_seconds.time():
            try:
                self._stepped_at = now = self._open().step()
                if self._around.options.watch.mode is Mode.APPROVE:
                    self._around.ledger.expire_answers(now)
                self._around.metrics.intake.note_senders(*self._open().senders)
            except Exception as error:  # noqa: BLE001 - the next step may get over it
                self._fail(error)
            else:
                self._error = None

    def _seconds_to_due(self, tick: float) -> float:
        with self._lock:
            due = None if self._session is None else self._session.seconds_to_due()
        return tick if due is None else due

    def left(self, snapshot: SlurmSnapshot) -> list[AttemptRecord]:
        """Return attempts that are over, and of which a snapshot doesn't tell how they ended."""
        with self._lock:
            return self._open().left(snapshot)

    def on_scheduler(self, snapshot: SlurmSnapshot, ends: Ends = NO_ENDS) -> Mapping[str, str]:
        """Take a snapshot in; return the attempt of each job when all of it is durable.

        `ends` is what accounting says of attempts that it leaves out.

        Raises
        ------
        InputError
            For a snapshot of another cluster.
        UnreachableError
            When it can't be made durable.
        """
        with self._lock:
            try:
                session = self._open()
                refusal = session.refusal(snapshot.cluster)
                taken = Taken() if refusal is not None else session.take(snapshot, ends)
            except Exception as error:  # the controller sends the next one soon
                self._fail(error)
                raise UnreachableError("the snapshot", found=str(error)) from error
            if refusal is not None:
                raise refusal
            self._snapshot_at = self._around.clock.now()
        if taken.events:
            self._is_due = True
            self._wake.set()
        return taken.attempts

    def view(self, record: AttemptRecord) -> AttemptView:
        """Return an attempt of the ledger with what is known of it right now."""
        with self._lock:
            return self._open().books.view(record)

    @property
    def snapshot_at(self) -> int | None:
        """When the last snapshot was taken in (UTC microseconds); null for never."""
        return self._snapshot_at

    def readiness(self) -> Mapping[str, PartStatus]:
        """Return how reading and judging, and the word of the scheduler, are."""
        now, tick = self._around.clock.now(), self._around.options.tick_seconds
        runner = _freshness(self._stepped_at, now, max(10.0, 10 * tick), "no step yet")
        if self._error is not None:
            runner = PartStatus(Health.UNHEALTHY, self._error)
        hint = "no snapshot yet: is `relume control` running?"
        scheduler = _freshness(self._snapshot_at, now, STALE_SECONDS, hint)
        if self.slurm_error is not None and scheduler.status is not Health.HEALTHY:
            scheduler = PartStatus(Health.UNKNOWN, self.slurm_error)
        session = self._session
        if session is not None and session.is_told_by_push:
            scheduler = PartStatus(Health.HEALTHY)
        parts = {"runner": runner, "scheduler": scheduler}
        if session is not None and session.stopped:
            names = ", ".join(session.stopped[:MAX_NAMED])
            words = f"{counted(len(session.stopped), 'sender')} stopped to push: {names}"
            parts["ingest"] = PartStatus(Health.UNKNOWN, words)
        elif session is not None and session.senders[0]:
            parts["ingest"] = PartStatus(Health.HEALTHY)
        return parts

    def close(self) -> None:
        """Let go of the lake and of every file."""
        with self._lock:
            if self._session is not None:
                self._session.close()
            self._session = None

    def _open(self) -> Session:
        if self._session is None:
            # Without a ledger there is no session: ask before the lake is read for nothing.
            self._around.ledger.ping()
            self._session = Session(self._around)
        return self._session

    def _fail(self, error: Exception) -> None:
        """Drop a session of which nobody knows what it took in."""
        known = isinstance(error, RelumeError)
        words = str(error) if known else f"{type(error).__name__}: {error}"
        if words != self._error:
            log.error("%s", words, exc_info=None if known else error)
        self._error = words
        self._around.metrics.failures.inc()
        self.close()


def _freshness(at: int | None, now: int, seconds: float, never: str) -> PartStatus:
    if at is None:
        return PartStatus(Health.UNKNOWN, never)
    age = (now - at) / MICROSECONDS_PER_SECOND
    if age > seconds:
        return PartStatus(Health.UNHEALTHY, f"nothing for {age:.0f} s")
    return PartStatus(Health.HEALTHY)
