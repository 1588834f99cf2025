"""Quiet days are what they are said to be, and the same whoever asks."""

from __future__ import annotations

import numpy as np
import pytest

from relume.benchmarks.false_alarms.plans import PACES, Pause, job_plan
from relume.benchmarks.false_alarms.quiet import DAY_SECONDS, NOISE, QuietDay, Regime, quiet_day


def noise_of(day: QuietDay) -> np.ndarray:
    return day.step_seconds / day.plan.pace_seconds - 1.0


@pytest.mark.parametrize("regime", Regime)
def test_a_day_lasts_a_day_and_its_pauses_are_marked(regime: Regime) -> None:
    for number in range(20):
        day = quiet_day(job_plan(number), regime)
        longest = day.plan.pace_seconds + day.pause_seconds.max()
        assert PACES[0] <= day.plan.pace_seconds <= PACES[1]
        ran = day.step_seconds.sum() + day.pause_seconds.sum()
        assert DAY_SECONDS - 2 * longest < ran <= DAY_SECONDS
        assert ((day.pauses != Pause.NONE) == (day.pause_seconds > 0)).all()
        assert day.line_seconds.size == day.step_seconds.size + 1
        assert (np.diff(day.line_seconds) > 0).all()


def test_any_day_can_be_made_alone() -> None:
    one, same = (quiet_day(job_plan(3), Regime.DAILY_CYCLE, 2) for _ in range(2))
    other = quiet_day(job_plan(3), Regime.DAILY_CYCLE, 1)
    assert one.line_seconds.tobytes() == same.line_seconds.tobytes()
    assert one.line_seconds.tobytes() != other.line_seconds.tobytes()


@pytest.mark.parametrize("regime", Regime)
def test_the_noise_is_that_of_its_regime(regime: Regime) -> None:
    noise = noise_of(quiet_day(job_plan(5, pace_seconds=1.0), regime))
    fast = np.diff(noise)
    assert noise.std() == pytest.approx(NOISE, rel=0.25)
    memory = np.corrcoef(noise[1:], noise[:-1])[0, 1]
    is_plain = regime in {Regime.INDEPENDENT, Regime.CHANGED_MIX}
    assert memory == pytest.approx(0.0 if is_plain else 0.8, abs=0.1)
    assert fast.mean() == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    ("regime", "peak_to_peak"), [(Regime.DAILY_CYCLE_SMALL, 0.015), (Regime.DAILY_CYCLE, 0.03)]
)
def test_a_daily_cycle_is_measured_peak_to_peak(regime: Regime, peak_to_peak: float) -> None:
    noise = noise_of(quiet_day(job_plan(5, pace_seconds=0.5), regime))
    once_a_day = np.fft.rfft(noise)[1] / noise.size
    assert 4 * abs(once_a_day) == pytest.approx(peak_to_peak, rel=0.15)


def test_a_changed_mix_changes_how_often_pauses_come() -> None:
    plan = job_plan(11, pace_seconds=1.0)
    plain, changed = (
        np.diff(np.flatnonzero(quiet_day(plan, regime).pauses == Pause.CHECKPOINT))
        for regime in (Regime.INDEPENDENT, Regime.CHANGED_MIX)
    )
    assert set(plain) <= {plan.schedules[0].every} | set(plain[plain < plan.schedules[0].every])
    assert np.unique(changed).size > np.unique(plain).size
