"""Bench `lemons`: refaults and avoided faults of quarantine, walking forward through a trace.

The bar is the second form of the issue: a quarter of all faults avoided within 4.4 % of the
node-days, by evidence of hardware grade alone. The naive rules of metrics section 11, its score as
written, and ours under the usual cap of 2 % stand beside it; `all_evidence` counts faults of
unknown cause against a node too. `late` measures are those of the second half of the trace alone.

`model` holds by the order of a model (`models/lemons/refault.py`) instead of the count of faults,
under the same caps and by the same evidence. It beats ours only if, with each cap, it avoids more
faults for no more node-days.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from relume import __version__
from relume.benchmarks.corpora import infinitehbd
from relume.benchmarks.corpora.infinitehbd import NODES, Trace
from relume.benchmarks.lemons.rules import (
    CountRule,
    ModelRule,
    QuarantineRule,
    Rule,
    ScoreRule,
)
from relume.benchmarks.lemons.walk import Walked, walk
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.measures import share
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.models.lemons.quarantine import QuarantineSettings

CAP, WIDE_CAP = 0.02, 0.044


def _ours(cap: float, *, every_fault: bool = False) -> Callable[[], Rule]:
    return lambda: QuarantineRule(QuarantineSettings(cap=cap), NODES, every_fault)


def _model(cap: float, *, every_fault: bool = False) -> Callable[[], Rule]:
    return lambda: ModelRule(QuarantineSettings(cap=cap), NODES, every_fault)


RULES: dict[str, Callable[[], Rule]] = {
    "ours": _ours(WIDE_CAP),
    "ours_2_percent": _ours(CAP),
    "ours_all_evidence": _ours(WIDE_CAP, every_fault=True),
    "two_faults_in_30_days": lambda: CountRule(2, 30, 60),
    "three_faults_in_28_days": lambda: CountRule(3, 28, 60),
    "score_28_days": lambda: ScoreRule(28, 60, NODES),
    "score_180_days": lambda: ScoreRule(180, 60, NODES),
    "model": _model(WIDE_CAP),
    "model_2_percent": _model(CAP),
    "model_all_evidence": _model(WIDE_CAP, every_fault=True),
}
_RIVALS = {
    "ours": "model",
    "ours_2_percent": "model_2_percent",
    "ours_all_evidence": "model_all_evidence",
}
_BARS = {"ours_avoided": Bar(">=", 0.25), "ours_cost": Bar("<=", WIDE_CAP)}


def run(data: Path | None) -> BenchResult:
    """Walk every rule through the trace."""
    trace = infinitehbd.load(data_folder(data, "lemons", "the folder that holds infinitehbd/"))
    measures, usage = measured(lambda: _measures(trace))
    return BenchResult(
        id="lemons",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "infinitehbd (recorded faults)",
            "hash": trace.hash,
            "faults": len(trace.faults),
            "nodes": trace.nodes,
            "node_days": round(trace.nodes * trace.days),
        },
        measures=measures,
        bars=dict(_BARS),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"refault_days": 60, "late_from_day": trace.days / 2, "interval": "95 % Wilson"},
    )


def _measures(trace: Trace) -> dict[str, Measure]:
    walked = {name: walk(trace, rule()) for name, rule in RULES.items()}
    for name in ("ours", "model"):
        walked[f"{name}_late"] = walk(trace, RULES[name](), from_day=trace.days / 2)
    measures: dict[str, Measure] = {}
    for name, counts in walked.items():
        measures |= _told(name, counts)
    beats = all(_beats(walked[model], walked[ours]) for ours, model in _RIVALS.items())
    return measures | {"model_beats_ours": int(beats)}


def _beats(one: Walked, other: Walked) -> bool:
    return one.avoided > other.avoided and one.held_days <= other.held_days


def _told(name: str, counts: Walked) -> dict[str, Measure]:
    return {
        f"{name}_flags": counts.flags,
        f"{name}_refaults": share(counts.refaults, counts.flags),
        f"{name}_avoided": share(counts.avoided, counts.faults),
        f"{name}_cost": counts.held_days / counts.service_days,
    }
