"""Reads the prefixes of a line: who printed it, where and when. The grammars are data."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from relume.ingest import grammar
from relume.ingest.grammar import Table, table
from relume.ingest.wrapped import unwrap

MAX_PREFIXES = 10
"""No software stacks more; a line that goes on looking like prefixes is content."""
MAX_PREFIX_CHARACTERS = 600
"""No prefix ends later, so that a line of any length costs the same."""


REMEMBERED = 64
"""Lines whose prefixes are remembered: the same line is mostly read a few times, in a row."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """What the prefixes of a line say; null where they say nothing.

    `length` is where the message begins; indentation after the prefixes belongs to the message, as
    in a traceback. `rank` is the global rank, `group_rank` one inside a process group, `task` the
    number of `srun --label`. `clock` is the text of a wall clock, `uptime_seconds` the kernel's own
    clock. `gpu` is the local device index as printed.
    """

    length: int = 0
    node: str | None = None
    rank: int | None = None
    group_rank: int | None = None
    local_rank: int | None = None
    task: int | None = None
    gpu: str | None = None
    clock: str | None = None
    uptime_seconds: float | None = None


_NOTHING = Prefix()
_NUMBERS = frozenset({"rank", "group_rank", "local_rank", "task"})


def _dispatch(*rows: tuple[str, tuple[str, ...]]) -> dict[str, Table]:
    tables = [(characters, table(*templates)) for characters, templates in rows]
    return {character: made for characters, made in tables for character in characters}


_LATER = _dispatch(
    ("[", grammar.BRACKETED),
    ("(", grammar.PARENTHESISED),
    ("<", grammar.ANGLED),
    (string.digits, (*grammar.NUMERIC, *grammar.NCCL)),  # a host may begin with a digit
    (string.ascii_letters, grammar.WORDED),
)
"""What a prefix may begin with, by its first character."""
_FIRST = _LATER | _dispatch(
    (string.digits, (*grammar.LABEL, *grammar.NUMERIC, *grammar.NCCL)),
    ("[", (*grammar.BRACKETED, *grammar.BRACKETED_LABEL)),
)
"""A launcher's label comes first only: after it, `5: ` is content."""
_AFTER_CLOCK = _LATER | _dispatch(
    ("[", (*grammar.BRACKETED, *grammar.BRACKETED_AFTER_CLOCK)),
    ("(", (*grammar.PARENTHESISED, *grammar.PARENTHESISED_AFTER_CLOCK)),
    ("-", grammar.DASHED_AFTER_CLOCK),
    ("|", grammar.BARRED_AFTER_CLOCK),
    (">", grammar.ANGLED_AFTER_CLOCK),
    (string.ascii_letters, (*grammar.WORDED, *grammar.WORDED_AFTER_CLOCK)),
)
_AFTER_STAMP = _AFTER_CLOCK | {digit: _FIRST[digit] for digit in string.digits}
"""A log collector's stamp comes even before a launcher's label."""


_DATED = rb"(?:19[7-9]|2\d\d)\d[-/]\d\d[-/]\d\d[T _-]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_LEADING = re.compile(rb"\[(" + _DATED + rb")\]|(" + _DATED + rb")(?= [^UG])")
"""What most loggers begin with; nothing that follows can be a part of such a clock."""


def leading_clock(raw: bytes) -> str | None:
    """Return the clock of a line that begins with a whole one: what `parse_prefix` finds in it.

    A twentieth of its cost. Null where the line must be read by that, most often for no clock.

    >>> leading_clock(b"[2026-01-02 03:04:05,678] step 7")
    '2026-01-02 03:04:05,678'
    """
    found = _LEADING.match(raw)
    return None if found is None else found[found.lastindex or 0].decode()


@lru_cache(maxsize=REMEMBERED)
def parse_prefix(text: str) -> Prefix:
    """Read the prefixes of one line. Never raises; the cost is bounded, however long the line is.

    Where two prefixes say the same, the first counts: launchers print outside of loggers.

    Examples
    --------
    >>> found = parse_prefix("3: gpu-a01:41:52 [2] misc/socket.cc:49 NCCL WARN Connection closed")
    >>> found.task, found.node, found.gpu
    (3, 'gpu-a01', '2')
    """
    position, tables, limit = 0, _FIRST, MAX_PREFIX_CHARACTERS
    values: dict[str, Any] = {}
    for _ in range(MAX_PREFIXES):
        start = position
        while text[start : start + 1] == " " and start < limit:
            start += 1
        entry = tables.get(text[start : start + 1])
        found = entry and entry.pattern.match(text, start, limit)
        if not found or entry is None or found.end() == start:
            wrapped = unwrap(text, start)
            if wrapped is None:
                break
            values = wrapped.fields | values
            position, tables = wrapped.start, _FIRST
            limit = position + MAX_PREFIX_CHARACTERS
            continue
        for name, group in entry.fields[found.lastgroup or ""]:
            if name not in values and (value := found[group]) is not None:
                values[name] = value
        position = found.end()
        tables = _tables_after(values)
    return _prefix(position, values) if position else _NOTHING


def _tables_after(values: dict[str, Any]) -> dict[str, Table]:
    clock = values.get("clock", "")
    head = clock[:5]
    if "-" not in head and "/" not in head and "." not in head:
        return _LATER  # no clock, or one of a kernel, syslog or glog
    is_stamp = clock[10:11] == "T" and len(values) == 1
    return _AFTER_STAMP if is_stamp else _AFTER_CLOCK


def _prefix(length: int, values: dict[str, Any]) -> Prefix:
    for name in _NUMBERS & values.keys():
        values[name] = int(values[name])
    if "kmsg" in values:
        values["uptime_seconds"] = int(values.pop("kmsg").rpartition(",")[2]) / 1e6
    elif "uptime_seconds" in values:
        values["uptime_seconds"] = float(values["uptime_seconds"])
    return Prefix(length, **values)
