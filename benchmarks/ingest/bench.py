"""Bench `ingest`: MB of log per CPU-second into a lake, its memory, and what kills leave of it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from relume import __version__
from relume.benchmarks.commands import Ran, run_relume
from relume.benchmarks.ingest.corpus import SEED, make_recording
from relume.benchmarks.ingest.kills import kill_imports
from relume.benchmarks.ingest.room import require_room
from relume.benchmarks.machine import describe, reference_rate, too_slow
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


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Run it; `data` is not used."""
    del data
    lines, kills = (QUICK_LINES, QUICK_KILLS) if quick else (LINES, KILLS)
    with tempfile.TemporaryDirectory(prefix="relume-ingest-") as work:
        folder = Path(work)
        require_room("bench ingest", folder, lines * BYTES_A_LINE)
        make_recording(folder / "large", lines=lines, attempts=lines // LINES_AN_ATTEMPT)
        imported = import_by_command(folder / "large", folder / "lake")
        size = sum(path.stat().st_size for path in (folder / "lake").rglob("*.parquet"))
        shutil.rmtree(folder / "large")
        shutil.rmtree(folder / "lake")
        make_recording(folder / "small", lines=KILL_LINES, attempts=KILL_ATTEMPTS)
        (folder / "kills").mkdir()
        killed = kill_imports(folder / "small", folder / "kills", kills=kills, seed=SEED)
    reference = reference_rate()
    text_bytes = imported.document["text_bytes"]
    return BenchResult(
        id="ingest",
        version=__version__,
        machine=describe(),
        corpus={"name": "generated logs", "hash": f"seed {SEED}", "lines": lines},
        measures={
            "mb_per_cpu_second": round(mb_per_cpu_second(imported), 1),
            "lines_per_cpu_second": round(imported.document["lines"] / imported.usage.cpu_seconds),
            "mb_per_second": round(text_bytes / 1e6 / imported.usage.wall_seconds, 1),
            "lines": imported.document["lines"],
            "text_bytes": text_bytes,
            "lake_bytes": size,
            "peak_rss_bytes": imported.usage.peak_rss_bytes,
            "kills": killed.kills,
            "lakes_over_kills": killed.rounds,
            "torn_segments": killed.torn_segments,
            "lost_rows": killed.lost_rows,
            "doubled_rows": killed.doubled_rows,
            "misplaced_tables": killed.misplaced_tables,
            "reference_memchr_mb_per_cpu_second": round(reference),
        },
        bars={**_BARS, "lines": Bar(">=", lines), "kills": Bar(">=", kills)},
        cpu_seconds=imported.usage.cpu_seconds,
        wall_seconds=imported.usage.wall_seconds,
        peak_rss_bytes=imported.usage.peak_rss_bytes,
        void=too_slow(reference),
    )


def import_by_command(source: Path, lake: Path) -> Ran:
    """Import a data set by the command, in a process of its own; its start counts too."""
    return run_relume("lake", "import", str(source), "--lake", str(lake))


def mb_per_cpu_second(imported: Ran) -> float:
    """Text, uncompressed, per CPU-second of the whole command."""
    return float(imported.document["text_bytes"]) / 1e6 / imported.usage.cpu_seconds
