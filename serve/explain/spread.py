"""Bounded summaries of many numbers: how they spread, and how they went over time."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

FINENESS: Final = 25
"""Bins in which a number grows e-fold: each is four percent wide."""
LEAST, MOST = 1e-6, 1e9
"""Numbers are taken for at least and at most this."""
MAX_POINTS: Final = 600


@dataclass(slots=True)
class Spread:
    """How numbers above zero spread. Bounded by the bins between `LEAST` and `MOST`.

    Examples
    --------
    >>> spread = Spread()
    >>> for seconds in [5.0] * 99 + [60.0]:
    ...     spread.add(seconds)
    >>> round(spread.quantile(0.5), 1), spread.longest
    (5.0, 60.0)
    """

    count: int = 0
    longest: float = 0.0
    bins: Counter[int] = field(default_factory=Counter)

    def add(self, value: float) -> None:
        """Take one number; what is none says nothing."""
        if math.isnan(value):
            return
        held = min(max(value, LEAST), MOST)
        self.count += 1
        self.longest = max(self.longest, held)
        self.bins[round(math.log(held) * FINENESS)] += 1

    def quantile(self, share: float) -> float:
        """Return the number below which this share is, within two percent; 0 of nothing."""
        wanted, seen = share * self.count, 0
        for place, count in sorted(self.bins.items()):
            seen += count
            if seen >= wanted:
                return min(math.exp(place / FINENESS), self.longest)
        return 0.0


@dataclass(slots=True)
class Course:
    """Numbers over time, the largest of each stretch. Bounded: stretches grow when there are many.

    Examples
    --------
    >>> course = Course()
    >>> for second in range(5000):
    ...     course.add(second, 9.0 if second == 777 else 1.0)
    >>> len(course.points) <= MAX_POINTS, max(value for _, value in course.points)
    (True, 9.0)
    """

    points: list[tuple[int, float]] = field(default_factory=list)
    stride: int = 1
    _held: int = 0

    def add(self, time: int, value: float) -> None:
        """Take the number of a time, in order."""
        if self._held and self._held < self.stride:
            before = self.points[-1]
            self.points[-1] = max(before, (time, value), key=lambda one: one[1])
            self._held += 1
        else:
            self.points.append((time, value))
            self._held = 1
        if len(self.points) > MAX_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=False)
            odd = self.points[-1:] if len(self.points) % 2 else []
            self.points = [max(pair, key=lambda one: one[1]) for pair in pairs] + odd
            self._held = self.stride if odd else self.stride * 2
            self.stride *= 2
