"""Locates patterns with RE2: the fall-back where Hyperscan has no wheel, with equal results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import re2

from relume.errors import RuleError
from relume.models.signatures.engine import Candidate
from relume.models.signatures.patterns import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

_MEMORY_BYTES = 64 << 20
"""RE2's cache of states. With its default of 8 MiB, hundreds of patterns take a slow path."""


class Re2Engine:
    """One alternation finds a candidate line, then a set names its patterns.

    RE2 holds the GIL while it matches: use processes, not threads, for more than one core.
    """

    name = "re2"

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [b"(?m)" + one_line(pattern).encode() for pattern in patterns]
        self._options = _options()
        self._each = [self._compile(pattern) for pattern in self._patterns]
        alternatives = b"|".join(b"(?:%b)" % pattern for pattern in self._patterns)
        self._any = self._compile(alternatives)
        self._set = re2.Set.SearchSet(self._options)
        for pattern in self._patterns:
            self._set.Add(pattern)
        if patterns:
            self._set.Compile()

    def scan(self, data: bytes) -> list[Candidate]:
        """See `relume.models.signatures.engine.Engine.scan`."""
        candidates: list[Candidate] = []
        position = 0
        search, size = self._any.search, len(data)
        while self._patterns and position < size and (found := search(data, position)):
            start = data.rfind(b"\n", 0, found.end()) + 1
            end = data.find(b"\n", found.end())
            if end < 0:
                end = size
            candidates.append(Candidate(start, end, self._found_in(data[start:end])))
            position = end + 1
        return candidates

    def _found_in(self, line: bytes) -> tuple[int, ...]:
        if found := self._set.Match(line):
            return tuple(sorted(found))
        # The set gives nothing when its state cache is full; asking one by one always answers.
        return tuple(n for n, pattern in enumerate(self._each) if pattern.search(line))

    def _compile(self, pattern: bytes) -> re2._Regexp:
        try:
            return re2.compile(pattern, self._options)
        except re2.error as error:
            raise RuleError(
                f"pattern {pattern.decode()!r}",
                found=f"a refusal by RE2: {error}",
                expected="a linear-time pattern",
            ) from None


def _options() -> re2.Options:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes, as in Hyperscan
    options.max_mem = _MEMORY_BYTES
    options.never_capture = True
    options.log_errors = False
    return options
