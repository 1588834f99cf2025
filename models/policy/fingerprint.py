"""A name for a failure that stays the same over hosts, ranks, addresses, paths and numbers."""

from __future__ import annotations

import hashlib

from relume.models.policy.shape import shape
from relume.verdict import Verdict

LENGTH = 16
"""Hexadecimal digits kept: 64 bits, no clash among the failures of a fleet."""
COMPARED = 200
"""Characters of a root line's shape that count: long lines are cut where they become evidence."""

_TOLD_BY_CODE = frozenset({"user_exception"})
"""Causes that are many failures: a bare AssertionError says nothing but where it was raised. Others
strike where they like: memory runs out in any function."""


def fingerprint(verdict: Verdict) -> str:
    """Return the fingerprint of a verdict's failure: cause, rule and the shape of its root line.

    Of an exception of the user's own code also the function that raised it.

    Two attempts with equal fingerprints failed in the same way, wherever they ran.
    """
    text = next(
        (
            evidence.text
            for evidence in verdict.evidence
            if (evidence.file, evidence.line) == (verdict.root_file, verdict.root_line)
        ),
        "",
    )
    words = shape(text, _nodes(verdict))[:COMPARED]
    code = verdict.raised_in if verdict.cause in _TOLD_BY_CODE else None
    parts = (verdict.kind.value, verdict.cause or "", verdict.rule or "", words, code or "")
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:LENGTH]


def _nodes(verdict: Verdict) -> set[str]:
    """Words of its lines that are known to be nodes, also those that don't look like one."""
    named = {mention.where.node for mention in verdict.mentions}
    return {node for node in (verdict.culprit.node, *named, *verdict.exclude_nodes) if node}
