"""Two halves of recorded runs that share neither time nor jobs (metrics section 14). Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from operator import attrgetter


@dataclass(frozen=True, slots=True)
class Ran:
    """One run, all its attempts: from and to (UTC microseconds), and how much of it is scored."""

    name: str
    start: int
    end: int
    weight: float


@dataclass(frozen=True, slots=True)
class Split:
    """Runs that were over by `cut`, and those that began later.

    `astride` ran at the cut, and are in neither. `cut` is null when nothing could be split.
    """

    cut: int | None
    earlier: frozenset[str]
    later: frozenset[str]
    astride: frozenset[str] = frozenset()


def split(runs: Iterable[Ran]) -> Split:
    """Cut where the lighter half is heaviest; a run is in one half as a whole, or in none.

    Examples
    --------
    >>> runs = [Ran("a", 0, 5, 1.0), Ran("b", 2, 9, 1.0), Ran("c", 6, 9, 1.0)]
    >>> halves = split(runs)
    >>> halves.cut, sorted(halves.earlier), sorted(halves.later), sorted(halves.astride)
    (6, ['a'], ['c'], ['b'])
    """
    known = list(runs)
    by_end = sorted(known, key=attrgetter("end", "name"))
    by_start = sorted(known, key=attrgetter("start", "name"))
    ends, starts = [one.end for one in by_end], [one.start for one in by_start]
    before = [0.0, *accumulate(one.weight for one in by_end)]
    after = [0.0, *accumulate(one.weight for one in by_start)]

    def lighter(cut: int) -> float:
        return min(before[bisect_right(ends, cut)], after[-1] - after[bisect_left(starts, cut)])

    cut = max(starts, key=lighter, default=None)
    if cut is None or lighter(cut) <= 0.0:
        return Split(None, frozenset(), frozenset(), frozenset(one.name for one in known))
    earlier = frozenset(one.name for one in known if one.end <= cut)
    later = frozenset(one.name for one in known if one.start >= cut) - earlier
    astride = frozenset(one.name for one in known) - earlier - later
    return Split(cut, earlier, later, astride)
