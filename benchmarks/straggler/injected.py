"""A slowdown at a known step of a run that is else healthy: found or not, and how soon."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from relume.benchmarks.false_alarms.plans import generator
from relume.models.straggler.levels import Level
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.stream import PaceStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACE_SECONDS = 5.0
HEALTHY = 1000, 1400
"""Steps before the slowdown: at least a whole calibration."""
SLOW_STEPS = 60
LATE_SECONDS = 60.0
"""An alarm may come so much after the end of what it is about (metrics section 2)."""
LEAST_SECONDS = 300.0


class Source(Protocol):
    """Where healthy step times come from."""

    @property
    def name(self) -> str:
        """Which one it is."""

    def longer(self, count: int, *words: int) -> NDArray[np.float64]:
        """Return `count` step times over their median, drawn by `words`."""


@dataclass(frozen=True, slots=True, eq=False)
class Injected:
    """A run with a slowdown.

    Attributes
    ----------
    values
        Seconds of each step.
    onset, end
        The first slow step, and the first one after the last.
    """

    source: str
    slowdown: float
    values: NDArray[np.float64]
    onset: int
    end: int

    def seconds(self, place: int) -> float:
        """Seconds from the end of the last good step to the end of a later one."""
        return float(self.values[self.onset : place + 1].sum())


@dataclass(frozen=True, slots=True)
class Delay:
    """What became of one slowdown.

    Attributes
    ----------
    fast, guaranteed
        Seconds to each kind of alarm; null for a miss.
    last
        Seconds after which an alarm comes too late: of misses the delay is known to be longer.
    early
        Alarms before it began: false ones.
    """

    slowdown: float
    source: str
    fast: float | None
    guaranteed: float | None
    last: float
    early: int


def inject(source: Source, slowdown: float, number: int) -> Injected:
    """Make steps of a source slower from a drawn step on, for 60 of them and 5 min at least."""
    draws = generator(number, int(slowdown * 1000))
    onset = int(draws.integers(*HEALTHY))
    length = max(SLOW_STEPS, int(np.ceil(LEAST_SECONDS / (PACE_SECONDS * slowdown))) + 1)
    after = int(np.ceil(LATE_SECONDS / PACE_SECONDS))
    values = PACE_SECONDS * source.longer(onset + length + after, number, 1)
    values[onset : onset + length] *= slowdown
    return Injected(source.name, slowdown, values, onset, onset + length)


def judge(run: Injected, settings: StragglerSettings) -> Delay:
    """Let the straggler detector watch one run.

    A suspicion that was there before the slowdown began, or an alarm, is early; the slowdown may
    then be found by what comes after.
    """
    stream = PaceStream(settings, f"injected/{run.source}", "0.0")
    changes = stream.take(run.values, span_seconds=PACE_SECONDS)
    raised = [c for c in changes if c.level is not Level.NONE]
    last = run.seconds(run.end - 1) + LATE_SECONDS
    delays: dict[Level, float] = {}
    for change in raised:
        delay = run.seconds(change.place)
        if change.place >= run.onset and delay <= last:
            delays.setdefault(change.level, delay)
            if change.level is Level.ACTIONABLE:  # the surer level says what the other would
                delays.setdefault(Level.SUSPICION, delay)
    early = sum(change.place < run.onset for change in raised)
    return Delay(
        run.slowdown,
        run.source,
        delays.get(Level.SUSPICION),
        delays.get(Level.ACTIONABLE),
        last,
        early,
    )


def delays(
    sources: Iterable[Source],
    slowdowns: Iterable[float],
    numbers: range,
    of: Callable[[Injected], Delay],
) -> list[Delay]:
    """Judge `numbers` runs of every source with every slowdown."""
    slow = list(slowdowns)
    return [of(inject(s, ratio, number)) for s in sources for ratio in slow for number in numbers]
