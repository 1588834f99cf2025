"""Bench `node-or-job`: who is blamed for made-up slow jobs, and how many nodes for nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from relume import __version__
from relume.benchmarks.false_alarms.plans import SEED
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.measures import share
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.straggler.cases import Case, case
from relume.benchmarks.straggler.causes import AS_PUBLISHED, HALF_NODES, Cause, draw_causes
from relume.models.straggler.evidence import Answer, Blame
from relume.models.straggler.who import who

CASES, QUICK_CASES = 2000, 150
HALF_CASES, QUICK_HALF_CASES = 1000, 100
_UNSEEN = 1_000_000
"""Cases from this number on: those below were looked at while the rules were written."""
LEAST_RATIO = 1.1
"""Jobs that are slower by less don't count as slow."""
_BARS = {
    "right": Bar(">=", 0.95),
    "right_where_ranks_show": Bar(">=", 0.95),
    "nodes_excluded_for_nothing": Bar("<=", 0.01),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and what was said of it."""

    case: Case
    answer: Answer

    @property
    def is_answered(self) -> bool:
        """Whether it was said who is to blame."""
        return self.answer.blame is not Blame.UNKNOWN

    @property
    def is_right(self) -> bool:
        """Whether the very node was named, or none where there is none."""
        if self.case.is_node:
            return self.case.node in self.answer.nodes
        return self.answer.blame is Blame.JOB

    @property
    def excludes(self) -> bool:
        """Whether nodes would be left out."""
        return bool(self.answer.nodes)


def run(_data: Path | None, *, quick: bool = False) -> BenchResult:
    """Judge the mix as published, and one in which every other case is a node's."""

    def measure() -> tuple[list[Judged], list[Judged]]:
        published = judge(QUICK_CASES if quick else CASES, AS_PUBLISHED, 1)
        return published, judge(QUICK_HALF_CASES if quick else HALF_CASES, HALF_NODES, 2)

    (published, half), usage = measured(measure)
    measures = _measures(published)
    measures |= {f"half_nodes_{name}": value for name, value in _measures(half).items()}
    return BenchResult(
        id="node-or-job",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "slow jobs in the mix of metrics 13.4 (simulated)",
            "hash": f"seed {SEED}",
            "cases": len(published),
            "half_nodes_cases": len(half),
        },
        measures=measures,
        bars=_BARS,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "right": "of the cases with an answer; coverage says how many have one",
            "right_where_ranks_show": "of the cases in which the ranks' own work is printed; "
            "no answer counts as wrong",
            "said": {"as_published": _said(published), "half_nodes": _said(half)},
        },
    )


def judge(count: int, mix: dict[Cause, float], words: int) -> list[Judged]:
    """Make cases up and ask who is to blame; those that are hardly slow are left out."""
    causes = draw_causes(count, mix, words)
    made = (case(number, cause) for number, cause in enumerate(causes, _UNSEEN))
    return [Judged(one, who(one.evidence)) for one in made if one.evidence.ratio >= LEAST_RATIO]


def _measures(judged: list[Judged]) -> dict[str, Measure]:
    nodes = [one for one in judged if one.case.is_node]
    jobs = [one for one in judged if not one.case.is_node]
    named = [one for one in judged if one.excludes]
    return {
        "right": _share(one.is_right for one in judged if one.is_answered),
        "coverage": _share(one.is_answered for one in judged),
        "right_where_ranks_show": _share(one.is_right for one in judged if one.case.shows_ranks),
        "right_where_metrics_show": _share(
            one.is_right for one in judged if one.case.shows_metrics and not one.case.shows_ranks
        ),
        "nodes_excluded_for_nothing": _share(one.excludes for one in jobs),
        "culprits_found": _share(one.is_right for one in nodes),
        "named_nodes_right": _share(one.is_right for one in named),
        "cause_right": _share(_cause_is_right(one) for one in judged if one.is_answered),
    }


def _share(told: Iterable[bool]) -> Measure:
    values = list(told)
    return share(sum(values), len(values))


_WORDS: dict[Cause, frozenset[str]] = {
    Cause.SLOW_WORKER: frozenset({"slow_worker", "thermal", "power", "clocks"}),
    Cause.SLOW_NODE: frozenset({"slow_worker", "thermal", "power", "clocks"}),
    Cause.BAD_LINK: frozenset({"network"}),
    Cause.CONGESTION: frozenset({"network", "shared_resource", "between_steps"}),
    Cause.STORAGE: frozenset({"storage", "shared_resource", "data_loading", "between_steps"}),
    Cause.DATA: frozenset({"data_loading", "between_steps"}),
}
"""Causes that say the same, or as much of it as can be seen."""


def _cause_is_right(one: Judged) -> bool:
    return one.answer.cause in _WORDS.get(one.case.cause, {str(one.case.cause)})


def _said(judged: list[Judged]) -> dict[str, dict[str, int]]:
    """Return by cause how often was said what."""
    told: dict[str, Counter[str]] = {}
    for one in judged:
        words = f"{one.answer.blame}: {one.answer.cause or 'no cause'}"
        told.setdefault(str(one.case.cause), Counter())[words] += 1
    return {cause: dict(counts.most_common()) for cause, counts in sorted(told.items())}
