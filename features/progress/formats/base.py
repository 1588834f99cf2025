"""How a progress format is written down: a locator, a head and the fields read beside it.

A format is data. `Grammar.head` must be found in the message; its named groups, and those of the
`fields` searched after it, are names of `READERS`, which turn the text into fields of a
`ProgressPoint`. The first value read for a field stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from relume.features.progress.point import ProgressPoint

Parser = Callable[[str], ProgressPoint | None]

INTEGER: Final = r"\d{1,15}"
NUMBER: Final = r"[-+]?(?:\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][-+]?\d{1,3})?|[nN][aA][nN]|[iI]nf)"
"""A float as programs print it: thousands separators, exponents, NaN and infinity."""
CLOCK: Final = r"(?:\d{1,4} days?, {0,2})?\d{1,5}:\d{2}(?::\d{2})?"
"""A stretch of time as bars print it: mm:ss, h:mm:ss or d days, h:mm:ss."""


@dataclass(frozen=True, slots=True)
class ProgressFormat:
    """One way of showing progress.

    Attributes
    ----------
    id
        Stable name, kept in `ProgressPoint.format`.
    locate
        Linear-time patterns that find candidate lines in a block of text, led by a rare literal.
    parse
        Reads a message (known prefixes may be left on it); null when it is not this format.
    example
        A line that `parse` reads.
    """

    id: str
    locate: tuple[str, ...]
    parse: Parser
    example: str


@dataclass(frozen=True, slots=True)
class Grammar:
    """The expressions of a line format; see the module's words for the group names."""

    head: str
    fields: tuple[str, ...] = ()
    constants: dict[str, Any] = field(default_factory=dict)
    finish: Callable[[dict[str, Any]], None] | None = None
    """Derives fields from what was read; takes the scratch values (``_name``) out again."""


_MAX_COUNT: Final = 1e18
_MAX_DIGITS: Final = 18


def words(text: str) -> frozenset[str]:
    """Return the words of `text`: tables of many short ones read better in prose form."""
    return frozenset(text.split())


def to_int(text: str) -> int | None:
    """Read a count such as ``12``, ``1,024``, ``2K`` or ``31.5k``, null if it is none."""
    if text.isdecimal() and len(text) <= _MAX_DIGITS:
        return int(text)
    text = text.replace(",", "").replace("_", "")
    scale = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}.get(text[-1:].lower())
    number = to_float(text[:-1] if scale else text)
    if number is None or not abs(number) < _MAX_COUNT:  # not so for NaN
        return None
    return int(number * (scale or 1.0))


def to_float(text: str) -> float | None:
    """Read a number as programs print it, null if it is none."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def to_seconds(text: str) -> float | None:
    """Read a clock ``mm:ss``, ``h:mm:ss`` or ``d days, h:mm:ss`` as seconds.

    Examples
    --------
    >>> to_seconds("1 day, 2:00:30")
    93630.0
    >>> to_seconds("05:07")
    307.0
    """
    days, _, clock = text.rpartition(",")
    seconds = 0
    for part in clock.split(":"):
        number = to_int(part.strip())
        if number is None:
            return None
        seconds = seconds * 60 + number
    return float(seconds + 86400 * (to_int(days.split(" ", 1)[0]) or 0 if days else 0))


_WORDED: Final = re.compile(r"(\d+(?:\.\d+)?) ?(d|h|m|s)")
_WORD_SECONDS: Final = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}


def to_worded_seconds(text: str) -> float | None:
    """Read ``1h 2m 3s`` as seconds, null when there is nothing of the kind.

    Examples
    --------
    >>> to_worded_seconds("2m 30s")
    150.0
    """
    parts = _WORDED.findall(text)
    return sum(float(value) * _WORD_SECONDS[unit] for value, unit in parts) if parts else None


def _milliseconds(text: str) -> float | None:
    number = to_float(text)
    return None if number is None else number / 1000.0


def _nan_count(text: str) -> float | None:
    return float("nan") if to_int(text) else None


def time_with_wait(values: dict[str, Any]) -> None:
    """Put the step's time together where the line has its computation and its wait apart."""
    compute, wait = values.pop("_compute_seconds", None), values.get("data_seconds")
    if compute is not None and wait is not None:
        values.setdefault("step_time_seconds", compute + wait)


READERS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    "step": ("step", to_int),
    "total": ("total", to_int),
    "epoch": ("epoch", to_float),
    "step_time_seconds": ("step_time_seconds", to_float),
    "step_time_ms": ("step_time_seconds", _milliseconds),
    "clock_seconds": ("step_time_seconds", to_seconds),
    "interval_seconds": ("interval_seconds", to_float),
    "rate": ("rate", to_float),
    "rate_unit": ("rate_unit", str),
    "elapsed": ("elapsed_seconds", to_seconds),
    "elapsed_words": ("elapsed_seconds", to_worded_seconds),
    "elapsed_seconds": ("elapsed_seconds", to_float),
    "elapsed_ms": ("elapsed_seconds", _milliseconds),
    "data_seconds": ("data_seconds", to_float),
    "data_ms": ("data_seconds", _milliseconds),
    "loss": ("loss", to_float),
    "nan_count": ("loss", _nan_count),
    "grad_norm": ("grad_norm", to_float),
    "loss_scale": ("loss_scale", to_float),
    "skipped": ("skipped", to_int),
    "skipped_total": ("skipped_total", to_int),
    "batch_size": ("_batch_size", to_int),
    "left": ("_left", to_seconds),
    "compute_seconds": ("_compute_seconds", to_float),
    "tflops": ("_tflops", to_float),
}
"""Group name -> the field it fills (``_name``: scratch) and how its text is read."""


_Reader = tuple[int, str, Callable[[str], Any]]


def group_readers(pattern: re.Pattern[str]) -> tuple[_Reader, ...]:
    """Return group index, field and reader of every named group of `pattern`."""
    unknown = pattern.groupindex.keys() - READERS.keys()
    if unknown:
        raise KeyError(f"no reader for the groups {sorted(unknown)} of {pattern.pattern}")
    return tuple((index, *READERS[name]) for name, index in pattern.groupindex.items())


def read_groups(found: re.Match[str], readers: tuple[_Reader, ...], values: dict[str, Any]) -> None:
    """Put what the groups caught into `values`, keeping what is already there."""
    for index, target, read in readers:
        text = found[index]
        if text is not None and target not in values:
            value = read(text)
            if value is not None:
                values[target] = value


def line_parser(format_id: str, grammar: Grammar) -> Parser:
    """Return the parser of `grammar`; it never raises, whatever the message."""
    head = re.compile(grammar.head)
    head_readers = group_readers(head)
    fields = tuple(
        (pattern.search, group_readers(pattern)) for pattern in map(re.compile, grammar.fields)
    )
    constants = grammar.constants
    without_rate = {name: value for name, value in constants.items() if name != "rate_unit"}

    def parse(message: str) -> ProgressPoint | None:
        found = head.search(message)
        if found is None:
            return None
        values: dict[str, Any] = {}
        read_groups(found, head_readers, values)
        for search, readers in fields:
            hit = search(message)
            if hit is not None:
                read_groups(hit, readers, values)
        if grammar.finish is not None:
            grammar.finish(values)
        known = constants if "rate" in values else without_rate
        return ProgressPoint(format_id, **(known | values))

    return parse


def line_format(
    format_id: str, grammar: Grammar, *, locate: tuple[str, ...], example: str
) -> ProgressFormat:
    """Return the format that `grammar` describes."""
    return ProgressFormat(format_id, locate, line_parser(format_id, grammar), example)
