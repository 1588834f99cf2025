"""Bench `diagnose-speed`: lines per CPU-second through all of `diagnose`, on mixed real logs."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from pathlib import Path

from relume import __version__
from relume.benchmarks.commands import watch_relume
from relume.benchmarks.corpora import failure_cases, mlperf
from relume.benchmarks.demo.frameworks import megatron
from relume.benchmarks.demo.world import make_world
from relume.benchmarks.machine import (
    Usage,
    describe,
    measured,
    reference_rate,
    too_slow,
)
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult
from relume.ingest.attempts import find_attempts
from relume.serve.offline import Analyzer

LINES = 200_000
DENSE_LINES = 20_000
ROUNDS = 5
MEMORY_BAR_BYTES = 300e6
"""Memory a diagnosis may use, with the interpreter and all libraries."""
_BARS = {
    "lines_per_cpu_second": Bar(">=", 50_000),
    "peak_rss_bytes": Bar("<=", MEMORY_BAR_BYTES),
}


def run(data: Path | None) -> BenchResult:
    """Diagnose one file of 200,000 lines of several recorded logs, five times."""
    folder = data_folder(data, "diagnose-speed", "the recorded data folder")
    logs, cases = mlperf.load(folder), failure_cases.load(folder)
    analyzer, start_up = measured(Analyzer)
    with tempfile.TemporaryDirectory() as work:
        mixed = Path(work) / "mixed.log"
        size = _write_mixed(mixed, logs, cases)
        rounds = _diagnose(analyzer, mixed)
        dense = {
            name: _rate(_diagnose(analyzer, path), DENSE_LINES)
            for name, path in _write_dense(Path(work), cases).items()
        }
        peak = watch_relume("diagnose", "--json", str(mixed)).peak_rss_bytes
    last = rounds[-1]
    reference = reference_rate()
    rate = _rate(rounds, LINES)
    return BenchResult(
        id="diagnose-speed",
        version=__version__,
        machine=describe(),
        corpus={"name": "mixed lines", "hash": f"{logs.hash}+{cases.hash}", "lines": LINES},
        measures={
            "lines_per_cpu_second": rate,
            **dense,
            "mb_per_cpu_second": round(size / 1e6 * rate / LINES, 1),
            "start_up_cpu_seconds": round(start_up.cpu_seconds, 3),
            "peak_rss_bytes": peak,
            "reference_memchr_mb_per_cpu_second": round(reference),
        },
        bars=_BARS,
        cpu_seconds=last.cpu_seconds,
        wall_seconds=last.wall_seconds,
        peak_rss_bytes=peak,
        void=too_slow(reference),
    )


def _write_mixed(path: Path, logs: mlperf.HealthyLogs, cases: failure_cases.Corpus) -> int:
    """Write every recorded log and all cases in turn, again and again; return the bytes."""
    sources = [p.read_bytes().splitlines(keepends=True) for p in logs.paths]
    sources.append([line.encode() + b"\n" for case in cases.cases for line in case.text])
    endless = itertools.cycle(itertools.chain.from_iterable(sources))
    return path.write_bytes(b"".join(itertools.islice(endless, LINES)))


def _write_dense(folder: Path, cases: failure_cases.Corpus) -> dict[str, Path]:
    """Write logs in which every line is worth a look: step lines, and lines of failures."""
    steps = megatron(make_world("speed"), DENSE_LINES)
    failures = itertools.cycle([line for case in cases.cases for line in case.text])
    kinds = {"all_step_lines_per_cpu_second": steps, "all_failure_lines_per_cpu_second": failures}
    paths = {}
    for name, lines in kinds.items():
        paths[name] = folder / f"{name}.log"
        text = "\n".join(itertools.islice(lines, DENSE_LINES))
        paths[name].write_text(text + "\n", encoding="utf-8")
    return paths


def _rate(rounds: list[Usage], lines: int) -> int:
    return round(statistics.median(lines / usage.cpu_seconds for usage in rounds))


def _diagnose(analyzer: Analyzer, path: Path) -> list[Usage]:
    attempts = list(find_attempts([path]))
    return [measured(lambda: analyzer.diagnose_all(attempts))[1] for _ in range(ROUNDS)]
