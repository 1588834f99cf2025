"""Advice and attempts made by hand, for tests of the ledger and of the HTTP API."""

from __future__ import annotations

from typing import Any

from relume.advice import Advice, Budget, Mode, Operation, Scope, advice_id, subject
from relume.serve.ledger import AttemptRecord
from relume.verdict import Domain, Evidence, Kind

ATTEMPT = "lab/123@1767323045.0"
CREATED = 1_767_323_100_000_000
EXPIRES = CREATED + 1_800_000_000


def make_advice(**changes: Any) -> Advice:
    """Return a settled RESTART about `ATTEMPT`, generation 1; the id follows the changes."""
    fields: dict[str, Any] = {
        "attempt": ATTEMPT,
        "generation": 1,
        "operation": Operation.RESTART,
        "kind": Kind.CRASH,
        "domain": Domain.HARDWARE,
        "cause": "gpu_lost",
        "confidence": 0.9,
        "rule": "xid_79",
        "evidence": (Evidence("xid_79", "root", "kernel.log", 3, "NVRM: Xid 79: lost", 5),),
        "missing_evidence": ("kernel log of node3",),
        "budget": Budget(used=1, left=2),
        "mode": Mode.ACT,
        "settled": True,
        "created_at": CREATED,
        "decided_at": CREATED,
        "expires_at": EXPIRES,
    }
    fields |= changes
    about = subject(
        fields["attempt"], fields.get("scope", Scope.ATTEMPT), fields.get("exclude_nodes", ())
    )
    return Advice(advice_id=advice_id(about, fields["generation"]), **fields)


def make_attempt(**changes: Any) -> AttemptRecord:
    """Return `ATTEMPT` while it runs on two nodes."""
    fields: dict[str, Any] = {
        "attempt": ATTEMPT,
        "run": "opus",
        "state": "RUNNING",
        "opted_in": True,
        "raw_job_id": 123,
        "nodes": ("node1", "node2"),
        "submit_time": 1_767_323_045_000_000,
    }
    return AttemptRecord(**(fields | changes))
