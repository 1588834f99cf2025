"""Kills parts of Relume at random moments while jobs recover, and starts them again at once."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relume.benchmarks.loop.daemon import Daemon
from relume.clock import Clock, SystemClock
from relume.errors import RelumeError

TARGETS = ("serve", "control", "both")
WAITS_SECONDS = (0.3, 9.0)
"""Between two kills: some come while the last one is still being got over, most leave the time to
start (some 3 s on two busy cores), so that a recovery is hit in each of its steps."""
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Kill:
    """A part, and how long after the last kill it comes at the earliest."""

    target: str
    after_seconds: float


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
    return [Kill(target, rng.uniform(*WAITS_SECONDS)) for target in targets]


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
                if self._waited(kill.after_seconds):
                    return
                self._kill(kill.target)
        except RelumeError as error:
            self._error = error

    def _waited(self, seconds: float) -> bool:
        """Wait for the next moment; true when no more are wanted."""
        end = time.monotonic() + seconds
        while time.monotonic() < end or not self.recovering():
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
