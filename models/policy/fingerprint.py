"""A name for a failure that stays the same over hosts, ranks, addresses, paths and numbers."""

from __future__ import annotations

import hashlib
import re

from relume.verdict import Verdict

_VOLATILE = re.compile(
    r"(?P<address>0x[0-9a-fA-F]+)"
    r"|(?P<path>(?:/[\w.@%+~-]+){2,}/?)"
    r"|(?P<ip>\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b)"
    r"|(?P<pci>\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?\b)"
    r"|(?P<host>\b[A-Za-z][A-Za-z-]*[-]?[a-z]?\d+(?:[.-][\w-]+)*\b)"
    r"|(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
)
_SPACE = re.compile(r"\s+")
LENGTH = 16
"""Hexadecimal digits kept: 64 bits, no clash among the failures of a fleet."""


def fingerprint(verdict: Verdict) -> str:
    """Return the fingerprint of a verdict's failure: cause, rule and the shape of its root line.

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
    parts = (verdict.kind.value, verdict.cause or "", verdict.rule or "", shape(text))
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:LENGTH]


def shape(text: str) -> str:
    """Replace what differs between two runs of the same failure by the name of what it is.

    >>> shape("[rank3]: OSError: [Errno 28] No space left: '/ckpt/run7/step_100' on gpu-a17")
    "[<host>]: OSError: [Errno <number>] No space left: '<path>' on <host>"
    """
    replaced = _VOLATILE.sub(lambda match: f"<{match.lastgroup}>", text)
    return _SPACE.sub(" ", replaced).strip()
