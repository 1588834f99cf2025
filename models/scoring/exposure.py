"""How long jobs ran with nothing wrong: what false alarms are counted by (metrics section 4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.models.scoring.attempt import DAY, ScoredAttempt, ScoreSettings, window_of

Span = tuple[int, int]
"""From and to, UTC microseconds."""


@dataclass(slots=True)
class Exposure:
    """Microseconds of running, for any number of attempts.

    Attributes
    ----------
    ran
        In all.
    quiet
        Less the windows of incidents and what isn't scored.
    ignored
        What isn't scored: in ignore intervals.
    """

    ran: int = 0
    quiet: int = 0
    ignored: int = 0

    @property
    def days(self) -> float:
        """Days that it ran in all."""
        return self.ran / DAY

    @property
    def quiet_days(self) -> float:
        """Days without an incident and without ignore intervals."""
        return self.quiet / DAY

    @property
    def ignored_days(self) -> float:
        """Days in ignore intervals."""
        return self.ignored / DAY

    def add(self, other: Exposure, times: int = 1) -> None:
        """Add another one, `times` over (once a node)."""
        self.ran += other.ran * times
        self.quiet += other.quiet * times
        self.ignored += other.ignored * times


def exposure_of(attempt: ScoredAttempt, settings: ScoreSettings) -> Exposure | None:
    """Return how long an attempt ran; null when that isn't known.

    It isn't without a clock, nor when an incident has no onset: nobody can say which part of the
    attempt was quiet, and all of it would flatter.
    """
    if attempt.start is None or attempt.end is None:
        return None
    windows: list[Span] = []
    for incident in attempt.incidents or ():
        first, last = window_of(incident, attempt.end, settings)
        if first is None:
            return None
        windows.append((first, attempt.end if last is None else last))
    ran = (attempt.start, attempt.end)
    ignored = [(one.start, one.end) for one in attempt.ignore]
    return Exposure(
        ran=attempt.end - attempt.start,
        quiet=attempt.end - attempt.start - covered([*windows, *ignored], ran),
        ignored=covered(ignored, ran),
    )


def covered(spans: Iterable[Span], within: Span) -> int:
    """Return how much of `within` the union of `spans` covers.

    Examples
    --------
    >>> covered([(0, 4), (2, 6), (9, 99)], (1, 10))
    6
    """
    total, reached = 0, within[0]
    for begin, end in sorted(spans):
        fresh = min(end, within[1]) - max(begin, reached)
        if fresh > 0:
            total += fresh
            reached = min(end, within[1])
    return total
