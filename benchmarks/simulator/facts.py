"""Bench `simulator`: what is simulated beside what was published, and how fast it is.

The tolerances are ours, and say how far a simulation may be from what one trace happened to show:
its own numbers are of 584 faults, and another year of that fleet would have others.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from relume import __version__
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.simulator import parameters as published
from relume.benchmarks.simulator.cluster import Cluster
from relume.benchmarks.simulator.faults import DAY, draw_faults, node_faults
from relume.benchmarks.simulator.mix import draw_jobs
from relume.benchmarks.simulator.nodes import Nodes
from relume.benchmarks.simulator.operators import BASELINE, ORACLE
from relume.benchmarks.simulator.parameters import Parameters
from relume.benchmarks.simulator.runs import RunPlan
from relume.features.goodput.cluster import cluster_shares
from relume.features.goodput.formulas import mttf_seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRACE_RATE, TRACE_NODES, TRACE_DAYS = 4.2e-3, 400, 348.0
FLEETS = 20
"""Fleets of the trace's size that are drawn: 20 years of one."""
JOBS, CLUSTER_NODES, MONTH = 1_000, 512, 30.0


@dataclass(frozen=True, slots=True)
class Fact:
    """A published number, and how far from it we may be, as a share of it."""

    published: float
    tolerance: float


FACTS = {
    "faults_per_1000_node_days": Fact(4.2, 0.1),
    "variance_over_mean_per_node": Fact(2.57, 0.25),
    "share_of_nodes_without_fault": Fact(0.42, 0.1),
    "share_of_faults_on_a_tenth": Fact(0.41, 0.1),
    "again_within_7_days": Fact(0.25, 0.2),
    "again_within_30_days": Fact(0.42, 0.2),
    "gaps_within_10_minutes": Fact(0.175, 0.35),
    "variation_of_gaps": Fact(1.76, 0.35),
    "repair_median_days": Fact(0.85, 0.1),
    "repair_mean_days": Fact(5.5, 0.2),
    "repair_p90_days": Fact(12.9, 0.25),
    "repair_p99_days": Fact(81.0, 0.25),
    "mttf_1024_gpus_over_formula": Fact(1.0, 0.15),
    "mttf_16384_gpus_over_formula": Fact(1.0, 0.15),
}


def run(data: Path | None = None) -> BenchResult:
    """Draw fleets, and live a month of a cluster; `data` is not used."""
    del data
    settings = published.load()
    measures, usage = measured(lambda: _measures(settings))
    bars = {f"{name}_off": Bar("<=", fact.tolerance) for name, fact in FACTS.items()}
    return BenchResult(
        id="simulator",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "simulated clusters",
            "parameters": published.file_hash(),
            "fleets": FLEETS,
        },
        measures=measures,
        bars=bars | {"month_of_1000_jobs_cpu_seconds": Bar("<=", 10.0)},
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"published": {name: fact.published for name, fact in FACTS.items()}},
    )


def _measures(settings: Parameters) -> dict[str, Measure]:
    found = trace_like(settings) | {
        f"mttf_{8 * nodes}_gpus_over_formula": _mttf_over_formula(settings, nodes)
        for nodes in (128, 2048)
    }
    measures: dict[str, Measure] = {}
    for name, fact in FACTS.items():
        value = float(found[name])
        measures[name] = value
        measures[f"{name}_off"] = abs(value / fact.published - 1)
    start = time.process_time()
    shares = _month(settings)
    measures["month_of_1000_jobs_cpu_seconds"] = time.process_time() - start
    return measures | {f"month_{bucket}": share for bucket, share in shares.items()}


WEEK, MONTH_OF_DAYS, SHORT_SECONDS = 7, 30, 600


def trace_like(settings: Parameters) -> dict[str, float]:
    """Return what the public trace is described by, of many fleets like its own."""
    rng = np.random.default_rng(20261130)
    once = TRACE_RATE * (1 - settings.faults.together_share)  # the trace counts every node
    fleets = [
        node_faults(settings.faults, once, TRACE_NODES, TRACE_DAYS, rng) for _ in range(FLEETS)
    ]
    counts = np.concatenate([np.bincount(node, minlength=TRACE_NODES) for _, node, _ in fleets])
    again = np.concatenate([_gaps_of_nodes(at, node) for at, node, _ in fleets]) / DAY
    gaps = np.concatenate([np.diff(at) for at, _, _ in fleets])
    repair = np.concatenate([repair for _, _, repair in fleets]) / DAY
    worst = [np.sort(np.bincount(node, minlength=TRACE_NODES))[::-1] for _, node, _ in fleets]
    return {
        "faults_per_1000_node_days": 1000 * counts.sum() / (len(counts) * TRACE_DAYS),
        "variance_over_mean_per_node": counts.var() / counts.mean(),
        "share_of_nodes_without_fault": float((counts == 0).mean()),
        "share_of_faults_on_a_tenth": sum(one[: TRACE_NODES // 10].sum() for one in worst)
        / counts.sum(),
        "again_within_7_days": (again <= WEEK).sum() / counts.sum(),
        "again_within_30_days": (again <= MONTH_OF_DAYS).sum() / counts.sum(),
        "gaps_within_10_minutes": float((gaps <= SHORT_SECONDS).mean()),
        "variation_of_gaps": gaps.std() / gaps.mean(),
        "repair_median_days": float(np.median(repair)),
        "repair_mean_days": float(repair.mean()),
        "repair_p90_days": float(np.quantile(repair, 0.9)),
        "repair_p99_days": float(np.quantile(repair, 0.99)),
    }


def _gaps_of_nodes(at: NDArray[np.float64], node: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the times from each fault to the next one of its node."""
    order = np.lexsort((at, node))
    same = np.diff(node[order]) == 0
    gaps: NDArray[np.float64] = np.diff(at[order])[same]
    return gaps


def _mttf_over_formula(settings: Parameters, nodes: int, seeds: int = 40) -> float:
    """Return how far apart failures of a run are, over what the formula says.

    Under the oracle: what a broken node does again is no failure of its own.
    """
    failures = hours = 0.0
    for seed in range(seeds):
        fleet = round(nodes * (1 + settings.run.spare_share))
        table = draw_faults(settings, fleet, MONTH, np.random.default_rng([seed, nodes, 9]))
        cluster = Cluster(settings, Nodes(fleet), table, ORACLE, seed)
        cluster.run([RunPlan("run", nodes)], MONTH)
        failures += cluster.counts.failures - cluster.counts.futile
        hours += sum(end - start for *_, start, end, _ in cluster.recording.attempts)
    return hours / failures / mttf_seconds(nodes, settings.faults.per_node_day)


def _month(settings: Parameters) -> dict[str, float]:
    rng = np.random.default_rng(7)
    plans = draw_jobs(settings.mix, JOBS, CLUSTER_NODES, MONTH, rng)
    table = draw_faults(settings, CLUSTER_NODES, MONTH, rng)
    cluster = Cluster(settings, Nodes(CLUSTER_NODES), table, BASELINE, 7, preempts=True)
    spans = cluster.run(plans, MONTH).spans()
    return cluster_shares(spans, 8 * CLUSTER_NODES, 0, round(MONTH * DAY * 1e6))
