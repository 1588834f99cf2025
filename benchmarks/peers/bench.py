"""Bench `peers`: delay and false alarms of ours and of others, on the same job-days."""

from __future__ import annotations

from pathlib import Path

from relume import __version__
from relume.benchmarks.false_alarms.plans import SEED
from relume.benchmarks.false_alarms.settings import settings_hash
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.peers.hangs import HANG_SECONDS, table
from relume.benchmarks.result import BenchResult, Measure
from relume.serve.live.watch import WatchSettings

JOBS, QUICK_JOBS = 200, 5


def run(_data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Watch the second day of made-up jobs, which ends in a hang, with each detector."""
    settings = WatchSettings().hang
    jobs = QUICK_JOBS if quick else JOBS
    rows, usage = measured(lambda: table(jobs, settings))
    measures: dict[str, Measure] = {}
    for name, row in rows.items():
        measures |= row.measures(f"hang_{name}")
    return BenchResult(
        id="peers-quick" if quick else "peers",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "job-days that end in a hang",
            "origin": "simulated",
            "job_days": next(iter(rows.values())).job_days,
            "hash": f"seed {SEED}",
            "settings": settings_hash(settings),
        },
        measures=measures,
        bars={},
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "missed": f"not called a hang within {HANG_SECONDS:g} s",
            "ours_known": "it knows the job's first day; ours_new knows nothing beforehand",
            "fixed_600_s": "PyTorch's default for a collective",
            "five_times_largest_gap": "NVRx: 5 times the largest gap, 2700 s before there are any",
        },
    )
