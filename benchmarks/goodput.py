"""Bench `goodput`: every GPU-second of recorded and of simulated runs is in exactly one bucket.

Recorded: runs with logs, replayed, and the pods of a cluster of which only the scheduler's times
are known. Simulated: failures spliced into recorded runs, and whole clusters under each operator.
The two are never pooled. What the buckets add up to is compared with what was held by plain
arithmetic on the attempts, which knows nothing of spans.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from relume import __version__
from relume.benchmarks.corpora import alibaba_pods
from relume.benchmarks.corpora.alibaba_pods import Pods
from relume.benchmarks.corpora.registry import find
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.simulator.operators import BASELINE, HUMAN, ORACLE
from relume.benchmarks.simulator.parameters import load
from relume.benchmarks.simulator.simulate import Setting, simulate
from relume.dataset import AttemptEntry
from relume.features.goodput.buckets import Bucket, spans_of
from relume.features.goodput.cluster import shares
from relume.models.worth.counterfactual import Hand
from relume.serve.backtest.attempt import Extent
from relume.serve.backtest.lives import lives_of
from relume.serve.backtest.replay import Replayed
from relume.serve.backtest.results import Results, UnitResult, unit_result
from relume.serve.backtest.run import Judging, Recording
from relume.serve.backtest.sources import AttemptSource, Unit
from relume.serve.backtest.worth import Worth, worth_of
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

Frames = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]
"""Attempts, steps and incidents."""
REPLAYED = ("mlperf", "bigscience", "m4")
SPLICED = "spliced"
SEEDS, QUICK_SEEDS = 10, 2
NODES, DAYS, JOBS = 300, 20.0, 200
_SHOWN = (Bucket.PRODUCTIVE, Bucket.QUEUE, Bucket.RESTART, Bucket.RECOMPUTE, Bucket.DETECTION)
_BARS = {
    "recorded_largest_deviation": Bar("<=", 1e-9),
    "simulated_largest_deviation": Bar("<=", 1e-9),
    "recorded_seconds_off": Bar("==", 0),
    "simulated_seconds_off": Bar("==", 0),
}


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Put all GPU time of recorded and simulated runs into buckets; `quick` with few seeds."""
    data = data_folder(data, "goodput", "the folder that holds mlperf-…/, alibaba-gpu/ and so on")
    pods, seeds = alibaba_pods.load(data), QUICK_SEEDS if quick else SEEDS
    measures, usage = measured(lambda: _measures(data, pods, seeds))
    return BenchResult(
        id="goodput",
        version=__version__,
        machine=describe(),
        corpus={
            "name": f"{', '.join(REPLAYED)}, {pods.name}; {SPLICED} and simulated clusters apart",
            "hash": pods.hash,
            "seeds": seeds,
        },
        measures=measures,
        bars=dict(_BARS),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
    )


def _measures(data: Path, pods: Pods, seeds: int) -> dict[str, Measure]:
    measures: dict[str, Measure] = {}
    judging = Judging(analyzer=Analyzer(), settings=WatchSettings())
    off: dict[str, list[tuple[float, float]]] = {"recorded": [], "simulated": []}
    with tempfile.TemporaryDirectory(prefix="relume-goodput-") as work:
        for name in (*REPLAYED, SPLICED):
            worth = replayed(name, data, Path(work), judging)
            origin = "simulated" if name == SPLICED else "recorded"
            off[origin].append(deviation(worth.lives.frames()))
            measures |= _shown(f"{origin}_{name}", worth)
    off["recorded"].append(_pods(pods, measures))
    off["simulated"] += list(_simulated(seeds, measures))
    for origin, found in off.items():
        measures[f"{origin}_largest_deviation"] = max(share for share, _ in found)
        measures[f"{origin}_seconds_off"] = max(seconds for _, seconds in found)
    return measures


def replayed(name: str, data: Path, folder: Path, judging: Judging) -> Worth:
    """Replay a corpus, and return what came of its time."""
    find(name).write(data, folder / name)
    recording = Recording(folder / name)
    with Results(folder / f"{name}-results", recording.about(judging)) as results:
        recording.replay(judging, results)
        return worth_of(recording, results.read())


def without_logs(entries: Iterable[AttemptEntry]) -> list[UnitResult]:
    """Return attempts of which only the scheduler's times are known, as a backtest has them."""
    found = []
    for entry in entries:
        replay = Replayed(extent=Extent(start=entry.start or 0, end=entry.end or 0, is_timed=True))
        unit = Unit(name=entry.attempt, attempts=(AttemptSource(entry=entry),))
        found.append(unit_result(unit, {entry.attempt: replay}))
    return found


def deviation(frames: Frames) -> tuple[float, float]:
    """Return how far the shares of all buckets are from 1, and the largest gap of any attempt.

    The gap is between the time that an attempt held its GPUs and the time in its spans, in seconds.
    """
    spans = spans_of(*frames)
    total = math.fsum(shares(spans).values())
    long = (pl.col("end") - pl.col("begin")).sum()
    held = spans.filter("held").group_by("attempt").agg(spent=long)
    joined = frames[0].join(held, on="attempt", how="left").fill_null(0)
    gap = (pl.col("end") - pl.col("start") - pl.col("spent")).abs().max()
    return abs(total - 1) if len(spans) else 0.0, float(joined.select(gap).item() or 0) / 1e6


def _shown(name: str, worth: Worth) -> dict[str, Measure]:
    goodput, found = worth.goodput, worth.hindsight.counterfactual
    measures: dict[str, Measure] = {
        f"{name}_attempts": goodput.attempts,
        f"{name}_gpu_hours": round(math.fsum(goodput.gpu_hours.values()), 2),
        f"{name}_estimated_gpu_hours": round(goodput.estimated, 2),
        **{f"{name}_{bucket}": round(goodput.shares[bucket], 4) for bucket in _SHOWN},
    }
    if found.failures:
        measures |= {
            f"{name}_failures": found.failures,
            f"{name}_lost_gpu_hours_baseline": round(found.lost[Hand.BASELINE] / 3600, 2),
            f"{name}_lost_gpu_hours_relume": round(found.lost[Hand.RELUME] / 3600, 2),
        }
    return measures


def _pods(pods: Pods, measures: dict[str, Measure]) -> tuple[float, float]:
    """Of these pods only the scheduler's times are known."""
    lives = lives_of(without_logs(pods.entries))
    spans = spans_of(*lives.frames())
    split = shares(spans)
    measures |= {
        "recorded_pods_attempts": len(lives.attempts),
        "recorded_pods_left_out": sum(lives.left_out.values()) + pods.never,
        **{f"recorded_pods_{bucket}": round(split[bucket], 4) for bucket in _SHOWN},
    }
    return deviation(lives.frames())


def _simulated(seeds: int, measures: dict[str, Measure]) -> Iterable[tuple[float, float]]:
    parameters, clusters = load(), 0
    for seed in range(seeds):
        for jobs in (None, JOBS):
            setting = Setting(nodes=NODES, days=DAYS, jobs=jobs, seed=seed)
            for outcome in simulate(parameters, setting, (BASELINE, HUMAN, ORACLE)):
                clusters += 1
                whole = abs(math.fsum(outcome.shares.values()) - 1)
                share, seconds = deviation(outcome.recording.frames())
                yield max(share, whole), seconds
    measures["simulated_clusters"] = clusters
