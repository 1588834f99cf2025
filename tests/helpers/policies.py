"""Verdicts and views of the policy, made by hand."""

from __future__ import annotations

from typing import Any

from relume.identity import AttemptId
from relume.models.policy.view import PolicyView
from relume.verdict import Domain, Evidence, Kind, Locator, Retry, Verdict

ATTEMPT = AttemptId.parse("lab/7@1767323045.1")


def verdict(**changes: Any) -> Verdict:
    fields: dict[str, Any] = {
        "attempt": str(ATTEMPT),
        "kind": Kind.CRASH,
        "cause": "some_cause",
        "domain": Domain.UNKNOWN,
        "root_line": 3,
        "root_file": "job.log",
        "culprit": Locator(),
        "retry": Retry.UNCLEAR,
        "operation": "RESTART",
        "confidence": 0.9,
        "rule": "some_rule",
        "evidence": (Evidence("some_rule", "root", "job.log", 3, "KeyError: 'x' on rank 3"),),
    }
    return Verdict(**(fields | changes))


def view(**changes: Any) -> PolicyView:
    fields: dict[str, Any] = {
        "attempt": ATTEMPT,
        "verdict": verdict(),
        "ended": True,
        "settled": True,
        "scheduler_state": "FAILED",
        "run_nodes": ("n1", "n2", "n3"),
    }
    return PolicyView(**(fields | changes))


WORKLOAD = verdict(domain=Domain.WORKLOAD, retry=Retry.NO)
LOST_GPU = verdict(domain=Domain.HARDWARE, culprit=Locator("n2"), exclude_nodes=("n2",))
HANG = verdict(kind=Kind.HANG)
