"""A fleet of jobs, few of them slow: which of their alarms hold across jobs."""

from __future__ import annotations

from dataclasses import dataclass

from relume.benchmarks.false_alarms.plans import generator, job_plan
from relume.benchmarks.false_alarms.quiet import DAY_SECONDS, Regime, quiet_day
from relume.benchmarks.false_alarms.stragglers import BAR_PACE_SECONDS, readings
from relume.models.baselines.fdr import OnlineFdr, e_value_of_alarms
from relume.models.baselines.guaranteed import EDetector, GuaranteedSettings, alpha_of
from relume.models.straggler.settings import StragglerSettings

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
    """

    slow: int = 0
    found: int = 0
    found_held: int = 0
    false: int = 0
    false_held: int = 0

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
        level = fdr.begin()
        places = EDetector(wanted, f"fleet/{number}@0.0", "0.0").take(values).tolist()
        held = fdr.holds(level, e_value_of_alarms(places, alpha, day_samples))
        count.slow += is_slow
        count.found += is_slow and bool(places)
        count.found_held += is_slow and held
        count.false += not is_slow and bool(places)
        count.false_held += not is_slow and held
    return count
