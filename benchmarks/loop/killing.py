"""Kills parts of Relume at random moments while jobs recover, and starts them again at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relume.benchmarks.loop.daemon import Daemon
from relume.clock import Clock, SystemClock
from relume.errors import RelumeError, UnreachableError

TARGETS = ("serve", "control", "both")
WAITS_SECONDS = (0.0, 4.0)
"""Between two kills, counted from when Relume works again, so that it gets somewhere."""
EARLY_SHARE = 0.35
"""So many kills don't wait for that: they hit a start, or what was left half done by the last."""
_READY_SECONDS = 120.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Kill:
    """What is to be killed, and how long after Relume works again; `early`: after the last kill."""

    target: str
    after_seconds: float
    early: bool = False


@dataclass(frozen=True, slots=True)
class Killed:
    """What was killed when (UTC microseconds)."""

    target: str
    at: int


def deck(moments: int, seed: int) -> list[Kill]:
    """Return `moments` kills of each target in random order, at random distances.

    >>> kills = deck(2, seed=1)
    >>> sorted(kill.target for kill in kills)
    ['both', 'both', 'control', 'control', 'serve', 'serve']
    >>> kills == deck(2, seed=1)
    True
    """
    rng = random.Random(seed)
    targets = [target for target in TARGETS for _ in range(moments)]
    rng.shuffle(targets)
    return [
        Kill(target, rng.uniform(*WAITS_SECONDS), early=rng.random() < EARLY_SHARE)
        for target in targets
    ]


@dataclass(slots=True)
class Killer:
    """Works through a deck in a thread of its own; a kill waits until a job recovers.

    Attributes
    ----------
    done
        What was killed when, in UTC microseconds.
    """

    serve: Daemon
    control: Daemon
    kills: Sequence[Kill]
    recovering: Callable[[], bool]
    ready: Callable[[], bool]
    done: list[Killed] = field(default_factory=list)
    clock: Clock = field(default_factory=SystemClock)
    _error: RelumeError | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._run, name="killer", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether the deck is done, or something went wrong."""
        return self._error is not None or len(self.done) == len(self.kills)

    def stop(self) -> None:
        """Kill no more.

        Raises
        ------
        RelumeError
            When a part ended by itself meanwhile.
        """
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        try:
            for kill in self.kills:
                if self._waited(kill):
                    return
                self._kill(kill.target)
        except RelumeError as error:
            self._error = error

    def _waited(self, kill: Kill) -> bool:
        """Wait for the next moment; true when no more are wanted."""
        if not kill.early and self._waited_until(self.ready, _READY_SECONDS):
            return True
        due = time.monotonic() + kill.after_seconds
        return self._waited_until(lambda: time.monotonic() >= due and self.recovering())

    def _waited_until(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        end = None if seconds is None else time.monotonic() + seconds
        while not condition():
            if end is not None and time.monotonic() > end:
                raise UnreachableError(
                    "Relume after a kill", found=f"not ready after {seconds:g} s", expected="sooner"
                )
            if self._stop.wait(_POLL_SECONDS):
                return True
        return False

    def _kill(self, target: str) -> None:
        parts = {"serve": [self.serve], "control": [self.control]}
        chosen = parts.get(target, [self.serve, self.control])
        for part in chosen:
            part.require()
        self.done.append(Killed(target, self.clock.now()))
        for part in chosen:
            part.kill()
        for part in chosen:
            part.start()
