"""Bench `cases`: labelled excerpts of real failures, plain and perturbed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from relume import __version__
from relume.benchmarks.corpora import failure_cases, mlperf
from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.log_baselines import BASELINES, Guess
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.perturb import HEALTHY_LINES, perturb
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.scoring import Score, Tally, score
from relume.models.scoring.answers import expected_calibration_error
from relume.models.scoring.document import calibration
from relume.records import case_record
from relume.serve.offline import CASE_FILE, Analyzer
from relume.verdict import Domain, Kind

PERTURBED_WITHIN = 0.03
_BARS = {
    "kind": Bar(">=", 0.96),
    "root_line": Bar(">=", 0.92),
    "culprit": Bar(">=", 0.85),
    "domain": Bar(">=", 0.95),
    "benign_called_failure": Bar("==", 0),
    "culprit_named_wrongly": Bar("<=", 1),
    "culprit_named_without_label_share": Bar("<=", 0.05),
    "exclusions_on_workload": Bar("==", 0),
    "expected_calibration_error": Bar("<=", 0.07),
}


def run(data: Path | None) -> BenchResult:
    """Score plain and perturbed cases; perturbed shares must stay within 3 points of the plain."""
    folder = data_folder(data, "cases", "the folder that holds failure-cases/")
    corpus = failure_cases.load(folder)
    healthy = mlperf.first_lines(mlperf.load(folder), HEALTHY_LINES)
    analyzer = Analyzer()
    copies = perturb(corpus.cases, healthy)
    (plain, perturbed), usage = measured(
        lambda: (
            _pass(analyzer, corpus.cases),
            {name: _pass(analyzer, made) for name, made in copies.items()},
        )
    )
    originals = {case.id: case for case in corpus.cases}
    paired = [_pass(analyzer, [originals[copy.id] for copy in made]) for made in copies.values()]
    measures = _measures(plain) | _baselines(corpus.cases)
    bars = dict(_BARS)
    for name, value in _drops(paired, perturbed.values()).items():
        measures[name] = value
        bars[name] = Bar("<=", PERTURBED_WITHIN)
    return BenchResult(
        id="cases",
        version=__version__,
        machine=describe(),
        corpus={
            "name": corpus.name,
            "hash": corpus.hash,
            "cases": len(corpus.cases),
            "perturbed": sum(s.kind.total for s in perturbed.values()),
        },
        measures=measures,
        bars=bars,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes=_notes(plain, perturbed),
    )


def _pass(analyzer: Analyzer, cases: Sequence[Case]) -> Score:
    verdicts = {case.id: case_record(analyzer.diagnose_lines(case.id, case.text)) for case in cases}
    return score(cases, verdicts)


def _measures(plain: Score) -> dict[str, Measure]:
    return {
        "kind": plain.kind.interval(),
        "root_line": plain.root_line.interval(),
        "culprit": plain.culprit.interval(),
        "domain": plain.domain.interval(),
        "benign_called_failure": len(plain.benign_called_failure),
        "culprit_named_wrongly": len(plain.culprit_wrong),
        "culprit_named_without_label_share": len(plain.culprit_unlabelled)
        / max(plain.unlabelled, 1),
        "exclusions_on_workload": len(plain.workload_excluded),
        "expected_calibration_error": round(expected_calibration_error(plain.confidence), 4),
    }


def _baselines(cases: Sequence[Case]) -> dict[str, Measure]:
    """What a person with `grep` gets right of the same cases."""
    measures: dict[str, Measure] = {}
    for name, guess_of in BASELINES.items():
        verdicts = {case.id: _guessed(guess_of({CASE_FILE: case.text})) for case in cases}
        guessed = score(cases, verdicts)
        measures[f"{name}_root_line"] = guessed.root_line.interval()
        measures[f"{name}_culprit"] = guessed.culprit.interval()
    return measures


def _guessed(guess: Guess) -> dict[str, Any]:
    """A guess in the form of a verdict; it says nothing of kinds and domains."""
    return {
        "kind": Kind.UNKNOWN.value,
        "domain": Domain.UNKNOWN.value,
        "root_cause_line": guess.line,
        "culprit": {"node": guess.node, "rank": guess.rank},
        "exclude_nodes": [],
        "confidence": 0.0,
    }


def _drops(originals: Collection[Score], copies: Collection[Score]) -> dict[str, float]:
    """How far each share falls from the originals of the copies to the copies, all pooled."""
    return {
        f"perturbed_{name}_drop": round(_pooled(originals, name) - _pooled(copies, name), 4)
        for name in ("kind", "root_line", "culprit", "domain")
    }


def _pooled(scores: Collection[Score], name: str) -> float:
    tallies: list[Tally] = [getattr(score, name) for score in scores]
    return sum(t.right for t in tallies) / max(sum(t.total for t in tallies), 1)


def _notes(plain: Score, perturbed: dict[str, Score]) -> dict[str, Any]:
    """Ids of the wrong answers: what to look at next. Ids only, none of the corpus' text."""
    return {
        "wrong": {
            "kind": plain.kind.wrong,
            "root_line": plain.root_line.wrong,
            "culprit": plain.culprit.wrong,
            "domain": plain.domain.wrong,
            "benign": plain.benign_called_failure,
            "culprit_without_label": plain.culprit_unlabelled,
        },
        "calibration": calibration(plain.confidence),
        "perturbed_kind": {
            name: {"right": s.kind.right, "of": s.kind.total, "wrong": s.kind.wrong}
            for name, s in perturbed.items()
        },
    }
