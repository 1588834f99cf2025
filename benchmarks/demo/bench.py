"""Bench `demo`: the main job on a corpus that the project generates itself (simulated)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from relume import __version__
from relume.benchmarks.demo.corpus import SEED, Label, generate
from relume.benchmarks.demo.scoring import score
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult
from relume.ingest.attempts import find_attempts
from relume.serve.offline import Analyzer, Diagnosed

_BARS = {
    "kind": Bar(">=", 0.95),
    "root_line": Bar(">=", 0.95),
    "culprit": Bar(">=", 0.95),
    "domain": Bar(">=", 0.95),
    "healthy_called_failure": Bar("==", 0),
    "exclusions_on_workload": Bar("==", 0),
}


def diagnose_corpus(folder: Path, seed: int = SEED) -> tuple[list[Label], list[Diagnosed]]:
    """Generate the corpus in `folder` and diagnose every attempt of it."""
    labels = generate(folder, seed)
    attempts = find_attempts([folder / label.attempt for label in labels])
    return labels, Analyzer().diagnose_all(attempts)


def run(data: Path | None = None) -> BenchResult:
    """Score the verdicts on the generated corpus; `data` is not used."""
    del data
    with tempfile.TemporaryDirectory() as work:
        (labels, results), usage = measured(lambda: diagnose_corpus(Path(work)))
    measures, wrong = score(labels, [result.verdict for result in results])
    return BenchResult(
        id="demo",
        version=__version__,
        machine=describe(),
        corpus={"name": "demo (simulated)", "hash": f"seed {SEED}", "attempts": len(labels)},
        measures=measures,
        bars=_BARS,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"wrong": wrong},
    )
