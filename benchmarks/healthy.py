"""Bench `healthy`: any failure claimed on a log of a run that ended well is a false alarm."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from relume import __version__
from relume.benchmarks.corpora import mlperf
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult
from relume.ingest.attempts import find_attempts
from relume.serve.offline import Analyzer, Diagnosed
from relume.verdict import Kind

_BARS = {"called_failure": Bar("==", 0), "called_benign": Bar(">=", 24)}


def run(data: Path | None) -> BenchResult:
    """Diagnose every MLPerf log; all 25 runs ended in success."""
    folder = data_folder(data, "healthy", f"the folder that holds {mlperf.FOLDER}/")
    logs = mlperf.load(folder)
    analyzer = Analyzer()
    results, usage = measured(lambda: _diagnose(analyzer, logs.paths))
    kinds = Counter(result.verdict.kind for result in results)
    failures = [r for r in results if r.verdict.kind.is_failure]
    return BenchResult(
        id="healthy",
        version=__version__,
        machine=describe(),
        corpus={"name": logs.name, "hash": logs.hash, "logs": len(logs.paths)},
        measures={
            "called_failure": len(failures),
            "called_benign": kinds[Kind.BENIGN],
            "called_unknown": kinds[Kind.UNKNOWN],
            "called_numeric": kinds[Kind.NUMERIC],
        },
        bars=_BARS,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "rules_of_false_alarms": dict(Counter(r.verdict.rule or "progress" for r in failures))
        },
    )


def _diagnose(analyzer: Analyzer, paths: tuple[Path, ...]) -> list[Diagnosed]:
    return [analyzer.diagnose(attempt) for attempt in find_attempts(paths)]
