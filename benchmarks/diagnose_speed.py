"""Bench `diagnose-speed`: lines per CPU-second through the whole of `diagnose`, on mixed real logs."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from pathlib import Path

from relume import __version__
from relume.benchmarks.corpora import failure_cases, mlperf
from relume.benchmarks.machine import (
    REFERENCE_MB_PER_SECOND,
    VOID_BELOW,
    describe,
    measured,
    peak_rss_bytes,
    reference_rate,
)
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult
from relume.ingest.attempts import find_attempts
from relume.serve.offline import Analyzer

LINES = 200_000
ROUNDS = 5
MEMORY_BAR_BYTES = 300e6
"""Anonymous memory a diagnosis may use, with the interpreter and all libraries."""


def run(data: Path | None) -> BenchResult:
    """Diagnose one file of 200,000 lines of several recorded logs, five times."""
    folder = data_folder(data, "diagnose-speed", "the recorded data folder")
    logs, cases = mlperf.load(folder), failure_cases.load(folder)
    (analyzer, start_up) = measured(Analyzer)
    with tempfile.TemporaryDirectory() as work:
        mixed = Path(work) / "mixed.log"
        size = _write_mixed(mixed, logs, cases)
        attempt = find_attempts([mixed])
        rates, usage = [], None
        for _ in range(ROUNDS):
            _, usage = measured(lambda: analyzer.diagnose_all(attempt))
            rates.append(LINES / usage.cpu_seconds)
    reference = reference_rate()
    slow = reference < VOID_BELOW * REFERENCE_MB_PER_SECOND
    median = statistics.median(rates)
    return BenchResult(
        id="diagnose-speed",
        version=__version__,
        machine=describe(),
        corpus={"name": "mixed lines", "hash": f"{logs.hash}+{cases.hash}", "lines": LINES},
        measures={
            "lines_per_cpu_second": round(median),
            "mb_per_cpu_second": round(size / 1e6 * median / LINES, 1),
            "start_up_cpu_seconds": round(start_up.cpu_seconds, 3),
            "peak_rss_bytes": peak_rss_bytes(),
            "reference_memchr_mb_per_cpu_second": round(reference),
        },
        bars={
            "lines_per_cpu_second": Bar(">=", 50_000),
            "peak_rss_bytes": Bar("<=", MEMORY_BAR_BYTES),
        },
        cpu_seconds=usage.cpu_seconds if usage else 0.0,
        wall_seconds=usage.wall_seconds if usage else 0.0,
        peak_rss_bytes=peak_rss_bytes(),
        void="the machine was slower than 70 % of the reference" if slow else None,
    )


def _write_mixed(
    path: Path, logs: mlperf.HealthyLogs, cases: failure_cases.Corpus
) -> int:
    """Every recorded log and all cases in turn, repeated until there are enough lines."""
    sources = [p.read_bytes().splitlines(keepends=True) for p in logs.paths]
    sources.append([line.encode() + b"\n" for case in cases.cases for line in case.text])
    chunks = [s[i : i + 500] for s in sources for i in range(0, len(s), 500)]
    lines = itertools.islice(itertools.cycle(itertools.chain.from_iterable(chunks)), LINES)
    data = b"".join(lines)
    path.write_bytes(data)
    return len(data)
