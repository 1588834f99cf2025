"""What is scored: an attempt with what went wrong, what was said of it, and how long it ran."""

from __future__ import annotations

from dataclasses import dataclass

from relume.dataset import IgnoreInterval, Incident, Origin
from relume.models.scoring.alarm import Alarm
from relume.verdict import Kind

SECOND = 1_000_000
DAY = 86_400 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredAttempt:
    """One attempt of a data set after its replay.

    Attributes
    ----------
    origin
        Where it comes from; attempts of different origins are never pooled.
    start, end
        While it ran, UTC microseconds; null without a clock, and it has no exposure then.
    nodes
        How many nodes it had; null is not known, and it counts in no node-days then.
    incidents
        What went wrong; empty for a healthy attempt, null where nobody knows: it is counted, its
        alarms are not scored.
    """

    attempt: str
    title: str
    origin: Origin = Origin.RECORDED
    start: int | None = None
    end: int | None = None
    nodes: int | None = None
    incidents: tuple[Incident, ...] | None = None
    ignore: tuple[IgnoreInterval, ...] = ()
    alarms: tuple[Alarm, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreSettings:
    """How alarms and incidents are matched (metrics section 2). Seconds.

    Attributes
    ----------
    dedup_seconds
        Alarms of one attempt and kind within this of the first are one alarm.
    early_seconds, late_seconds
        How long before the onset and after the end of an incident an alarm still is one of it.
    min_actionable_seconds, min_actionable_straggler_seconds
        What is over sooner is reported as transient and can't be missed.
    """

    dedup_seconds: float = 300.0
    early_seconds: float = 0.0
    late_seconds: float = 60.0
    min_actionable_seconds: float = 60.0
    min_actionable_straggler_seconds: float = 300.0

    def min_actionable(self, kind: Kind) -> float:
        """Return how long an incident of a kind must last to be one that can be missed."""
        if kind is Kind.STRAGGLER:
            return self.min_actionable_straggler_seconds
        return self.min_actionable_seconds


def window_of(
    incident: Incident, end: int | None, settings: ScoreSettings
) -> tuple[int | None, int | None]:
    """Return the first and the last time of an alarm that is one of `incident`; null is open.

    An incident without an end lasts to the `end` of its attempt.
    """
    last = end if incident.end is None else incident.end
    return (
        None if incident.onset is None else incident.onset - round(settings.early_seconds * SECOND),
        None if last is None else last + round(settings.late_seconds * SECOND),
    )
