"""The jobs of a cluster: many small ones, few large ones, as they arrive over some days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relume.benchmarks.simulator.faults import DAY
from relume.benchmarks.simulator.runs import RunPlan

if TYPE_CHECKING:
    from relume.benchmarks.simulator.parameters import Mix


def draw_jobs(
    mix: Mix, count: int, nodes: int, days: float, rng: np.random.Generator
) -> list[RunPlan]:
    """Draw `count` jobs for a cluster of `nodes` nodes, arriving evenly over `days`.

    None is larger than half of the cluster, and none longer than the days.

    Examples
    --------
    >>> from relume.benchmarks.simulator.parameters import load
    >>> jobs = draw_jobs(load().mix, 100, 64, 30, np.random.default_rng(1))
    >>> len(jobs), max(job.nodes for job in jobs) <= 32
    (100, True)
    """
    weights = np.array(mix.weights) / sum(mix.weights)
    sizes = np.minimum(rng.choice(mix.nodes, count, p=weights), max(1, nodes // 2))
    arrivals = np.sort(rng.uniform(0, days * DAY, count))
    hours = np.minimum(mix.median_hours * rng.lognormal(0, mix.spread, count), 24 * days)
    rows = zip(sizes.tolist(), arrivals.tolist(), (3600 * hours).tolist(), strict=True)
    return [RunPlan(f"job{number}", *row) for number, row in enumerate(rows)]
