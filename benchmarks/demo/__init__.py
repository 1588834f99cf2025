"""Bench `demo`: the main job on a corpus that the project generates itself (simulated)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from relume import __version__
from relume.benchmarks.demo.corpus import SEED, Label, generate
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult
from relume.benchmarks.scoring import Tally
from relume.ingest.attempts import find_attempts
from relume.serve.offline import Analyzer, Diagnosed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relume.verdict import Verdict

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


def score(
    labels: Sequence[Label], verdicts: Sequence[Verdict]
) -> tuple[dict[str, float | dict[str, float]], dict[str, list[str]]]:
    """Return the measures and, for each, the attempts that were judged wrongly."""
    tallies = {name: Tally() for name in ("kind", "root_line", "culprit", "domain")}
    healthy: list[str] = []
    excluded: list[str] = []
    for label, verdict in zip(labels, verdicts, strict=True):
        tallies["kind"].add(label.attempt, right=verdict.kind.value == label.kind)
        if label.kind in {"crash", "hang"}:
            tallies["domain"].add(label.attempt, right=verdict.domain.value == label.domain)
        if label.root_line is not None:
            found = (Path(verdict.root_file or "").name, verdict.root_line)
            right = found == (label.root_file, label.root_line)
            tallies["root_line"].add(label.attempt, right=right)
        if label.culprit:
            right = all(
                str(getattr(verdict.culprit, key)) == str(value)
                for key, value in label.culprit.items()
            )
            tallies["culprit"].add(label.attempt, right=right)
        if label.kind == "benign" and verdict.kind.is_failure:
            healthy.append(label.attempt)
        if label.domain == "workload" and verdict.exclude_nodes:
            excluded.append(label.attempt)
    measures: dict[str, float | dict[str, float]] = {n: t.interval() for n, t in tallies.items()}
    measures["healthy_called_failure"] = len(healthy)
    measures["exclusions_on_workload"] = len(excluded)
    wrong = {name: tally.wrong for name, tally in tallies.items()}
    return measures, wrong | {"healthy": healthy, "excluded": excluded}
