"""An alarm: what a detector said about one attempt at one time (metrics section 1)."""

from __future__ import annotations

from dataclasses import dataclass

from relume.verdict import Domain, Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """A claim that something is wrong with an attempt.

    Attributes
    ----------
    time
        When it was raised, UTC microseconds by the clock of the logs; null without a clock.
    rule
        What raised it; the scoreboard is kept by this name.
    nodes, ranks
        Suspects, the likeliest first.
    excluded_nodes
        The nodes that would have been taken away.
    operation
        What was advised.
    settled
        Whether more evidence was not waited for any more: what is said of cause and culprit counts
        only then, the time from the first alarm on.
    told_by_scheduler
        Whether nothing but the scheduler's word says so: that an attempt FAILED is how it ended,
        and no detection. Such an alarm is in no precision or recall.
    advice_time
        When the Advice that came of it was durable, UTC microseconds; null when there was none or
        a replay made it.
    """

    attempt: str
    kind: Kind
    time: int | None = None
    rule: str | None = None
    domain: Domain | None = None
    cause: str | None = None
    nodes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    excluded_nodes: tuple[str, ...] = ()
    operation: str = "OBSERVE"
    confidence: float = 0.0
    settled: bool = False
    told_by_scheduler: bool = False
    advice_time: int | None = None
