"""Bench `peers`: delay and false alarms of ours and of others, on the same job-days."""

from __future__ import annotations

from pathlib import Path

from relume import __version__
from relume.benchmarks.false_alarms.plans import SEED
from relume.benchmarks.false_alarms.settings import settings_hash
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.peers import hangs, stragglers
from relume.benchmarks.peers.hangs import HANG_SECONDS
from relume.benchmarks.result import BenchResult, Measure
from relume.serve.live.watch import WatchSettings

JOBS, QUICK_JOBS = 200, 5


def run(_data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Watch made-up job-days that end in a hang, or have a slowdown, with each detector."""
    settings = WatchSettings()
    jobs = QUICK_JOBS if quick else JOBS

    def measure() -> tuple[dict[str, hangs.Row], dict[str, stragglers.Row]]:
        return hangs.table(jobs, settings.hang), stragglers.table(jobs)

    (rows, slow), usage = measured(measure)
    measures: dict[str, Measure] = {}
    for name, row in rows.items():
        measures |= row.measures(f"hang_{name}")
    for name, one in slow.items():
        measures |= one.measures(f"straggler_{name}")
    return BenchResult(
        id="peers",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "job-days that end in a hang, or have a slowdown",
            "origin": "simulated",
            "job_days": next(iter(rows.values())).job_days,
            "hash": f"seed {SEED}",
            "slowdowns": len(next(iter(slow.values())).delays),
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
            "straggler": "slowdowns of a fifth and more, at 5 s a step; delays in seconds from the "
            "end of the last good step; early alarms are false ones",
            "0.75_of_fastest": "NVRx's scores against the best own report, one a minute",
            "worst_regime": {
                name: max(one.false, key=lambda regime: one.false[regime])
                for name, one in slow.items()
            },
        },
    )
