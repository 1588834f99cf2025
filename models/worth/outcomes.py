"""What became of alarms about hangs, where nobody labelled them: they label themselves (DESIGN 5).

Only what was merely watched may do so: once somebody acts on an alarm, nobody can tell any more
what would have become of the attempt.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SECOND = 1_000_000
REFUTED_SECONDS = 600.0
"""Steps that come within this time of an alarm show that there was no hang."""
SILENT_SECONDS = 3_600.0
"""A silence that lasts so long after an alarm was one."""
STEPS_TO_REFUTE = 3
"""New steps that show that a job hadn't hung."""
DIED_STATES = frozenset({"BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"})
"""Ends by the job itself, or by what it ran on: neither a limit nor a person's."""


class Label(StrEnum):
    """What an alarm was."""

    TRUE = "true"
    FALSE = "false"
    UNLABELLED = "unlabelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class HangAlarm:
    """An alarm about a hang, and what its attempt did then. UTC microseconds.

    Attributes
    ----------
    time
        Of the alarm.
    resumed
        When three new steps had come after it; null if they never did.
    end
        Of the attempt; null where it goes on.
    state
        Slurm's word for how it ended; null is not known.
    seen_until
        To when anybody looked: the end of the recording for what goes on.
    """

    time: int
    resumed: int | None
    end: int | None
    state: str | None
    seen_until: int


def label_of(alarm: HangAlarm) -> tuple[Label, str]:
    """Return what an alarm was, and how that is known.

    Examples
    --------
    >>> hung = HangAlarm(
    ...     time=0, resumed=None, end=900 * SECOND, state="FAILED", seen_until=900 * SECOND
    ... )
    >>> label_of(hung)
    (<Label.TRUE: 'true'>, 'it died by itself without a new step')
    """
    if alarm.resumed is not None and _after(alarm.resumed, alarm) <= REFUTED_SECONDS:
        return Label.FALSE, "new steps came within 10 minutes, and nobody had acted"
    silent_to = alarm.resumed if alarm.resumed is not None else alarm.end
    silent_to = alarm.seen_until if silent_to is None else silent_to
    if _after(silent_to, alarm) >= SILENT_SECONDS:
        return Label.TRUE, "it stayed silent for another hour"
    if alarm.resumed is not None:
        return Label.UNLABELLED, "steps came again after more than 10 minutes"
    if alarm.state is not None and alarm.state.partition(" ")[0] in DIED_STATES:
        return Label.TRUE, "it died by itself without a new step"
    if alarm.end is None:
        return Label.UNLABELLED, "nobody looked for long enough"
    return Label.UNLABELLED, f"it was ended within an hour: {alarm.state or 'nobody knows how'}"


def _after(time: int, alarm: HangAlarm) -> float:
    return (time - alarm.time) / SECOND
