"""Bench `ingest`: MB of log per CPU-second into a lake, its memory, and what kills leave of it."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from relume import __version__
from relume.benchmarks.ingest.corpus import SEED, make_recording
from relume.benchmarks.ingest.kills import kill_imports
from relume.benchmarks.ingest.room import require_room
from relume.benchmarks.machine import (
    REFERENCE_MB_PER_SECOND,
    VOID_BELOW,
    describe,
    reference_rate,
)
from relume.benchmarks.result import Bar, BenchResult

LINES, QUICK_LINES = 10_000_000, 1_000_000
LINES_AN_ATTEMPT = 100_000
KILLS, QUICK_KILLS = 50, 5
KILL_LINES, KILL_ATTEMPTS = 200_000, 8
"""The recording that is imported over kills: some 20 MB."""
BYTES_A_LINE = 400
"""Room that is asked for: the logs, the lake, and as much again."""
_BARS = {
    "mb_per_cpu_second": Bar(">=", 50),
    "peak_rss_bytes": Bar("<=", 1 << 30),
    "lines": Bar(">=", LINES),
    "kills": Bar(">=", KILLS),
    "torn_segments": Bar("==", 0),
    "lost_rows": Bar("==", 0),
    "doubled_rows": Bar("==", 0),
    "misplaced_tables": Bar("==", 0),
}


@dataclass(frozen=True, slots=True)
class Imported:
    """One run of the command: what it says, its CPU and wall seconds, its largest memory."""

    record: dict[str, Any]
    cpu_seconds: float
    wall_seconds: float
    peak_rss_bytes: int

    @property
    def mb_per_cpu_second(self) -> float:
        """Text, uncompressed, per CPU-second of the whole command."""
        return float(self.record["text_bytes"]) / 1e6 / self.cpu_seconds


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Run it; `data` is not used."""
    del data
    lines, kills = (QUICK_LINES, QUICK_KILLS) if quick else (LINES, KILLS)
    with tempfile.TemporaryDirectory(prefix="relume-ingest-") as work:
        folder = Path(work)
        require_room("ingest", folder, lines * BYTES_A_LINE)
        make_recording(folder / "large", lines=lines, attempts=lines // LINES_AN_ATTEMPT)
        imported = import_by_command(folder / "large", folder / "lake")
        size = sum(path.stat().st_size for path in (folder / "lake").rglob("*.parquet"))
        shutil.rmtree(folder / "large")
        shutil.rmtree(folder / "lake")
        make_recording(folder / "small", lines=KILL_LINES, attempts=KILL_ATTEMPTS)
        (folder / "kills").mkdir()
        killed = kill_imports(folder / "small", folder / "kills", kills=kills, seed=SEED)
    reference = reference_rate()
    slow = reference < VOID_BELOW * REFERENCE_MB_PER_SECOND
    text_bytes = imported.record["text_bytes"]
    return BenchResult(
        id="ingest-quick" if quick else "ingest",
        version=__version__,
        machine=describe(),
        corpus={"name": "generated logs", "hash": f"seed {SEED}", "lines": lines},
        measures={
            "mb_per_cpu_second": round(imported.mb_per_cpu_second, 1),
            "lines_per_cpu_second": round(imported.record["lines"] / imported.cpu_seconds),
            "mb_per_second": round(text_bytes / 1e6 / imported.wall_seconds, 1),
            "lines": imported.record["lines"],
            "text_bytes": text_bytes,
            "lake_bytes": size,
            "peak_rss_bytes": imported.peak_rss_bytes,
            "kills": killed.kills,
            "lakes_over_kills": killed.rounds,
            "torn_segments": killed.torn_segments,
            "lost_rows": killed.lost_rows,
            "doubled_rows": killed.doubled_rows,
            "misplaced_tables": killed.misplaced_tables,
            "reference_memchr_mb_per_cpu_second": round(reference),
        },
        bars={**_BARS, "lines": Bar(">=", lines), "kills": Bar(">=", kills)},
        cpu_seconds=imported.cpu_seconds,
        wall_seconds=imported.wall_seconds,
        peak_rss_bytes=imported.peak_rss_bytes,
        void="the machine was slower than 70 % of the reference" if slow else None,
    )


def import_by_command(source: Path, lake: Path) -> Imported:
    """Import a data set by the command, in a process of its own; its start counts too."""
    command = [sys.executable, "-m", "relume", "lake", "import", str(source)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*command, "--lake", str(lake), "--json"], check=True, stdout=subprocess.PIPE
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Imported(json.loads(done.stdout), cpu, wall, after.ru_maxrss * 1024)
