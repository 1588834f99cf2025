"""Which suspicions of hangs are right: the online classifier, beside the share that was right.

Each estimate is made before the outcome is learned, in the order in which outcomes become known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from relume.benchmarks.false_alarms.plans import generator, job_plan
from relume.benchmarks.false_alarms.quiet import QuietDay, Regime, quiet_day
from relume.benchmarks.false_alarms.silences import detector_of, watch
from relume.models.baselines.baselines import Baselines
from relume.models.hang.detector import Level
from relume.models.hang.known import MICROSECONDS
from relume.models.hang.settings import HangSettings
from relume.models.streaming.alarms import AlarmJudge

HANG_SECONDS: Final = 3600.0
_DAY = 86_400.0


class Outcome(NamedTuple):
    """A suspicion: what was known when it was raised, and whether it was a hang."""

    features: dict[str, float]
    was_right: bool


@dataclass(slots=True)
class Sure:
    """Estimates beside outcomes."""

    told: list[tuple[float, bool]] = field(default_factory=list)

    def measures(self) -> dict[str, float]:
        """Return the Brier score (mean squared error, less is better) and the mean log loss."""
        said = np.clip([one for one, _ in self.told], 1e-3, 1 - 1e-3)
        right = np.array([one for _, one in self.told], float)
        loss = -(right * np.log(said) + (1 - right) * np.log(1 - said))
        return {"brier": float(((said - right) ** 2).mean()), "log_loss": float(loss.mean())}


def outcomes(jobs: int, settings: HangSettings) -> Iterator[Outcome]:
    """Yield the suspicions of made-up job-days that end in a hang at any time, in every regime."""
    for number in range(jobs):
        for regime in Regime:
            day = quiet_day(job_plan(number), regime)
            share = float(generator(number, list(Regime).index(regime)).uniform(0.05, 1.0))
            yield from _suspicions(_cut(day, share), settings)


def _cut(day: QuietDay, share: float) -> QuietDay:
    count = max(20, int(share * len(day.step_seconds)))
    return replace(
        day,
        step_seconds=day.step_seconds[:count],
        pause_seconds=day.pause_seconds[:count],
        pauses=day.pauses[:count],
    )


def _suspicions(day: QuietDay, settings: HangSettings) -> Iterator[Outcome]:
    detector = detector_of(settings)
    onset = int(np.ceil(day.line_seconds[-1])) * MICROSECONDS
    for found in watch(detector, day, then_silent=HANG_SECONDS):
        if found.level is not Level.SUSPICION:
            continue
        known, limits = detector.known, detector.thresholds()
        gaps = known.gaps.get(known.phase)
        features = {
            "is_announced": float(known.phase != "train"),
            "usual_seconds": 0.0 if gaps is None else gaps.usual_seconds,
            "longest_gap_ratio": 0.0 if gaps is None else gaps.longest_seconds / found.gap_seconds,
            "trained_days": known.trained_seconds / _DAY,
            "came_to_nothing": float(detector.refuted),
            "patience_ratio": min(limits.actionable_seconds, 1e6) / found.gap_seconds,
        }
        yield Outcome(features, found.since >= onset)


def table(jobs: int, settings: HangSettings) -> dict[str, dict[str, float]]:
    """Estimate each suspicion as it comes, by both; only those that both say something of count."""
    judge, rate = AlarmJudge(), Baselines()
    rows = {"classifier": Sure(), "baselines": Sure()}
    for number, one in enumerate(outcomes(jobs, settings)):
        said = judge.probability(one.features)
        if said is not None:
            share = float(rate.series[0]["mean"])
            rows["classifier"].told.append((said, one.was_right))
            rows["baselines"].told.append((share, one.was_right))
        judge.learn(one.features, was_right=one.was_right)
        rate.update([0], [number * MICROSECONDS], [float(one.was_right)])
    return {name: row.measures() for name, row in rows.items()}
