"""JSON forms of verdicts: what the command line, the benches and later the API print."""

from __future__ import annotations

from typing import Any

from relume.reasons import Cited, Reason
from relume.verdict import Evidence, Locator, Mention, Stuck, Unrecognised, Verdict

SCHEMA_VERSION = 1
"""Version of every JSON document that Relume prints."""


def locator_record(where: Locator) -> dict[str, Any]:
    """JSON form of a locator; null where not known."""
    return {
        "node": where.node,
        "rank": where.rank,
        "local_rank": where.local_rank,
        "gpu": where.gpu,
        "nic": where.nic,
    }


def case_record(verdict: Verdict) -> dict[str, Any]:
    """JSON form of a verdict on a `--cases` record (DESIGN 11)."""
    return {"id": verdict.attempt, **_body(verdict, with_files=False)}


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """JSON form of a verdict on files: `attempt` and `files` stand for `id`.

    `root_cause_file` says which file `root_cause_line` counts in.
    """
    record: dict[str, Any] = {"attempt": verdict.attempt, "files": list(verdict.files)}
    return record | _body(verdict, with_files=True)


def _body(verdict: Verdict, *, with_files: bool) -> dict[str, Any]:
    body: dict[str, Any] = {
        "kind": verdict.kind.value,
        "cause": verdict.cause,
        "domain": verdict.domain.value,
        "root_cause_line": verdict.root_line,
        "culprit": locator_record(verdict.culprit),
        "mentions": [_mention(m, with_files=with_files) for m in verdict.mentions],
        "retryable": verdict.retry.value,
        "operation": verdict.operation,
        "exclude_nodes": list(verdict.exclude_nodes),
        "confidence": verdict.confidence,
        "evidence": [_evidence(e, with_files=with_files) for e in verdict.evidence],
        "missing_evidence": list(verdict.missing_evidence),
        "rule": verdict.rule,
        "why": list(verdict.why),
        "reasons": [_reason(r, with_files=with_files) for r in verdict.reasons],
        "unrecognised": [_unrecognised(u, with_files=with_files) for u in verdict.unrecognised],
    }
    if with_files:
        body["root_cause_file"] = verdict.root_file
        body["stuck"] = None if verdict.stuck is None else _stuck(verdict.stuck)
    return body


def _stuck(stuck: Stuck) -> dict[str, Any]:
    return {
        "pattern": stuck.pattern,
        "culprits": [locator_record(where) for where in stuck.culprits],
        "suspects": list(stuck.suspects),
        "group": stuck.group,
        "sequence": stuck.sequence,
        "operation": stuck.operation,
        "waiting": list(stuck.waiting),
        "absent": list(stuck.absent),
        "waits": list(stuck.waits),
        "dumped": stuck.dumped,
        "missing": list(stuck.missing),
    }


def _mention(mention: Mention, *, with_files: bool) -> dict[str, Any]:
    record = locator_record(mention.where) | {"line": mention.line}
    return record | {"file": mention.file} if with_files else record


def evidence_record(evidence: Evidence) -> dict[str, Any]:
    """Return the record of one line of evidence, with its file."""
    return _evidence(evidence, with_files=True)


def _evidence(evidence: Evidence, *, with_files: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "line": evidence.line,
        "rule": evidence.rule,
        "role": evidence.role,
        "event_time": evidence.event_time,
        "text": evidence.text,
        "stream": evidence.stream,
        "forgeable": evidence.is_forgeable,
    }
    return record | {"file": evidence.file} if with_files else record


def _reason(reason: Reason, *, with_files: bool) -> dict[str, Any]:
    return {
        "code": reason.code.value,
        "count": reason.count or len(reason.lines),
        "detail": reason.detail,
        "lines": [_cited(line, with_files=with_files) for line in reason.lines],
    }


def _cited(cited: Cited, *, with_files: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"rule": cited.rule, "line": cited.line}
    if with_files:
        record["file"] = cited.file
    record["by"] = None if cited.by is None else _cited(cited.by, with_files=with_files)
    return record


def _unrecognised(line: Unrecognised, *, with_files: bool) -> dict[str, Any]:
    record: dict[str, Any] = {
        "line": line.line,
        "text": line.text,
        "count": line.count,
        "lines_before_end": line.lines_before_end,
        "why": list(line.why),
        "event_time": line.event_time,
        "where": locator_record(line.where),
        "is_trouble": line.is_trouble,
    }
    return record | {"file": line.file} if with_files else record
