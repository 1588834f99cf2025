"""What is known of the gaps between the progress lines of one phase."""

from __future__ import annotations

from dataclasses import dataclass

_STEP = 0.1
_ALIKE = 0.5


@dataclass(slots=True)
class PhaseGaps:
    """How many gaps, their running median, the longest, and how many came near it. Seconds.

    32 bytes of numbers, whatever comes.

    Examples
    --------
    >>> gaps = PhaseGaps()
    >>> for seconds in (5.0, 5.1, 60.0, 5.0, 62.0):
    ...     gaps.add(seconds)
    >>> gaps.count, gaps.longest_seconds, gaps.near_longest
    (5, 62.0, 2)
    """

    count: int = 0
    usual_seconds: float = 0.0
    longest_seconds: float = 0.0
    near_longest: int = 0

    def add(self, seconds: float) -> None:
        """Take one gap; the median moves by a tenth of itself, so no history is kept."""
        self.count += 1
        self._note_long(seconds, 1)
        if self.count == 1:
            self.usual_seconds = seconds
            return
        # By a tenth of itself, but not past the gap: an even pace is met exactly.
        step = _STEP * max(self.usual_seconds, 1e-3)
        distance = seconds - self.usual_seconds
        self.usual_seconds += max(-step, min(step, distance))

    def joined(self, other: PhaseGaps) -> PhaseGaps:
        """Return what both know together; of the usual gap, the one that knows more is right."""
        knows_more = self if self.count >= other.count else other
        both = PhaseGaps(self.count, knows_more.usual_seconds, self.longest_seconds)
        both.near_longest = self.near_longest
        if other.count:
            both.count += other.count
            both._note_long(other.longest_seconds, other.near_longest)
        return both

    def _note_long(self, seconds: float, times: int) -> None:
        if seconds * _ALIKE > self.longest_seconds:
            self.near_longest = 0
        if seconds >= self.longest_seconds * _ALIKE:
            self.near_longest += times
        self.longest_seconds = max(self.longest_seconds, seconds)
