"""Locates patterns with Hyperscan (Vectorscan): all patterns in one pass, at memory speed."""

from __future__ import annotations

import hashlib
import platform
from copy import copy
from importlib.metadata import version
from typing import TYPE_CHECKING

import hyperscan

from relume.errors import RuleError
from relume.models.signatures.engine import Candidate, compiled_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relume.models.signatures.engine import DatabaseStore

_PATTERN_BITS = 20
"""A report is one number: the end of the match, and the pattern in the lowest bits."""
_PATTERN_MASK = (1 << _PATTERN_BITS) - 1
_SPUR = r"\x00"
"""A pattern of ours that no text of a log holds (NULs are taken out of it).

With a literal of one byte among a thousand long ones Hyperscan chooses smaller strides through
the text and a larger table, which is 20 % faster (measured with 5.4.12; fewer gain nothing).
"""
_SPURRED_FROM = 800


class HyperscanEngine:
    """Block-mode database without start offsets, which would cost 60 % of the speed.

    Hyperscan reports a pattern at every offset where it may end; the line around it is looked up
    once. The scan itself runs without the GIL, so one engine a thread scales: see `twin`.
    """

    name = "hyperscan"

    def __init__(
        self, patterns: Sequence[str], store: DatabaseStore | None = None, *, first: int = 0
    ) -> None:
        self._database = _database(patterns, first, store) if patterns else None
        self._scratch = None if self._database is None else self._database.scratch
        self._end = first + len(patterns)
        self._is_spurred = len(patterns) >= _SPURRED_FROM

    def twin(self) -> HyperscanEngine:
        """See `relume.models.signatures.engine.Engine.twin`."""
        twin = copy(self)
        if self._scratch is not None:
            twin._scratch = self._scratch.clone()  # noqa: SLF001 - a copy of ourselves
        return twin

    def scan(self, data: bytes) -> list[Candidate]:
        """See `relume.models.signatures.engine.Engine.scan`."""
        if self._database is None:
            return []
        reports: list[int] = []
        self._database.scan(
            data, match_event_handler=_report, context=reports.append, scratch=self._scratch
        )
        if self._is_spurred:
            reports = [report for report in reports if report & _PATTERN_MASK < self._end]
        return _lines(data, reports) if reports else []


def _report(pattern: int, _start: int, end: int, _flags: int, take: object) -> None:
    take(end << _PATTERN_BITS | pattern)  # type: ignore[operator]


def _lines(data: bytes, reports: list[int]) -> list[Candidate]:
    """Group reports (at least one) into lines: no match holds a newline, so its end is in it."""
    reports.sort()  # Hyperscan orders by end within a pattern only
    candidates: list[Candidate] = []
    start, line_end, found = 0, -1, list[int]()
    for report in reports:
        end, pattern = report >> _PATTERN_BITS, report & _PATTERN_MASK
        if end <= line_end:
            if pattern not in found:
                found.append(pattern)
            continue
        if found:
            candidates.append(Candidate(start, line_end, _ascending(found)))
        start = data.rfind(b"\n", line_end + 1, end) + 1 or line_end + 1
        line_end = data.find(b"\n", end)
        if line_end < 0:
            line_end = len(data)
        found = [pattern]
    candidates.append(Candidate(start, line_end, _ascending(found)))
    return candidates


def _ascending(found: list[int]) -> tuple[int, ...]:
    if len(found) > 1:
        found.sort()
    return tuple(found)


def _database(
    patterns: Sequence[str], first: int, store: DatabaseStore | None
) -> hyperscan.Database:
    """Return the compiled patterns, from the store where it has them."""
    forms = compiled_form(patterns)
    if first + len(forms) >= _PATTERN_MASK:
        raise RuleError(
            "the rules", found=f"{len(forms)} patterns", expected=f"less than {_PATTERN_MASK}"
        )
    if store is None:
        return _compile(patterns, forms, first)
    key = _key([str(first), *forms])
    kept = store.load(key)
    database = None if kept is None else _restore(kept)
    if database is None:
        database = _compile(patterns, forms, first)
        store.save(key, hyperscan.dumpb(database))
    return database


def _key(parts: Sequence[str]) -> str:
    """Name a database by all that decides its bytes, but for the processor that it runs on."""
    digest = hashlib.sha256()
    for part in (_SPUR, version("hyperscan"), _built_for(), platform.machine(), *parts):
        digest.update(f"{len(part)}:{part}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _built_for() -> str:
    """Version of the library, and the features of processors that its databases are made for."""
    smallest = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    _compile_into(smallest, ["a"], 0)
    return str(smallest.info())


def _restore(kept: bytes) -> hyperscan.Database | None:
    """Return a database as it was kept, null where the library can't use it."""
    try:
        database = hyperscan.loadb(kept, hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except (hyperscan.error, ValueError, MemoryError):
        return None
    return database


def _compile(patterns: Sequence[str], forms: list[str], first: int) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    spurred = [*forms, _SPUR] if len(forms) >= _SPURRED_FROM else forms
    try:
        _compile_into(database, spurred, first)
    except hyperscan.error:
        _raise_for_first_bad(patterns, forms)
        raise
    return database


def _compile_into(database: hyperscan.Database, forms: list[str], first: int) -> None:
    database.compile(
        expressions=[form.encode() for form in forms],
        ids=list(range(first, first + len(forms))),
        elements=len(forms),
        flags=hyperscan.HS_FLAG_MULTILINE,
    )


def _raise_for_first_bad(patterns: Sequence[str], forms: list[str]) -> None:
    # The compiler's message doesn't say which expression it is about.
    for pattern, form in zip(patterns, forms, strict=True):
        try:
            _compile_into(hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK), [form], 0)
        except hyperscan.error as error:
            raise RuleError(
                f"pattern {pattern!r}",
                found=f"a refusal by Hyperscan: {error}",
                expected="a linear-time pattern that can match",
            ) from None
