"""Bench `streaming`: which streaming model beats its baseline; one that doesn't stays off."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from relume import __version__
from relume.benchmarks.false_alarms.quiet import Regime
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import BenchResult, Measure
from relume.benchmarks.streaming import alarms, calibration, nodes
from relume.models.hang.settings import HangSettings

SIZES, QUICK_SIZES = (8000, 40, 60), (2500, 4, 6)
"""Vectors, job-days in each regime, jobs."""
Rows = dict[str, dict[str, float]]


class Rival(NamedTuple):
    """A model, its baseline, and by what it is judged.

    `measure` decides; `cost` must not become worse by it. Of each, whether more is better.
    """

    model: str
    measure: str
    more: bool
    cost: str | None = None
    baseline: str = "baselines"


RIVALS: Final = {
    "node_health": Rival("half_space_trees", "recall", more=True, cost="false_share"),
    "stale_calibration": Rival("adwin", "delay_p50_steps", more=False, cost="stale_quiet_days"),
    "alarms_that_are_right": Rival("classifier", "brier", more=False),
}
_COST_MARGIN = 0.005
"""So much of a cost is chance."""


def beats(rows: Rows, rival: Rival) -> bool:
    """Whether a model is better than its baseline without costing more.

    Examples
    --------
    >>> rows = {"adwin": {"delay": 9.0, "false": 0.0}, "baselines": {"delay": 12.0, "false": 0.0}}
    >>> beats(rows, Rival("adwin", "delay", more=False, cost="false"))
    True
    """
    model, baseline = rows[rival.model], rows[rival.baseline]
    gain = model[rival.measure] - baseline[rival.measure]
    is_cheap = rival.cost is None or model[rival.cost] <= baseline[rival.cost] + _COST_MARGIN
    return is_cheap and (gain > 0.0 if rival.more else gain < 0.0)


def run(_data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Compare every streaming model with its baseline, on the same made-up data."""
    vectors, days, jobs = QUICK_SIZES if quick else SIZES

    def measure() -> dict[str, Rows]:
        return {
            "node_health": nodes.table(vectors),
            "stale_calibration": calibration.table(days),
            "alarms_that_are_right": alarms.table(jobs, HangSettings.of_budget()),
        }

    tables, usage = measured(measure)
    measures: dict[str, Measure] = {}
    for task, rows in tables.items():
        for name, row in rows.items():
            measures |= {f"{task}_{name}_{what}": round(one, 4) for what, one in row.items()}
        measures[f"{task}_beats_baseline"] = int(beats(rows, RIVALS[task]))
    return BenchResult(
        id="streaming",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "made-up node metrics, job-days and suspicions",
            "origin": "simulated",
            "vectors": vectors,
            "job_days": days * len(Regime),
            "jobs": jobs * len(Regime),
        },
        measures=measures,
        bars={},
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "beats_baseline": "1: better, and no dearer; 0: it stays off",
            "judged_by": {task: f"{one.measure}, then {one.cost}" for task, one in RIVALS.items()},
            "isolation_forest": "a batch reference: it can't learn from a stream",
        },
    )
