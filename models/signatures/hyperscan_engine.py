"""Locates patterns with Hyperscan (Vectorscan): all patterns in one pass, at memory speed."""

from __future__ import annotations

import hashlib
import platform
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


class HyperscanEngine:
    """Block-mode database without start offsets, which would cost 60 % of the speed.

    Hyperscan reports a pattern at every offset where it may end; the line around it is looked up
    once. The scan itself runs without the GIL, so one engine a thread scales: see `twin`.
    """

    name = "hyperscan"

    def __init__(self, patterns: Sequence[str], store: DatabaseStore | None = None) -> None:
        self._database = _database(patterns, store) if patterns else None
        self._scratch = None if self._database is None else self._database.scratch

    def twin(self) -> HyperscanEngine:
        """See `relume.models.signatures.engine.Engine.twin`."""
        twin = HyperscanEngine(())
        twin._database = self._database
        twin._scratch = None if self._scratch is None else self._scratch.clone()
        return twin

    def scan(self, data: bytes) -> list[Candidate]:
        """See `relume.models.signatures.engine.Engine.scan`."""
        if self._database is None:
            return []
        reports: list[int] = []
        self._database.scan(
            data, match_event_handler=_report, context=reports.append, scratch=self._scratch
        )
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


def _database(patterns: Sequence[str], store: DatabaseStore | None) -> hyperscan.Database:
    """Return the compiled patterns, from the store where it has them."""
    forms = compiled_form(patterns)
    if len(forms) > _PATTERN_MASK:
        raise RuleError(
            "the rules", found=f"{len(forms)} patterns", expected=f"at most {_PATTERN_MASK}"
        )
    if store is None:
        return _compile(patterns, forms)
    key = _key(forms)
    kept = store.load(key)
    database = None if kept is None else _restore(kept)
    if database is None:
        database = _compile(patterns, forms)
        store.save(key, hyperscan.dumpb(database))
    return database


def _key(forms: Sequence[str]) -> str:
    """Name a database by all that decides its bytes, but for the processor that it runs on."""
    digest = hashlib.sha256()
    for part in (version("hyperscan"), _built_for(), platform.machine(), *forms):
        digest.update(f"{len(part)}:{part}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _built_for() -> str:
    """Version of the library, and the features of processors that its databases are made for."""
    smallest = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    _compile_into(smallest, ["a"])
    return str(smallest.info())


def _restore(kept: bytes) -> hyperscan.Database | None:
    """Return a database as it was kept, null where the library can't use it."""
    try:
        database = hyperscan.loadb(kept, hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except (hyperscan.error, ValueError, MemoryError):
        return None
    return database


def _compile(patterns: Sequence[str], forms: list[str]) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        _compile_into(database, forms)
    except hyperscan.error:
        _raise_for_first_bad(patterns, forms)
        raise
    return database


def _compile_into(database: hyperscan.Database, forms: list[str]) -> None:
    database.compile(
        expressions=[form.encode() for form in forms],
        ids=list(range(len(forms))),
        elements=len(forms),
        flags=hyperscan.HS_FLAG_MULTILINE,
    )


def _raise_for_first_bad(patterns: Sequence[str], forms: list[str]) -> None:
    # The compiler's message doesn't say which expression it is about.
    for pattern, form in zip(patterns, forms, strict=True):
        try:
            _compile_into(hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK), [form])
        except hyperscan.error as error:
            raise RuleError(
                f"pattern {pattern!r}",
                found=f"a refusal by Hyperscan: {error}",
                expected="a linear-time pattern that can match",
            ) from None
