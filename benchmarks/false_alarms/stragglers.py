"""The straggler half: what the straggler detector says of quiet days."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from relume.benchmarks.false_alarms.plans import Pause, job_plan
from relume.benchmarks.false_alarms.quiet import QuietDay, Regime, quiet_day
from relume.benchmarks.measures import rate
from relume.benchmarks.result import Measure
from relume.models.straggler.levels import Level
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.stream import PaceStream

BAR_PACE_SECONDS = 5.0
"""The pace at which delays have their bars."""


@dataclass(slots=True)
class QuietCount:
    """What was said of so many quiet job-days; all of it is false.

    Attributes
    ----------
    days
        Job-days, calibration included.
    guaranteed_days
        Those in which the guaranteed mode was calibrated: before, it can say nothing.
    """

    days: float = 0.0
    guaranteed_days: float = 0.0
    suspicions: int = 0
    actionable: int = 0

    def bounded(self) -> Measure:
        """Return false alarms a job-day, with the upper end of the one-sided 95 % interval."""
        return rate(self.actionable, self.days)


def readings(day: QuietDay) -> dict[str, np.ndarray]:
    """Return a day's step times by regime, as a printer would show them.

    A pause that the job announces makes the reading one of another regime; of one that it doesn't
    nobody knows, and it is in the reading.

    >>> day = quiet_day(job_plan(1, pace_seconds=5.0), Regime.INDEPENDENT)
    >>> sum(map(len, readings(day).values())) == len(day.step_seconds)
    True
    """
    announced = [one.pause for one in day.plan.schedules if one.is_announced]
    is_known = np.isin(day.pauses, announced) & (day.pauses != Pause.NONE)
    taken = day.step_seconds + day.pause_seconds
    return {"0.0": taken[~is_known], "0.0.disturbed": taken[is_known]}


def count_alarms(
    regime: Regime,
    days: Iterable[int],
    settings: StragglerSettings,
    *,
    pace_seconds: float | None = BAR_PACE_SECONDS,
    make: Callable[..., PaceStream] = PaceStream,
) -> QuietCount:
    """Watch one quiet day of each of the made-up jobs `days`; their own paces where null."""
    count = QuietCount()
    for number in days:
        plan = job_plan(number, pace_seconds=pace_seconds)
        day = quiet_day(plan, regime)
        count.days += 1.0
        for name, values in readings(day).items():
            stream = make(settings, f"quiet/{number}@0.0", name)
            for change in stream.take(values, span_seconds=plan.pace_seconds):
                count.suspicions += change.level is Level.SUSPICION
                count.actionable += change.level is Level.ACTIONABLE
            judged = max(0, len(values) - settings.calibration) if stream.is_guaranteed else 0
            count.guaranteed_days += judged / max(1, len(day.step_seconds))
    return count
