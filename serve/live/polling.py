"""Slurm asked by the service itself, where no controller tells it what runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND, Clock
from relume.errors import RelumeError
from relume.serve.live.runner import Runner
from relume.serve.live.session import STALE_SECONDS
from relume.slurm.job import SlurmSnapshot

log = logging.getLogger(__name__)
POLL_SECONDS = 10.0
"""From one look to the next, as a controller's."""
Ask = Callable[[], SlurmSnapshot]
"""What asks Slurm, with bounded commands. It raises `UnreachableError` for anything but an answer:
no answer is never an empty one."""


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
    """

    ask: Ask
    runner: Runner
    clock: Clock
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
            self.runner.on_scheduler(snapshot)
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
