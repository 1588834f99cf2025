"""Labelled cases and answers made by hand, for tests of scoring and of perturbed copies."""

from __future__ import annotations

from typing import Any

from relume.benchmarks.corpora.failure_cases import Case
from relume.benchmarks.demo.corpus import Label
from relume.verdict import Domain, Kind, Locator, Retry, Verdict

LABEL = Label(
    attempt="megatron-lost",
    framework="megatron",
    scenario="lost",
    kind="crash",
    domain="hardware",
    root_file="job.log",
    root_line=7,
    culprit={"node": "gpu-a01", "gpu": "3"},
)
VERDICT = Verdict(
    attempt="megatron-lost",
    kind=Kind.CRASH,
    cause="gpu_lost",
    domain=Domain.HARDWARE,
    root_line=7,
    root_file="logs/megatron-lost/job.log",
    culprit=Locator(node="gpu-a01", gpu="3", rank=11),
    retry=Retry.YES,
    operation="restart",
    confidence=0.9,
    exclude_nodes=("gpu-a01",),
)
"""What is right about `LABEL`, and names a rank besides."""


def make_case(**changes: Any) -> Case:
    """Return a crash of the workload on line 0; what both readings accept follows the labels."""
    fields: dict[str, Any] = {
        "id": "case",
        "failure_class": "made_up",
        "kind": "crash",
        "fault_domain": "user",
        "root_line": 0,
        "culprit": None,
        "text": ("ValueError: no such option",),
        "accept_domain": frozenset({"workload"}),
        "culprit_optional": False,
        "culprit_also": frozenset(),
    }
    fields |= changes
    fields.setdefault("accept_kind", frozenset({fields["kind"]}))
    fields.setdefault("accept_line", (fields["root_line"],))
    return Case(**fields)


def make_answer(**changes: Any) -> dict[str, Any]:
    """Return the JSON form of a verdict that is right about `make_case()`."""
    answer: dict[str, Any] = {
        "kind": "crash",
        "domain": "workload",
        "root_cause_line": 0,
        "culprit": dict.fromkeys(("node", "rank", "local_rank", "gpu", "nic")),
        "exclude_nodes": [],
        "confidence": 0.9,
    }
    if "culprit" in changes:
        changes["culprit"] = answer["culprit"] | changes["culprit"]
    return answer | changes
