"""Slurm asked by the service itself, where no controller tells it what runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND, Clock
from relume.errors import RelumeError
from relume.identity import AttemptId
from relume.serve.ledger import AttemptRecord
from relume.serve.live.jobs import NO_ENDS, Ends
from relume.serve.live.runner import Runner
from relume.serve.live.session import STALE_SECONDS
from relume.slurm.job import SlurmSnapshot
from relume.slurm.sacct import AttemptRow

log = logging.getLogger(__name__)
POLL_SECONDS = 10.0
"""From one look to the next, as a controller's."""
Ask = Callable[[], SlurmSnapshot]
"""What asks Slurm, with bounded commands. It raises `UnreachableError` for anything but an answer:
no answer is never an empty one."""

Account = Callable[[Collection[str]], list[AttemptRow]]
"""What asks accounting about job ids, with one bounded command; raises as `Ask` does."""
AGAIN_SECONDS = 60.0
"""How long accounting that doesn't answer is left alone."""
MAX_ACCOUNTED = 500
"""Attempts that one command asks about; the others follow."""


def matched(left: Iterable[AttemptRecord], rows: Iterable[AttemptRow]) -> Ends:
    """Return the rows of attempts that are over, by attempt: one of that job id and submit time.

    Both come from slurmctld, which counts in seconds; a requeue moves the time.
    """
    found = {
        (row.job_id, _seconds(row.submit_time)): row for row in rows if row.end_time is not None
    }
    keys = {
        one.attempt: (AttemptId.parse(one.attempt).job_key.job_id, _seconds(one.submit_time))
        for one in left
        if one.submit_time is not None
    }
    return {attempt: found[key] for attempt, key in keys.items() if key in found}


def _seconds(time: int | None) -> int | None:
    return None if time is None else time // MICROSECONDS_PER_SECOND


@dataclass(slots=True)
class SlurmPolling:
    """Looks now and then; waits as long as a controller sends snapshots. A thread of its own.

    Parameters
    ----------
    ask
        Asks Slurm.
    runner
        Takes the snapshots in.
    clock
        Says how old the controller's last one is.
    account
        Asks accounting about attempts that left between two looks; null where nobody does.
    """

    ask: Ask
    runner: Runner
    clock: Clock
    account: Account | None = None
    _account_error: str | None = None
    _account_at: int = 0
    _own: int | None = None
    _error: str | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name="slurm", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; a command that runs is not waited for, it is bounded by itself."""
        self._stop.set()

    def join(self) -> None:
        """Wait for its end."""
        if self._thread is not None:
            self._thread.join()

    def look(self) -> bool:
        """Ask once, unless a controller does; return whether a snapshot was taken in."""
        if self._is_told():
            return False
        try:
            snapshot = self.ask()
            if self._is_told():  # one began while Slurm was asked: its word is newer
                return False
            self.runner.on_scheduler(snapshot, self._ends(snapshot))
        except RelumeError as error:
            self._note(str(error))
            return False
        except Exception as error:
            log.exception("Slurm can't be asked")
            self._note(str(error))
            return False
        self._own = self.runner.snapshot_at
        self._note(None)
        return True

    def _ends(self, snapshot: SlurmSnapshot) -> Ends:
        """Ask accounting how attempts ended that the snapshot doesn't tell of; it may not know."""
        now = self.clock.now()
        if self.account is None or now < self._account_at:
            return NO_ENDS
        left = self.runner.left(snapshot)[:MAX_ACCOUNTED]
        if not left:
            return NO_ENDS
        try:
            rows = self.account([AttemptId.parse(one.attempt).job_key.job_id for one in left])
        except RelumeError as error:  # without it they end as unknown, as before
            self._account_at = now + int(AGAIN_SECONDS * MICROSECONDS_PER_SECOND)
            if self._account_error is None:
                log.warning("accounting can't be asked how attempts ended: %s", error)
            self._account_error = str(error)
            return NO_ENDS
        self._account_error = None
        return matched(left, rows)

    def _is_told(self) -> bool:
        """Whether somebody else sent a snapshot within the last minute."""
        last = self.runner.snapshot_at
        if last is None or last == self._own:
            return False
        return self.clock.now() - last <= STALE_SECONDS * MICROSECONDS_PER_SECOND

    def _note(self, error: str | None) -> None:
        if error is not None and error != self._error:
            log.error("%s", error)
        self._error = error
        self.runner.slurm_error = error

    def _run(self) -> None:
        # What a controller that was there before sends comes first.
        while not self._stop.wait(POLL_SECONDS):
            self.look()
