"""Score verdicts against labelled cases, exactly as the corpus' own README says.

A verdict is right when it is in what either of two independent readings accepts. Proportions carry
95 % Wilson intervals (metrics section 3).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.measures import rounded_share

_FAILURES = frozenset({"crash", "hang", "straggler"})
WATCHDOG = re.compile(r"(?i)watchdog|timed out|time-?out|heartbeat")
"""Words of what ends a job that stands still."""
_LABELLED = re.compile(r"(?i)\b(?P<key>local_rank|rank|gpu|pci) ?(?P<value>[\w:.]+)")
_CULPRIT_KEYS = ("node", "rank", "local_rank", "gpu", "nic")


@dataclass(slots=True)
class Tally:
    """Right answers out of all that count."""

    right: int = 0
    total: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, case_id: str, *, right: bool) -> None:
        """Count one answer and keep the id of a wrong one."""
        self.total += 1
        self.right += right
        if not right:
            self.wrong.append(case_id)

    @property
    def share(self) -> float:
        """Share of right answers; 0 where nothing counted."""
        return self.right / self.total if self.total else 0.0

    def interval(self) -> dict[str, float]:
        """Return the share with its 95 % Wilson interval."""
        return rounded_share(self.right, self.total)


@dataclass(slots=True)
class Score:
    """All measures of one pass over a corpus."""

    kind: Tally = field(default_factory=Tally)
    root_line: Tally = field(default_factory=Tally)
    culprit: Tally = field(default_factory=Tally)
    domain: Tally = field(default_factory=Tally)
    benign_called_failure: list[str] = field(default_factory=list)
    culprit_wrong: list[str] = field(default_factory=list)
    culprit_unlabelled: list[str] = field(default_factory=list)
    unlabelled: int = 0
    benign: int = 0
    workload: int = 0
    workload_excluded: list[str] = field(default_factory=list)
    confidence: list[tuple[float, bool]] = field(default_factory=list)


def score(cases: Iterable[Case], verdicts: Mapping[str, Mapping[str, Any]]) -> Score:
    """Compare verdict records (the JSON form of `diagnose --cases`) with their cases."""
    result = Score()
    for case in cases:
        verdict = verdicts[case.id]
        right = kind_is_right(case, verdict["kind"])
        if right or not is_undecided(case):  # an excerpt without a clock can't be missed
            result.kind.add(case.id, right=right)
            result.confidence.append((float(verdict["confidence"]), right))
        _score_benign(result, case, verdict)
        _score_root(result, case, verdict)
        _score_domain(result, case, verdict)
        _score_culprit(result, case, verdict)
    return result


def kind_is_right(case: Case, kind: str) -> bool:
    """Whether the kind is accepted; beside a watchdog's words hang and crash are one."""
    if kind in case.accept_kind:
        return True
    other = {"hang": "crash", "crash": "hang"}.get(kind)
    return other in case.accept_kind and any(WATCHDOG.search(line) for line in case.text)


def is_undecided(case: Case) -> bool:
    """Whether the text ends before it shows if anything failed: benign stands beside a failure."""
    return "benign" in case.accept_kind and bool(case.accept_kind & _FAILURES)


def _score_benign(result: Score, case: Case, verdict: Mapping[str, Any]) -> None:
    if case.kind == "benign":
        result.benign += 1
        if verdict["kind"] in _FAILURES and verdict["kind"] not in case.accept_kind:
            result.benign_called_failure.append(case.id)
    if case.fault_domain == "user":
        result.workload += 1
        if verdict["exclude_nodes"]:
            result.workload_excluded.append(case.id)


def _score_root(result: Score, case: Case, verdict: Mapping[str, Any]) -> None:
    if case.root_line is not None and case.accept_line and not is_undecided(case):
        result.root_line.add(case.id, right=verdict["root_cause_line"] in case.accept_line)


def _score_domain(result: Score, case: Case, verdict: Mapping[str, Any]) -> None:
    if case.kind in _FAILURES and case.fault_domain != "unknown" and case.accept_domain:
        result.domain.add(case.id, right=verdict["domain"] in case.accept_domain)


def _score_culprit(result: Score, case: Case, verdict: Mapping[str, Any]) -> None:
    named = _named(verdict["culprit"])
    if case.culprit is None:
        result.unlabelled += 1
        if named and not set(named.values()) & case.culprit_also:
            result.culprit_unlabelled.append(case.id)
        return
    if not named:
        if not case.culprit_optional:
            result.culprit.add(case.id, right=False)
        return
    right = culprit_is_right(case.culprit, case.culprit_also, named)
    result.culprit.add(case.id, right=right)
    if not right:
        result.culprit_wrong.append(case.id)


def culprit_is_right(label: str, also: Collection[str], named: Mapping[str, str]) -> bool:
    """Whether `named` says what `label` (or a further right name) says, and contradicts nothing.

    >>> culprit_is_right("node031 gpu 3", [], {"node": "node031", "gpu": "3"})
    True
    >>> culprit_is_right("node031 gpu 3", [], {"node": "node032", "gpu": "3"})
    False
    """
    wanted = named_by(label)
    contradicted = any(
        key in named and named[key] != value and named[key] not in also
        for key, value in wanted.items()
    )
    agreed = any(named.get(key) == value for key, value in wanted.items())
    return not contradicted and (agreed or bool(set(named.values()) & set(also)))


def _named(culprit: Mapping[str, Any] | None) -> dict[str, str]:
    return {
        key: str(culprit[key]) for key in _CULPRIT_KEYS if culprit and culprit.get(key) is not None
    }


def named_by(label: str) -> dict[str, str]:
    """Read a label: ``node031 gpu 3``, ``rank 7``, ``PCI 0000:1a:00``, ``GPU6``, ``mlx5_7``.

    Examples
    --------
    >>> named_by("node031 gpu 3")
    {'gpu': '3', 'node': 'node031'}
    """
    found = {m["key"].lower(): m["value"] for m in _LABELLED.finditer(label)}
    rest = _LABELLED.sub("", label).split()
    if "pci" in found:
        found["gpu"] = found.pop("pci")
    for name in rest:
        found["nic" if name.startswith("mlx") else "node"] = name
    return found
