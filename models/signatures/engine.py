"""The seam between rules and regular-expression engines: find the lines worth a look.

An engine is a locator. It says which lines of a block hold which patterns; what a line means is
decided afterwards, in Python, for those lines only. Both engines give equal results on any bytes
(`tests/conformance/test_engines.py`), because patterns pass `one_line` first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from relume.errors import RuleError
from relume.models.signatures.patterns import PatternError, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence


class Candidate(NamedTuple):
    r"""One line in which patterns were found: ``data[start:end]``, its newline left out.

    Lines end at ``\n`` only. A line that a progress bar redrew holds several logical lines between
    carriage returns: scan it again with these replaced by newlines to tell them apart.
    """

    start: int
    end: int
    patterns: tuple[int, ...]
    """Positions in the sequence given to `build_engine`, counted from its `first`; ascending."""


def compiled_form(patterns: Sequence[str]) -> list[str]:
    """Return what an engine compiles for each of `patterns`.

    Raises
    ------
    RuleError
        If a pattern is outside the dialect; the message quotes it.
    """
    forms: list[str] = []
    for pattern in patterns:
        try:
            forms.append(one_line(pattern))
        except PatternError as error:
            what = f"pattern {pattern!r}"
            raise RuleError(what, found=error.found, expected=error.expected) from None
    return forms


class Engine(Protocol):
    """Finds candidate lines. Not thread-safe: its scratch memory is reused (see `twin`)."""

    name: str
    """``hyperscan`` or ``re2``: which one was built, for reports."""

    def scan(self, data: bytes) -> list[Candidate]:
        """Return the lines of `data` in which a pattern is found, in order, each line once.

        `data` is any bytes: invalid UTF-8, NULs, no final newline. Hand over whole lines, since a
        pattern is not found across two calls; blocks of about 1 MiB are best.
        """
        ...

    def twin(self) -> Engine:
        """Return an engine for another thread: the same compiled patterns, scratch of its own."""
        ...


class DatabaseStore(Protocol):
    """Keeps compiled patterns from one start to the next.

    What it returns is handed to a C library that trusts it: a store vouches that nobody else could
    have written it.
    """

    def load(self, key: str) -> bytes | None:
        """Return what was saved under `key` on this kind of machine, null without it."""
        ...

    def save(self, key: str, data: bytes) -> None:
        """Keep `data`, or don't: never raises."""
        ...


def build_engine(
    patterns: Sequence[str],
    *,
    prefer: str = "hyperscan",
    store: DatabaseStore | None = None,
    first: int = 0,
) -> Engine:
    r"""Compile `patterns` (the dialect of `relume.models.signatures.patterns`) into an engine.

    Parameters
    ----------
    patterns
        As written in rules; compiling takes about 1 ms a pattern with Hyperscan, 0.2 ms with RE2.
    prefer
        ``hyperscan`` (falls back to RE2 where its module can't be imported: `Engine.name` tells
        which it became) or ``re2``.
    store
        Where Hyperscan's database is looked for first, and kept; nowhere when null. It is named by
        the patterns, the library and the machine, so that another one is never taken for it.
    first
        Number of the first pattern: so candidates of two engines can be put together.

    Raises
    ------
    RuleError
        If the engine refuses a pattern; the message quotes it.

    Examples
    --------
    >>> engine = build_engine([r"Xid", r"fallen off the bus"])
    >>> engine.scan(b"all well\nNVRM: Xid 79, GPU has fallen off the bus\n")
    [Candidate(start=9, end=49, patterns=(0, 1))]
    """
    if prefer == "hyperscan":
        try:
            from relume.models.signatures.hyperscan_engine import (  # noqa: PLC0415 - may be absent
                HyperscanEngine,
            )
        except ImportError:  # no wheel for this platform
            prefer = "re2"
        else:
            return HyperscanEngine(patterns, store, first=first)
    if prefer != "re2":
        raise ValueError(f"no engine {prefer!r}: hyperscan or re2")
    from relume.models.signatures.re2_engine import Re2Engine  # noqa: PLC0415 - if asked for

    return Re2Engine(patterns, first=first)
