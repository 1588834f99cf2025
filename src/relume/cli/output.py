"""How results leave the program: verdicts as JSON records and as text for a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relume.ingest.skips import SkipCounts
    from relume.verdict import Evidence, Locator, Mention, Verdict

SCHEMA_VERSION = 1
"""Version of every JSON document that the command line prints."""


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


def verdict_record(verdict: Verdict, skipped: SkipCounts | None = None) -> dict[str, Any]:
    """JSON form of a verdict on files: `attempt` and `files` stand for `id`."""
    record = {"attempt": verdict.attempt, "files": list(verdict.files)}
    record |= _body(verdict, with_files=True)
    if skipped is not None:
        record["skipped"] = skipped.as_dict()
    return record


def _body(verdict: Verdict, *, with_files: bool) -> dict[str, Any]:
    body = {
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
    }
    if with_files:
        body["root_cause_file"] = verdict.root_file
    return body


def _mention(mention: Mention, *, with_files: bool) -> dict[str, Any]:
    record = locator_record(mention.where) | {"line": mention.line}
    return record | {"file": mention.file} if with_files else record


def _evidence(evidence: Evidence, *, with_files: bool) -> dict[str, Any]:
    record = {
        "line": evidence.line,
        "rule": evidence.rule,
        "role": evidence.role,
        "event_time": evidence.event_time,
        "text": evidence.text,
    }
    return record | {"file": evidence.file} if with_files else record


def verdict_text(verdict: Verdict, summary: tuple[str, str], skipped: SkipCounts) -> str:
    """Human form: one headline, the line that proves it, who, what to do, what is missing."""
    meaning, advice = summary
    rows: list[tuple[str, str]] = [("attempt", verdict.attempt), ("verdict", _headline(verdict))]
    if meaning:
        rows.append(("meaning", meaning))
    rows += _proof(verdict)
    if verdict.culprit:
        rows.append(("culprit", _where(verdict.culprit)))
    rows.append(("to do", _to_do(verdict, advice)))
    rows += [("why", reason) for reason in verdict.why]
    rows += [("missing", source) for source in verdict.missing_evidence]
    rows += [("not read", f"{count} x {reason}") for reason, count in skipped.items()]
    return "\n".join(_rows(rows))


def _headline(verdict: Verdict) -> str:
    parts = [verdict.kind.value]
    if verdict.cause:
        parts.append(f"{verdict.cause.replace('_', ' ')} ({verdict.domain.value})")
    return ": ".join(parts) + f", confidence {verdict.confidence:.2f}"


def _proof(verdict: Verdict) -> Sequence[tuple[str, str]]:
    if verdict.root_line is None:
        return ()
    where = ("line", f"{verdict.root_file}:{verdict.root_line + 1}")
    text = next((e.text for e in verdict.evidence if e.line == verdict.root_line), None)
    return (where, ("", text.strip()[:300])) if text else (where,)


def _where(where: Locator) -> str:
    named = {key: value for key, value in locator_record(where).items() if value is not None}
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in named.items())


def _to_do(verdict: Verdict, advice: str) -> str:
    excluded = f" without {', '.join(verdict.exclude_nodes)}" if verdict.exclude_nodes else ""
    operation = f"{verdict.operation}{excluded} (retry helps: {verdict.retry.value})"
    return f"{operation}. {advice}" if advice else operation


def _rows(rows: Sequence[tuple[str, str]]) -> list[str]:
    shown: list[str] = []
    last = ""
    for label, text in rows:
        shown.append(f"{'' if label == last else label:>9}  {_printable(text)}")
        last = label
    return shown


def _printable(text: str) -> str:
    """Log text is hostile: control characters must not reach the terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
