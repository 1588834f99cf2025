"""Bench `oracle`: how much of what a perfect detector would gain Relume gains (metrics 12).

One run on a fleet, a month long, under four operators who meet the same faults: the timer of the
collectives with a blind requeue, a human who comes after half an hour, Relume as its benches
measured it, and one who knows everything at once. The parameters are frozen by hash, and whoever
changes them has to change the hash here, in the open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from relume import __version__
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.simulator import parameters as published
from relume.benchmarks.simulator.cluster import Cluster, Counts
from relume.benchmarks.simulator.faults import draw_faults
from relume.benchmarks.simulator.nodes import Nodes
from relume.benchmarks.simulator.operators import BASELINE, HUMAN, ORACLE, Operator, from_results
from relume.benchmarks.simulator.parameters import Parameters
from relume.benchmarks.simulator.runs import RunPlan
from relume.benchmarks.simulator.simulate import stored
from relume.errors import InputError
from relume.features.goodput.buckets import Bucket
from relume.features.goodput.cluster import shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

FROZEN = "1ef44afbce412653"
"""Hash of the parameters that the stored result was made with."""
NODES = (128, 512, 2048)
"""1,024, 4,096 and 16,384 GPUs."""
SEEDS, QUICK_SEEDS, DAYS = 200, 10, 30.0
RESULTS = Path(__file__).parent.parent / "results"
_RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Lived:
    """What became of one run under one operator: shares of its wall clock, and counts."""

    shares: dict[str, float]
    counts: Counts

    @property
    def goodput(self) -> float:
        """Share of the wall clock in which it got ahead at its own pace."""
        return self.shares[Bucket.PRODUCTIVE]


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Live a month of each size and seed under each operator; `data` is not used."""
    del data
    found = published.file_hash()
    if found != FROZEN:
        raise InputError(
            "parameters of the simulator",
            found=f"hash {found}",
            expected=FROZEN,
            hint="they were changed after they were frozen: set FROZEN anew, and say why",
        )
    settings, seeds = published.load(), range(QUICK_SEEDS if quick else SEEDS)
    operators = (BASELINE, HUMAN, from_results(stored(RESULTS)), ORACLE)
    measures, usage = measured(lambda: _measures(settings, operators, seeds))
    return BenchResult(
        id="oracle",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "one run for a month (simulated)",
            "parameters": found,
            "seeds": len(seeds),
            "days": DAYS,
            "per_1000_node_days": 1000 * settings.faults.per_node_day,
        },
        measures=measures,
        bars={f"oracle_fraction_{8 * nodes}_gpus": Bar(">=", 0.9) for nodes in NODES},
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"interval": f"95 % bootstrap over seeds, {_RESAMPLES} resamples"},
    )


def live(settings: Parameters, nodes: int, operator: Operator, seed: int) -> Lived:
    """Let one run on `nodes` nodes live for a month."""
    fleet = math.ceil(nodes * (1 + settings.run.spare_share))
    faults = draw_faults(settings, fleet, DAYS, np.random.default_rng([seed, nodes]))
    cluster = Cluster(settings, Nodes(fleet), faults, operator, seed)
    recording = cluster.run([RunPlan("run", nodes)], DAYS)
    return Lived(shares(recording.spans()), cluster.counts)


def _measures(
    settings: Parameters, operators: Sequence[Operator], seeds: range
) -> dict[str, Measure]:
    measures: dict[str, Measure] = {}
    for nodes in NODES:
        lived = {
            operator.name: [live(settings, nodes, operator, seed) for seed in seeds]
            for operator in operators
        }
        goodput = {name: np.array([one.goodput for one in all_]) for name, all_ in lived.items()}
        size = f"{8 * nodes}_gpus"
        for name in ("relume", "human"):
            key = "oracle_fraction" if name == "relume" else "human_fraction"
            measures[f"{key}_{size}"] = fraction(
                goodput[name], goodput["baseline"], goodput["oracle"]
            )
        for name, all_ in lived.items():
            measures[f"goodput_{name}_{size}"] = float(goodput[name].mean())
            tries = sum(one.counts.failures for one in all_)
            futile = sum(one.counts.futile for one in all_)
            measures[f"futile_{name}_{size}"] = futile / tries if tries else 0.0
        measures |= {
            f"relume_{bucket}_{size}": float(
                np.mean([one.shares[bucket] for one in lived["relume"]])
            )
            for bucket in (Bucket.DETECTION, Bucket.DECISION, Bucket.RECOMPUTE, Bucket.RESTART)
        }
    return measures


def fraction(
    ours: NDArray[np.float64], baseline: NDArray[np.float64], oracle: NDArray[np.float64]
) -> dict[str, float]:
    """Return the share of the oracle's gain, over all seeds, with its bootstrap interval.

    Means before the ratio: a seed in which nothing fails has no gain to be a share of.

    Raises
    ------
    InputError
        When the oracle gains nothing at all.
    """
    if oracle.mean() <= baseline.mean():
        raise InputError("oracle fraction", found="an oracle that gains nothing")
    rng = np.random.default_rng(0)
    picked = rng.integers(0, len(ours), (_RESAMPLES, len(ours)))
    gained = ours[picked].mean(axis=1) - baseline[picked].mean(axis=1)
    could = oracle[picked].mean(axis=1) - baseline[picked].mean(axis=1)
    low, high = np.quantile(gained[could > 0] / could[could > 0], [0.025, 0.975])
    value = (ours.mean() - baseline.mean()) / (oracle.mean() - baseline.mean())
    return {"value": float(value), "low": float(low), "high": float(high)}
