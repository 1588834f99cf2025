"""The hang half: what a detector of silences says of quiet days, of new jobs and of known ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from relume.benchmarks.false_alarms.metered import Metered
from relume.benchmarks.false_alarms.plans import JobPlan, job_plan
from relume.benchmarks.false_alarms.quiet import QuietDay, Regime, quiet_day
from relume.benchmarks.false_alarms.silences import detector_of, left_by, watch
from relume.benchmarks.measures import rate
from relume.benchmarks.result import Measure
from relume.models.family.attempt import AttemptGaps
from relume.models.hang.detector import Level
from relume.models.hang.known import MICROSECONDS
from relume.models.hang.settings import HangSettings

DAYS_KNOWN = 4
"""Days of a job that follow the one that nobody knew it on."""
MOST_FALSE = 4
"""Of 1,000 job-days: with as many the rate is below 0.0092 a job-day, 95 % sure."""
SLOW_RATIO = 4.0
"""How much longer pauses take on the slow filesystem that is shown beside, without a bar."""
_DAY = 90_000 * MICROSECONDS


@dataclass(slots=True)
class Said:
    """What was said of some job-days, by level."""

    job_days: int = 0
    levels: Counter[Level] = field(default_factory=Counter)

    @property
    def false_alarms(self) -> int:
        """Hangs that were claimed."""
        return self.levels[Level.ACTIONABLE]

    def rate(self, level: Level) -> float:
        """Return how often a level was reached in a job-day."""
        return self.levels[level] / max(1, self.job_days)

    def bounded(self) -> Measure:
        """Return false alarms a job-day, with the upper end of the one-sided 95 % interval."""
        return rate(self.false_alarms, self.job_days)


def quiet(
    regime: Regime,
    job_days: int,
    settings: HangSettings,
    *,
    pause_ratio: float = 1.0,
    with_metrics: bool = False,
) -> tuple[Said, Said]:
    """Return what is said of so many first days of jobs, and of so many later ones.

    With metrics, their nodes are measured, too: what is heard of them counts as a second signal.
    """
    new, known = Said(), Said()
    for number in range(job_days):
        plan = job_plan(number, pause_ratio=pause_ratio)
        days = 1 + DAYS_KNOWN * (number < job_days // DAYS_KNOWN)
        told = _levels(plan, regime, days, settings, with_metrics=with_metrics)
        for day, levels in enumerate(told):
            said = known if day else new
            said.job_days += 1
            said.levels.update(levels)
    return new, known


def _levels(
    plan: JobPlan, regime: Regime, days: int, settings: HangSettings, *, with_metrics: bool
) -> Iterator[list[Level]]:
    left: list[AttemptGaps] = []
    for number in range(days):
        day: QuietDay = quiet_day(plan, regime, number)
        detector = detector_of(settings, left)
        begin = number * _DAY
        metrics = Metered(day, begin) if with_metrics else None
        listen = None if metrics is None else partial(metrics.silence, detector)
        yield [found.level for found in watch(detector, day, begin, listen=listen)]
        left.append(left_by(detector, day, begin))
