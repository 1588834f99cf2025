"""Locates patterns with RE2: the fall-back where Hyperscan has no wheel, with equal results."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import re2

from relume.errors import RuleError
from relume.models.signatures.engine import Candidate, compiled_form

if TYPE_CHECKING:
    from collections.abc import Sequence

_MEMORY_BYTES = 64 << 20
"""Bound of each state cache. With RE2's default of 8 MiB, hundreds of patterns take a slow path."""


class Re2Engine:
    """One alternation finds a candidate line, then a set names its patterns.

    RE2 holds the GIL while it matches: use processes, not threads, for more than one core.
    """

    name = "re2"

    def __init__(self, patterns: Sequence[str], *, first: int = 0) -> None:
        self._forms, self._first = compiled_form(patterns), first
        try:
            self._any = compile_form("|".join(f"(?:{form})" for form in self._forms))
            self._set = _compile_set(self._forms)
        except re2.error as error:
            _raise_for_first_bad(patterns, self._forms)
            raise _refusal("of all rules", error) from None

    @cached_property
    def _each(self) -> list[re2._Regexp]:
        return [compile_form(form) for form in self._forms]

    def twin(self) -> Re2Engine:
        """See `relume.models.signatures.engine.Engine.twin`; RE2 needs no scratch."""
        return self

    def scan(self, data: bytes) -> list[Candidate]:
        """See `relume.models.signatures.engine.Engine.scan`."""
        candidates: list[Candidate] = []
        position = 0
        search, size = self._any.search, len(data)
        while self._forms and position < size and (found := search(data, position)):
            start = data.rfind(b"\n", 0, found.end()) + 1
            end = data.find(b"\n", found.end())
            if end < 0:
                end = size
            candidates.append(Candidate(start, end, self._patterns_in(data[start:end])))
            position = end + 1
        return candidates

    def _patterns_in(self, line: bytes) -> tuple[int, ...]:
        # A set may give nothing when its cache is full (re2/set.h, kOutOfMemory).
        found = sorted(self._set.Match(line) or ()) or self._patterns_one_by_one(line)
        return tuple(self._first + n for n in found)

    def _patterns_one_by_one(self, line: bytes) -> list[int]:
        return [n for n, pattern in enumerate(self._each) if pattern.search(line)]


def compile_form(form: str) -> re2._Regexp:
    """Compile one expression that passed `one_line`, on bytes and with line anchors.

    Raises
    ------
    re2.error
        If RE2 refuses it; its argument is the reason, as bytes.
    """
    return re2.compile(b"(?m)" + form.encode(), _options())


def _compile_set(forms: list[str]) -> re2.Set:
    compiled = re2.Set.SearchSet(_options())
    if not forms:  # an empty set can't be compiled, and is never asked
        return compiled
    for form in forms:
        compiled.Add(b"(?m)" + form.encode())
    compiled.Compile()
    return compiled


def _raise_for_first_bad(patterns: Sequence[str], forms: list[str]) -> None:
    for pattern, form in zip(patterns, forms, strict=True):
        try:
            compile_form(form)
        except re2.error as error:
            raise _refusal(repr(pattern), error) from None


def refusal(error: Exception) -> str:
    """Return RE2's reason in words; it gives bytes."""
    reason = error.args[0] if error.args else "no reason given"
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _refusal(label: str, error: Exception) -> RuleError:
    return RuleError(
        f"pattern {label}",
        found=f"a refusal by RE2: {refusal(error)}",
        expected="a linear-time pattern of modest size",
    )


def _options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes, as in Hyperscan
    options.max_mem = _MEMORY_BYTES
    options.never_capture = True
    options.log_errors = False
    return options
