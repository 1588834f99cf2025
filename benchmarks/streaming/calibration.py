"""Stale calibrations: ADWIN, beside the CUSUM of two numba baselines with the same effect gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.benchmarks.false_alarms.plans import job_plan
from relume.benchmarks.false_alarms.quiet import Regime, quiet_day
from relume.benchmarks.false_alarms.stragglers import BAR_PACE_SECONDS
from relume.models.baselines.baselines import Baselines
from relume.models.baselines.series import BaselineSettings
from relume.models.streaming.stale import StaleCalibration

if TYPE_CHECKING:
    from numpy.typing import NDArray

EFFECT: Final = 0.02
"""A move below this share is none, for either."""
CALIBRATION: Final = 500
"""Steps that say what is usual."""
MOVES: Final = (0.9, 0.95, 1.05, 1.1)
"""How many times as long steps take from the middle of a day on."""
_SECOND = 1_000_000

Finder = Callable[["NDArray[np.float64]"], "int | None"]


def adwin(values: NDArray[np.float64]) -> int | None:
    """Return the step at which ADWIN says that the calibration is stale; null for never."""
    stale = StaleCalibration(float(np.median(values[:CALIBRATION])), effect=EFFECT)
    for place, value in enumerate(values[CALIBRATION:].tolist(), start=CALIBRATION):
        stale.take(value)
        if stale.is_stale:
            return place
    return None


def baselines(values: NDArray[np.float64]) -> int | None:
    """Return the same of two baselines, one for each direction."""
    settings = BaselineSettings(calibration_blocks=CALIBRATION // 5, effect=EFFECT)
    both = Baselines(settings)
    both.watch(0, worse=1)
    both.watch(1, worse=-1)
    ids = np.tile([0, 1], len(values))
    times = np.repeat(np.arange(len(values)) * _SECOND, 2)
    found = both.update(ids, times, np.repeat(values, 2))
    return int(found.times.min()) // _SECOND if len(found.times) else None


MODELS: Final[dict[str, Finder]] = {"adwin": adwin, "baselines": baselines}


@dataclass(slots=True)
class Row:
    """One model: delays in steps (infinite for a miss), and days that were called stale."""

    delays: list[float] = field(default_factory=list)
    stale_days: int = 0
    days: int = 0

    def measures(self) -> dict[str, float]:
        """Return its numbers; a miss is later than all that were found."""
        p50, p95 = np.quantile(self.delays, [0.5, 0.95], method="higher").tolist()
        longest = 86_400.0 / BAR_PACE_SECONDS
        return {
            "stale_quiet_days": self.stale_days / max(1, self.days),
            "delay_p50_steps": min(p50, longest),
            "delay_p95_steps": min(p95, longest),
            "missed": float(sum(delay == float("inf") for delay in self.delays)),
        }


def table(job_days: int) -> dict[str, dict[str, float]]:
    """Let both see so many quiet job-days in every regime, and the same days with a move."""
    rows = {name: Row() for name in MODELS}
    for regime in Regime:
        for number in range(job_days):
            plan = job_plan(number, pace_seconds=BAR_PACE_SECONDS)
            values = quiet_day(plan, regime).step_seconds
            moved = values.copy()
            moved[len(values) // 2 :] *= MOVES[number % len(MOVES)]
            for name, find in MODELS.items():
                _add(rows[name], find(values), find(moved), len(values) // 2)
    return {name: row.measures() for name, row in rows.items()}


def _add(row: Row, quiet: int | None, found: int | None, onset: int) -> None:
    row.days += 1
    row.stale_days += quiet is not None
    if found is None or found >= onset:  # what was stale before tells nothing of the delay
        row.delays.append(float("inf") if found is None else float(found - onset))
