"""Bench `memory`: what `relume diagnose` holds in memory while it reads a log of 10 GB.

Measured is resident anonymous memory, of a process of its own: all that it allocates, without the
libraries and the page cache that files stand behind. A log of a fiftieth of the size is diagnosed
beside it: what grows with the log is their difference.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from relume import __version__
from relume.benchmarks.commands import watch_relume
from relume.benchmarks.ingest.room import require_room
from relume.benchmarks.machine import describe
from relume.benchmarks.result import Bar, BenchResult
from relume.benchmarks.scan.text import SEED, write_log

SIZE, QUICK_SIZE = 10_000_000_000, 500_000_000
SMALL_SHARE = 50
LIMIT_SECONDS = 3600.0
_BARS = {"ended_well": Bar("==", 1), "anonymous_bytes": Bar("<=", 300 << 20)}


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Run it; `quick` with 500 MB. Takes no `data`."""
    del data  # made here
    size = QUICK_SIZE if quick else SIZE
    with tempfile.TemporaryDirectory(prefix="relume-memory-") as work:
        require_room("bench memory", Path(work), size)
        log = Path(work) / "job.log"
        write_log(log, size // SMALL_SHARE)
        small = watch_relume("diagnose", "--json", str(log), limit_seconds=LIMIT_SECONDS)
        size = write_log(log, size)
        large = watch_relume("diagnose", "--json", str(log), limit_seconds=LIMIT_SECONDS)
    return BenchResult(
        id="memory",
        version=__version__,
        machine=describe(),
        corpus={"name": "generated healthy log", "hash": f"seed {SEED}", "bytes": size},
        measures={
            "anonymous_bytes": large.anonymous_bytes,
            "small_log_anonymous_bytes": small.anonymous_bytes,
            "ended_well": int(large.code in {0, 1} and small.code in {0, 1}),
            "mb_per_cpu_second": round(size / 1e6 / large.cpu_seconds, 1),
        },
        bars=dict(_BARS),
        cpu_seconds=large.cpu_seconds,
        wall_seconds=large.wall_seconds,
        peak_rss_bytes=large.peak_rss_bytes,
    )
