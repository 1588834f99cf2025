"""Bench `peers`: what others do about slow steps, in one table with what we do."""

from __future__ import annotations

from pathlib import Path

from relume import __version__
from relume.benchmarks.false_alarms.plans import SEED
from relume.benchmarks.false_alarms.quiet import Regime
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import BenchResult, Measure
from relume.benchmarks.straggler.peers import Row, table
from relume.benchmarks.straggler.recorded import load
from relume.models.scoring.intervals import poisson

SLOWDOWNS = 1.2, 1.25, 1.3, 1.5, 2.0
RUNS, QUICK_RUNS = 10, 2
DAYS, QUICK_DAYS = 200, 4


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Let everybody watch the same slowdowns in recorded paces, and the same quiet job-days."""
    folder = data_folder(data, "peers", "the folder that holds mlperf-training-v2.1/ and so on")
    runs, days = (QUICK_RUNS, QUICK_DAYS) if quick else (RUNS, DAYS)
    rows, usage = measured(lambda: table(load(folder), SLOWDOWNS, range(runs), range(days)))
    measures: dict[str, Measure] = {}
    for name, row in rows.items():
        measures |= _measures(name, row)
    return BenchResult(
        id="peers",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "slowdowns of a fifth and more in recorded paces; quiet job-days",
            "hash": f"seed {SEED}",
            "slowdowns": len(next(iter(rows.values())).delays),
            "job_days_a_regime": days,
        },
        measures=measures,
        bars={},
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "false_alarms_per_job_day": "over all regimes alike; the worst one beside it",
            "delay": "seconds from the end of the last good step, at 5 s a step",
            "settings": "as published, or the makers' defaults; nobody is tuned",
        },
    )


def _measures(name: str, row: Row) -> dict[str, Measure]:
    total, days = sum(row.false.values()), row.days * len(Regime)
    low, high = poisson(total)
    return {
        f"{name}_recall": round(row.recall, 4),
        f"{name}_p50_seconds": row.quantile(0.5),
        f"{name}_p95_seconds": row.quantile(0.95),
        f"{name}_early_alarms": row.early,
        f"{name}_false_alarms_per_job_day": {
            "value": total / days,
            "low": low / days,
            "high": high / days,
        },
        f"{name}_worst_regime_per_job_day": round(max(row.false.values()) / row.days, 3),
    }
