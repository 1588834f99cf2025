"""A fleet of jobs, few of them slow: which of their alarms hold across jobs."""

from __future__ import annotations

from dataclasses import dataclass

from relume.benchmarks.false_alarms.plans import generator, job_plan
from relume.benchmarks.false_alarms.quiet import DAY_SECONDS, Regime, quiet_day
from relume.benchmarks.false_alarms.stragglers import BAR_PACE_SECONDS, readings
from relume.models.baselines.fdr import OnlineFdr, e_value_of_alarms
from relume.models.baselines.guaranteed import EDetector, GuaranteedSettings, alpha_of
from relume.models.straggler.across import across
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.windows import Scale, Window, Windows

SLOW_SHARE = 0.02
SLOWDOWNS = 1.1, 1.5
LASTS = 600
"""Steps that a slowdown lasts."""
BUDGET = 1.0
"""So many false alarms a job-day are accepted here: else a fleet of a thousand has none to sort."""
REGIME = Regime.DAILY_CYCLE
"""The worst one: its steps break the promise, so that there are false alarms at all."""


@dataclass(slots=True)
class FleetCount:
    """Job-days of a fleet that alarmed.

    Attributes
    ----------
    slow, found, found_held
        Job-days with a slowdown; those that alarmed; those whose alarm holds across jobs.
    false, false_held
        Job-days without one that alarmed, and whose alarm holds.
    found_across, false_across
        Of the same those whose alarm holds where all jobs run on one day, by what `relume backtest`
        says (`relume.models.straggler.across`).
    """

    slow: int = 0
    found: int = 0
    found_held: int = 0
    false: int = 0
    false_held: int = 0
    found_across: int = 0
    false_across: int = 0

    @property
    def false_share_across(self) -> float:
        """Share of those that hold on one day that are false."""
        return self.false_across / max(1, self.false_across + self.found_across)

    @property
    def false_share(self) -> float:
        """Share of the alarms that are false."""
        return self.false / max(1, self.false + self.found)

    @property
    def false_share_held(self) -> float:
        """The same of those that hold across jobs."""
        return self.false_held / max(1, self.false_held + self.found_held)


def count_fleet(jobs: range, settings: StragglerSettings) -> FleetCount:
    """Watch a job-day of each job, one window after the other."""
    count, fdr = FleetCount(), OnlineFdr()
    windows: list[tuple[str, Window]] = []
    slow: set[str] = set()
    alpha, day_samples = alpha_of(BUDGET, BAR_PACE_SECONDS), int(DAY_SECONDS / BAR_PACE_SECONDS)
    wanted = GuaranteedSettings(
        alpha, settings.calibration, settings.eta, settings.effect, full_bets=settings.full_bets
    )
    for number in jobs:
        draws = generator(number, 17)
        values = readings(quiet_day(job_plan(number, pace_seconds=BAR_PACE_SECONDS), REGIME))["0.0"]
        is_slow = bool(draws.random() < SLOW_SHARE)
        if is_slow:
            onset = int(draws.integers(settings.calibration, len(values) - LASTS))
            values[onset : onset + LASTS] *= draws.uniform(*SLOWDOWNS)
        level, name = fdr.begin(), f"fleet/{number}@0.0"
        places = EDetector(wanted, name, "0.0").take(values).tolist()
        windows += [(name, one) for one in _windows(len(values), places, settings, alpha)]
        slow |= {name} if is_slow else set()
        held = fdr.holds(level, e_value_of_alarms(places, alpha, day_samples))
        count.slow += is_slow
        count.found += is_slow and bool(places)
        count.found_held += is_slow and held
        count.false += not is_slow and bool(places)
        count.false_held += not is_slow and held
    kept = {one.attempt for one in across(windows, fdr.alpha) if one.holds}
    count.found_across, count.false_across = len(kept & slow), len(kept - slow)
    return count


def _windows(
    readings: int, places: list[int], settings: StragglerSettings, alpha: float
) -> list[Window]:
    """Return the windows of a day of so many readings that alarmed at these places."""
    windows, alarmed = Windows(), set(places)
    scale = Scale(alpha, int(DAY_SECONDS / BAR_PACE_SECONDS))
    for reading in range(settings.calibration, readings):
        windows.take("0.0", reading, scale, alarmed=reading in alarmed)
    return windows.all
