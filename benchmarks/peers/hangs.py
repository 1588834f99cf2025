"""The hang half: job-days that end in a hang, false alarms before it and the delay after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from relume.benchmarks.false_alarms.plans import job_plan
from relume.benchmarks.false_alarms.quiet import QuietDay, Regime, quiet_day
from relume.benchmarks.false_alarms.silences import Silences, detector_of, left_by, watch
from relume.benchmarks.measures import quantile
from relume.benchmarks.peers.timers import FixedTimer, LargestGap
from relume.benchmarks.result import Measure
from relume.models.family.attempt import AttemptGaps
from relume.models.hang.detector import Level
from relume.models.hang.known import MICROSECONDS
from relume.models.hang.settings import HangSettings

HANG_SECONDS = 2 * 3600.0
"""How long a hang lasts; who hasn't said anything by then has missed it."""
_DAY = 100_000 * MICROSECONDS


@dataclass(slots=True)
class Row:
    """One detector in the table."""

    job_days: int = 0
    false_alarms: int = 0
    delays: list[float] = field(default_factory=list)

    def measures(self, name: str) -> dict[str, Measure]:
        """Return its numbers; a hang that was missed is later than all others."""
        missed = sum(delay == float("inf") for delay in self.delays)
        return {
            f"{name}_false_alarms_per_job_day": round(self.false_alarms / self.job_days, 4),
            f"{name}_delay_p50_seconds": quantile(self.delays, 0.5),
            f"{name}_delay_p95_seconds": min(quantile(self.delays, 0.95), HANG_SECONDS),
            f"{name}_missed": missed,
        }


def table(jobs: int, settings: HangSettings) -> dict[str, Row]:
    """Watch the second day of so many jobs in every regime; each ends in a hang."""
    rows: dict[str, Row] = {}
    for regime in Regime:
        for number in range(jobs):
            plan = job_plan(number)
            before = detector_of(settings)
            first, day = (quiet_day(plan, regime, number) for number in range(2))
            list(watch(before, first))
            left = left_by(before, first, 0)
            for name, detector in _detectors(settings, left):
                _note(rows.setdefault(name, Row()), detector, day)
    return rows


def _detectors(settings: HangSettings, left: AttemptGaps) -> Iterator[tuple[str, Silences]]:
    makers: tuple[tuple[str, Callable[[], Silences]], ...] = (
        ("ours_known", lambda: detector_of(settings, [left])),
        ("ours_new", lambda: detector_of(settings)),
        ("fixed_600_s", FixedTimer),
        ("five_times_largest_gap", LargestGap),
    )
    yield from ((name, make()) for name, make in makers)


def _note(row: Row, detector: Silences, day: QuietDay) -> None:
    onset = _DAY + int(np.ceil(day.line_seconds[-1])) * MICROSECONDS
    found = watch(detector, day, _DAY, then_silent=HANG_SECONDS)
    alarms = [one for one in found if one.level is Level.ACTIONABLE]
    row.job_days += 1
    row.false_alarms += sum(one.since < onset for one in alarms)
    delays = [one.gap_seconds for one in alarms if one.since >= onset]
    row.delays.append(min(delays, default=float("inf")))
