"""What is known of the gaps between the progress lines of one phase."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

RECENT: Final = 15
"""Gaps of which the mean is what is usual."""
_LEFT_OUT: Final = 5
"""Of so many of them the longest is left out: it may be a pause."""
_ALIKE: Final = 0.5


@dataclass(slots=True)
class PhaseGaps:
    """How many gaps, what is usual lately, the longest, and how many came near it. Seconds.

    Holds `RECENT` numbers, whatever comes.

    Examples
    --------
    >>> gaps = PhaseGaps()
    >>> for seconds in (5.0, 5.1, 60.0, 5.0, 62.0):
    ...     gaps.add(seconds)
    >>> gaps.count, gaps.usual_seconds, gaps.longest_seconds, gaps.near_longest
    (5, 18.775, 62.0, 2)
    """

    count: int = 0
    longest_seconds: float = 0.0
    near_longest: int = 0
    recent: list[float] = field(default_factory=list)

    @property
    def usual_seconds(self) -> float:
        """The mean of the last gaps without the longest fifth of them; 0 without any.

        Not their median: where long and short ones take turns, that is one or the other.
        """
        kept = len(self.recent) - len(self.recent) // _LEFT_OUT
        return fmean(sorted(self.recent)[:kept]) if kept else 0.0

    def add(self, seconds: float) -> None:
        """Take one gap."""
        self.count += 1
        self._note_long(seconds, 1)
        if len(self.recent) >= RECENT:
            del self.recent[0]
        self.recent.append(seconds)

    def joined(self, other: PhaseGaps) -> PhaseGaps:
        """Return what both know together; what is usual is told by the later one, `self`."""
        both = PhaseGaps(self.count, self.longest_seconds, self.near_longest)
        both.recent = [*other.recent, *self.recent][-RECENT:]
        if other.count:
            both.count += other.count
            both._note_long(other.longest_seconds, other.near_longest)
        return both

    def copy(self) -> PhaseGaps:
        """Return the same, to be changed alone."""
        return PhaseGaps(self.count, self.longest_seconds, self.near_longest, list(self.recent))

    def _note_long(self, seconds: float, times: int) -> None:
        if seconds * _ALIKE > self.longest_seconds:
            self.near_longest = 0
        if seconds >= self.longest_seconds * _ALIKE:
            self.near_longest += times
        self.longest_seconds = max(self.longest_seconds, seconds)
