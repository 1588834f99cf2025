"""Locates patterns with Hyperscan (Vectorscan): all patterns in one pass, at memory speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hyperscan

from relume.errors import RuleError
from relume.models.signatures.engine import Candidate, compiled_form

if TYPE_CHECKING:
    from collections.abc import Sequence


class HyperscanEngine:
    """Block-mode database without start offsets, which would cost 60 % of the speed.

    Hyperscan reports a pattern at every offset where it may end; the line around it is looked up
    once. One scratch space an engine: two threads must not scan with one engine at a time, but the
    scan itself runs without the GIL, so one engine a thread scales.
    """

    name = "hyperscan"

    def __init__(self, patterns: Sequence[str]) -> None:
        self._database = _compile(patterns) if patterns else None

    def scan(self, data: bytes) -> list[Candidate]:
        """See `relume.models.signatures.engine.Engine.scan`."""
        if self._database is None:
            return []
        ends: list[tuple[int, int]] = []
        self._database.scan(data, match_event_handler=_collect, context=ends)
        return _lines(data, ends) if ends else []


def _collect(pattern: int, _start: int, end: int, _flags: int, ends: object) -> None:
    ends.append((end, pattern))  # type: ignore[attr-defined]


def _lines(data: bytes, ends: list[tuple[int, int]]) -> list[Candidate]:
    """Group match ends (at least one) into lines: no match holds a newline, so its end is in it."""
    ends.sort()  # Hyperscan orders by end within a pattern only
    candidates: list[Candidate] = []
    start, line_end = 0, -1
    found: set[int] = set()
    for end, pattern in ends:
        if end <= line_end:
            found.add(pattern)
            continue
        if found:
            candidates.append(Candidate(start, line_end, tuple(sorted(found))))
        start = data.rfind(b"\n", 0, end) + 1
        line_end = data.find(b"\n", end)
        if line_end < 0:
            line_end = len(data)
        found = {pattern}
    candidates.append(Candidate(start, line_end, tuple(sorted(found))))
    return candidates


def _compile(patterns: Sequence[str]) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    expressions = compiled_form(patterns)
    try:
        _compile_into(database, expressions)
    except hyperscan.error:
        _raise_for_first_bad(patterns, expressions)
        raise
    return database


def _compile_into(database: hyperscan.Database, expressions: list[str]) -> None:
    database.compile(
        expressions=[expression.encode() for expression in expressions],
        ids=list(range(len(expressions))),
        elements=len(expressions),
        flags=hyperscan.HS_FLAG_MULTILINE,
    )


def _raise_for_first_bad(patterns: Sequence[str], expressions: list[str]) -> None:
    # The compiler's message doesn't say which expression it is about.
    for pattern, expression in zip(patterns, expressions, strict=True):
        try:
            _compile_into(hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK), [expression])
        except hyperscan.error as error:
            raise RuleError(
                f"pattern {pattern!r}",
                found=f"a refusal by Hyperscan: {error}",
                expected="a linear-time pattern that can match",
            ) from None
