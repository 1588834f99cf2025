"""Quiet job-days: a day of a made-up job in which nothing is wrong, in five adverse regimes.

Step times have a noise of 2 %; what else moves them is the regime. All is drawn from the numbers of
job and day, so any day can be made alone, and two benches see the same one. A day takes some
milliseconds: everything is an array over its steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from relume.benchmarks.false_alarms.plans import (
    PAUSE_NOISE,
    SEED,
    JobPlan,
    Schedule,
    generator,
)

DAY_SECONDS = 86_400.0
NOISE = 0.02
"""Standard deviation of a step's time, of its mean."""
MEMORY = 0.8
"""Correlation of a step's noise with that of the step before."""
_MOST_CHANGES = 2
_CHANGED_EVERY, _CHANGED_LENGTH = 2.0, 1.25
"""In a changed regime mix pauses come up to so many times as often, or rarely, and take up to so
many times as long, or short."""

Seconds: TypeAlias = NDArray[np.float64]


class Regime(StrEnum):
    """What moves step times beside noise of their own (metrics section 4)."""

    INDEPENDENT = "independent"
    AUTOREGRESSIVE = "autoregressive"
    """The noise of each step hangs on that of the step before (AR(1), 0.8)."""
    DAILY_CYCLE_SMALL = "daily_cycle_1.5"
    """That, and a daily cycle of 1.5 % from its lowest to its highest."""
    DAILY_CYCLE = "daily_cycle_3"
    """The same with 3 %."""
    CHANGED_MIX = "changed_mix"
    """Independent noise; once or twice a day pauses begin to come at another rate and length."""


_CYCLES = {Regime.DAILY_CYCLE_SMALL: 0.015, Regime.DAILY_CYCLE: 0.03}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class QuietDay:
    """One day of one attempt.

    Attributes
    ----------
    startup_seconds
        From the start of the attempt to its first progress line.
    step_seconds
        ``(n,) float64``: from each progress line to the next, without pauses.
    pause_seconds
        ``(n,) float64``: how much later than that the next line comes; 0 without a pause.
    pauses
        ``(n,) int8``: what the pause is, a `Pause`.
    """

    plan: JobPlan
    regime: Regime
    day: int
    startup_seconds: float
    step_seconds: Seconds
    pause_seconds: Seconds
    pauses: NDArray[np.int8]

    @property
    def line_seconds(self) -> Seconds:
        """``(n + 1,) float64``: when each progress line comes, in seconds from the start."""
        gaps = self.step_seconds + self.pause_seconds
        return np.concatenate(([0.0], np.cumsum(gaps))) + self.startup_seconds


def quiet_day(plan: JobPlan, regime: Regime, day: int = 0, *, seed: int = SEED) -> QuietDay:
    """Make day number `day` of a job: each is an attempt of its own, of a whole day.

    Examples
    --------
    >>> from relume.benchmarks.false_alarms.plans import job_plan
    >>> made = quiet_day(job_plan(7, pace_seconds=5.0), Regime.INDEPENDENT)
    >>> bool(abs(made.step_seconds.mean() - 5.0) < 0.01)
    True
    """
    draws = generator(seed, plan.number, list(Regime).index(regime) + 1, day)
    count = int(DAY_SECONDS / plan.pace_seconds)
    steps = plan.pace_seconds * (1.0 + NOISE * _noise(draws, regime, count))
    if regime in _CYCLES:
        hours = np.arange(count) * (2 * np.pi * plan.pace_seconds / DAY_SECONDS)
        steps *= 1.0 + _CYCLES[regime] / 2 * np.sin(hours + draws.uniform(0, 2 * np.pi))
    pauses = np.zeros(count, np.int8)
    lasting = np.zeros(count)
    for begin, end, schedules in _mixes(draws, plan, regime, count):
        for schedule in schedules:
            at = np.arange(begin + schedule.every - 1, end, schedule.every)
            pauses[at] = schedule.pause
            lasting[at] += schedule.seconds * np.exp(PAUSE_NOISE * draws.standard_normal(at.size))
    whole = int(np.searchsorted(np.cumsum(steps + lasting), DAY_SECONDS))
    startup = plan.startup_seconds * float(np.exp(PAUSE_NOISE * draws.standard_normal()))
    return QuietDay(
        plan=plan,
        regime=regime,
        day=day,
        startup_seconds=startup,
        step_seconds=steps[:whole],
        pause_seconds=lasting[:whole],
        pauses=pauses[:whole],
    )


def _noise(draws: np.random.Generator, regime: Regime, count: int) -> Seconds:
    """Return noise of variance 1."""
    noise = draws.standard_normal(count)
    if regime not in {Regime.INDEPENDENT, Regime.CHANGED_MIX}:
        before = draws.standard_normal() * MEMORY
        noise = lfilter([np.sqrt(1.0 - MEMORY**2)], [1.0, -MEMORY], noise, zi=[before])[0]
    return np.asarray(noise, np.float64)


def _mixes(
    draws: np.random.Generator, plan: JobPlan, regime: Regime, count: int
) -> list[tuple[int, int, tuple[Schedule, ...]]]:
    """Return from which line to which one pauses come how."""
    if regime is not Regime.CHANGED_MIX:
        return [(0, count, plan.schedules)]
    changes = np.sort(draws.integers(0, count, draws.integers(1, _MOST_CHANGES + 1)))
    later = [
        (begin, end, tuple(_changed(draws, one) for one in plan.schedules))
        for begin, end in pairwise([*map(int, changes), count])
    ]
    return [(0, int(changes[0]), plan.schedules), *later]


def _changed(draws: np.random.Generator, one: Schedule) -> Schedule:
    every, length = (
        float(np.exp(draws.uniform(-np.log(most), np.log(most))))
        for most in (_CHANGED_EVERY, _CHANGED_LENGTH)
    )
    return replace(one, every=max(2, round(one.every * every)), seconds=one.seconds * length)
