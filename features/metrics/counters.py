"""Counters to rates: a counter that falls was started anew; what it counted unseen isn't known."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from relume.features.metrics.points import Points

MICROSECONDS = 1_000_000
MAX_GAP_SECONDS = 600.0
"""A rate over a longer time says nothing of any moment in it."""

Key = TypeVar("Key", bound=Hashable)


def rates(points: Points, *, max_gap_seconds: float = MAX_GAP_SECONDS) -> list[tuple[int, float]]:
    """Return the rates of a counter per second, each at the end of the stretch it is of.

    A value below the one before it is a restart from zero: the counter has risen by at least that
    value since, as PromQL's `rate` takes it. NaN and infinite values are left out, as are values
    that don't come later than the one before them. Over a gap longer than `max_gap_seconds` there
    is no rate.

    Examples
    --------
    >>> second = 1_000_000
    >>> rates([(0, 100.0), (10 * second, 150.0), (20 * second, 30.0)])
    [(10000000, 5.0), (20000000, 3.0)]
    """
    counter = Counter[int](max_gap_seconds)
    found = ((time, counter.take(0, time, value)) for time, value in points)
    return [(time, rate) for time, rate in found if rate is not None]


@dataclass(slots=True)
class Counter(Generic[Key]):
    """The same over many counters as their values come in; two numbers a counter.

    Attributes
    ----------
    max_gap_seconds
        As for `rates`.
    last
        Time and value that were seen last. Whoever bounds the keys takes them out of here.

    Examples
    --------
    >>> counter = Counter()
    >>> counter.take("n1", 0, 5.0), counter.take("n1", 2_000_000, 9.0)
    (None, 2.0)
    """

    max_gap_seconds: float = MAX_GAP_SECONDS
    last: dict[Key, tuple[int, float]] = field(default_factory=dict)

    def take(self, key: Key, time: int, value: float) -> float | None:
        """Take a value; return the rate since the one before it, null where there is none."""
        before = self.last.get(key)
        if not isfinite(value) or (before is not None and time <= before[0]):
            return None
        self.last[key] = (time, value)
        if before is None or time - before[0] > self.max_gap_seconds * MICROSECONDS:
            return None
        return increase(before[1], value) * MICROSECONDS / (time - before[0])


def increase(before: float, after: float) -> float:
    """Return by how much a counter rose, at least: one that fell was started anew from zero.

    >>> increase(100.0, 150.0), increase(150.0, 30.0)
    (50.0, 30.0)
    """
    return after - before if after >= before else max(after, 0.0)
