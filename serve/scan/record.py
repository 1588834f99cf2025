"""JSON form of a scan, described in `docs/scan.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relume.clock import to_iso
from relume.ingest.skips import SkipCounts
from relume.records import SCHEMA_VERSION, verdict_record
from relume.serve.scan.scanned import Scanned
from relume.serve.scan.summary import NodeRecord, Repeat, repeats, suspicious_nodes
from relume.verdict import Kind

_VERDICT_KEYS = (
    "kind",
    "cause",
    "domain",
    "culprit",
    "retryable",
    "confidence",
    "rule",
    "root_cause_file",
    "root_cause_line",
    "evidence",
    "missing_evidence",
    "why",
    "unrecognised",
)


@dataclass(slots=True)
class Scan:
    """All attempts of a scan, and what was left out of accounting."""

    attempts: Sequence[Scanned]
    skipped: SkipCounts

    @property
    def findings(self) -> list[Scanned]:
        """The attempts that failed."""
        return [one for one in self.attempts if one.is_finding]

    @property
    def counts(self) -> dict[str, int]:
        """How many attempts were looked at, failed, and could not be judged."""
        unknown = sum(
            not one.is_finding and (one.verdict is None or one.verdict.kind is Kind.UNKNOWN)
            for one in self.attempts
        )
        return {
            "attempts": len(self.attempts),
            "findings": len(self.findings),
            "unknown": unknown,
        }


def scan_record(scan: Scan, shown: Sequence[Scanned]) -> dict[str, Any]:
    """Return the document of a scan with the attempts that are `shown`."""
    return {
        "schema_version": SCHEMA_VERSION,
        **scan.counts,
        "verdicts": [attempt_record(one) for one in shown],
        "repeats": [_repeat(one) for one in repeats(scan.attempts)],
        "nodes": [_node(one) for one in suspicious_nodes(scan.attempts)],
        **scan.skipped.record(),
    }


def attempt_record(one: Scanned) -> dict[str, Any]:
    """Return the record of one attempt; null where not known."""
    entry = one.entry
    verdict: Mapping[str, Any] = {} if one.verdict is None else verdict_record(one.verdict)
    return {
        "attempt": entry.attempt,
        "run": one.run.name,
        "name": entry.name,
        "user": entry.user,
        "state": entry.state,
        "exit_code": entry.exit_code,
        "signal": entry.signal,
        "nodes": list(entry.nodes),
        "start": None if one.start is None else to_iso(one.start),
        "end": None if one.end is None else to_iso(one.end),
        "first_step": one.first_step,
        "last_step": one.last_step,
        "finding": one.is_finding,
        "fingerprint": one.fingerprint,
        **{key: verdict.get(key) for key in _VERDICT_KEYS},
        **_advised(one),
        "logs": list(one.logs),
        "missing_logs": list(one.missing),
        "log_skipped": dict(one.skipped),
    }


def _advised(one: Scanned) -> dict[str, Any]:
    """What would have been advised; null where the service would have kept quiet."""
    advice = one.advice
    return {
        "operation": None if advice is None else advice.operation.value,
        "exclude_nodes": [] if advice is None else list(advice.exclude_nodes),
        "advised_at": None if advice is None else to_iso(advice.created_at),
        "settled": None if advice is None else advice.settled,
    }


def _repeat(one: Repeat) -> dict[str, Any]:
    return {
        "fingerprint": one.fingerprint,
        "kind": one.verdict.kind.value,
        "cause": one.verdict.cause,
        "domain": one.verdict.domain.value,
        "attempts": list(one.attempts),
        "longest_streak": one.streak,
    }


def _node(one: NodeRecord) -> dict[str, Any]:
    return {"node": one.node, "blamed": one.blamed, "failed": one.failed, "ran": one.ran}
