"""A name for a failure that stays the same over hosts, ranks, addresses, paths and numbers."""

from __future__ import annotations

import hashlib

from relume.models.policy.place import code_place
from relume.models.policy.shape import shape
from relume.verdict import Domain, Verdict

LENGTH = 16
"""Hexadecimal digits kept: 64 bits, no clash among the failures of a fleet."""
COMPARED = 200
"""Characters of a root line's shape that count: long lines are cut where they become evidence."""

_STRIKES_ANYWHERE = frozenset({"gpu_out_of_memory", "host_out_of_memory"})
"""Causes of a workload that aren't told by the code that met them: memory runs out in any function.
All others are many failures: shapes mismatch at many places, each of them another bug."""


def fingerprint(verdict: Verdict) -> str:
    """Return the fingerprint of a verdict's failure: cause, rule and the shape of its root line.

    Of an exception of the workload also the code that raised it, unless memory ran out.

    Two attempts with equal fingerprints failed in the same way, wherever they ran.
    """
    parts = (verdict.kind.value, verdict.cause or "", verdict.rule or "", _words(verdict))
    return _hashed(*parts, _code(verdict))


def likeness(verdict: Verdict) -> str | None:
    """Return what is equal for failures that print the same, whoever's code met them.

    Null where no line was read: then nobody can say that two failures are alike.
    """
    if verdict.root_line is None:
        return None
    return _hashed(verdict.kind.value, verdict.cause or "", verdict.rule or "", _words(verdict))


def known_fingerprint(verdict: Verdict) -> str | None:
    """Return the fingerprint, null where nobody can say that two such failures are the same.

    That takes a cause, or a line of a log.
    """
    is_known = verdict.cause is not None or verdict.root_line is not None
    return fingerprint(verdict) if is_known else None


def _words(verdict: Verdict) -> str:
    """The shape of the root line."""
    root = (verdict.root_file, verdict.root_line)
    lines = (one.text for one in verdict.evidence if (one.file, one.line) == root)
    return shape(next(lines, ""), _nodes(verdict))[:COMPARED]


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:LENGTH]


def _code(verdict: Verdict) -> str:
    """Where the workload raised; empty when nothing shows it or it says nothing of the failure."""
    if verdict.domain is not Domain.WORKLOAD or verdict.cause in _STRIKES_ANYWHERE:
        return ""
    return code_place(verdict.raised_in) if verdict.raised_in else ""


def _nodes(verdict: Verdict) -> set[str]:
    """Words of its lines that are known to be nodes, also those that don't look like one."""
    named = {mention.where.node for mention in verdict.mentions}
    return {node for node in (verdict.culprit.node, *named, *verdict.exclude_nodes) if node}
