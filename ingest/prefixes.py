"""What stands before the message: who printed the line, and when.

Prefixes stack in any order (``3: [rank3]:[E302 10:20:30.1 ProcessGroupNCCL.cpp:632] [Rank 3] …``).
The grammars are those of the signature reference; every expression is anchored and bounded, so a
hostile line costs no more than an honest one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

MAX_PREFIXES = 10
"""No software stacks more; a line that goes on looking like prefixes is content."""
MAX_PREFIX_CHARACTERS = 600

_WORDS = {
    "ISO": r"(?P<clock>\d{4}[-/]\d\d[-/]\d\d[T _][\d:]{8}(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)",
    "GLOG": r"[EWIFDCV](?P<clock>\d{3,4} \d\d:\d\d:\d\d\.\d{1,9})",
    "CTIME": r"(?P<clock>\w{3} \w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4})",
    "MONTH": r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)",
    "LEVEL": r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL)",
    "NODE": r"(?P<node>[A-Za-z0-9][\w.-]{0,252})",
    "PROGRAM": r"[\w./-]{1,40}(?:\[\d{1,8}\])?",
    "FILE": r"[\w./<>-]{1,160}[: ]\d{1,6}",
    "NAME": r"[\w.<>]{1,120}",
    "PID": r"\d{1,10}",
    "RANK": r"\d{1,7}",
}
"""Words of the grammars below: each stands for its expression."""


def _grammars(*templates: str) -> tuple[re.Pattern[str], ...]:
    """Compile templates in which the words of `_WORDS` stand in braces."""
    token = re.compile(r"\{([A-Z]+)\}")
    return tuple(re.compile(token.sub(lambda m: _WORDS[m[1]], t)) for t in templates)


@dataclass(frozen=True, slots=True)
class Prefix:
    """What the prefixes of a line say; null where they say nothing.

    `length` is where the message begins. `rank` is the global rank, `group_rank` one inside a
    process group. `clock` is the text of a wall clock, `uptime_seconds` the kernel's own clock.
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


_BRACKETED = _grammars(
    r"\[rank ?:? ?(?P<rank>{RANK})\]:? ?",
    r"\[default(?P<local_rank>{RANK})\]: ?",
    r"\[{GLOG} (?:{PID} )?{FILE}\] ?",  # c10d with its date, and without
    r"\[[EWIFDCV] {FILE}\] ?",
    r"\[PG [^\]\n]{0,120}Rank (?P<group_rank>{RANK})\] ?",
    r"\[(?:Rank|RANK)[ :=](?P<group_rank>{RANK})\]:? ?",
    r"\[rank=(?P<rank>{RANK})\] ?",
    r"\[{ISO}\] ?:? ?",
    r"\[ {0,6}(?P<uptime_seconds>\d{1,9}\.\d{3,6})\] ?",  # dmesg
    r"\[{CTIME}\] ?",
    r"\[\d{1,6},(?P<rank>{RANK})\]<std(?:out|err|diag)>: ?",  # mpirun
    r"\[(?P<clock>1\d{9}\.\d{1,9})\] {1,4}",  # UCX
    r"\[{NODE}:{PID}(?::{PID}){0,3}(?: ?:{PID}(?::{PID})?)?\] {1,8}",
    r"\[{LEVEL}\]:? ?",
    r"\[{LEVEL} {1,4}{FILE}\] ?",
    r"\[[\w.]{1,60}\.py:\d{1,6}(?::\w{1,60})?\] ?",
    r"\[(?:PID:{PID}|titan)\] ?",
    r"\[{PID}/[\w-]{1,60}/{PID} \(pid {PID}\)\] ?",  # Metaflow
    r"\[{ISO} {LEVEL}\] ?",
    r"\[NeMo \w {ISO} {NAME}:\d{1,6}\] ?",
    r"\[{LEVEL}\|{NAME}:\d{1,6}\] {ISO} >> ?",  # transformers
)
_NUMERIC = _grammars(
    r"(?P<task>\d{1,6}):(?: |(?=[^\d\s])|$)",  # srun --label; not the hour of a clock
    r"{ISO} {NODE}:(?P<rank>{RANK}) {1,4}{NAME}:\d{1,6} {1,4}{LEVEL} {1,8}",  # OLMo
    r"{ISO} {NODE} {PROGRAM}: ",  # syslog with an ISO clock
    r"{ISO} {1,3}\| {LEVEL} {0,8}\| {NAME}:{NAME}:\d{1,6} - ?",  # loguru
    r"{ISO} - {NAME} - {LEVEL} - ?",
    r"{ISO} {LEVEL}\b[: ]{1,3}",
    r"{ISO}:? {0,3}",
    r"(?P<clock>\d\d/\d\d/(?:\d{4}|\d\d) \d\d:\d\d:\d\d)(?: - [A-Z]{4,8} - )? {0,3}",
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,6})? {1,4}",  # a time of day alone is no clock
)
_WORDED = _grammars(
    # NCCL: the message keeps its "NCCL WARN", which rules read
    r"{NODE}:{PID}(?::{PID})? \[(?P<gpu>\d{1,3})\] (?:{FILE} )?(?=NCCL |{FILE} NCCL )",
    r"{GLOG} {1,3}{PID} (?:{FILE}\] ?)?",
    r"(?P<clock>{MONTH} {1,2}\d{1,2} \d\d:\d\d:\d\d) {NODE} (?:{PROGRAM}: ?)?",
    r"{CTIME} ?",
    r"{LEVEL}:{NAME}: ?",  # Python logging
    r"kernel: ",
)
_PARENTHESISED = _grammars(
    r"\([\w. :/-]{1,80}?,? ?pid={PID}(?:, ?ip=(?P<node>[\d.]{7,15}))?\) ?",  # Ray
)
_NUMBERS = frozenset({"rank", "group_rank", "local_rank", "task"})
_START = (
    dict.fromkeys("[", _BRACKETED) | dict.fromkeys("0123456789", _NUMERIC) | {"(": _PARENTHESISED}
)
_HOSTLIKE = _WORDED[0]


def parse_prefix(text: str) -> Prefix:
    """Read the prefixes of one line. Never raises; cost is linear in the prefix.

    Examples
    --------
    >>> found = parse_prefix("3: gpu-a01:41:52 [2] misc/socket.cc:49 NCCL WARN Connection closed")
    >>> found.task, found.node, found.gpu
    (3, 'gpu-a01', '2')
    """
    position, limit = 0, min(len(text), MAX_PREFIX_CHARACTERS)
    values: dict[str, Any] = {}
    for _ in range(MAX_PREFIXES):
        start = position
        while start < limit and text[start] == " ":
            start += 1
        if start >= limit:
            break
        found = _match(text, start)
        if found is None or found.end() == start:
            break
        for name, value in found.groupdict().items():
            if value is not None and name not in values:
                values[name] = int(value) if name in _NUMBERS else value
        position = found.end()
    if not position:
        return _NOTHING
    return _prefix(position, values)


_NOTHING = Prefix()


def _match(text: str, start: int) -> re.Match[str] | None:
    for pattern in _START.get(text[start], _WORDED):
        if found := pattern.match(text, start):
            return found
    if text[start].isdigit():
        return _HOSTLIKE.match(text, start)  # a host may begin with a digit
    return None


def _prefix(length: int, values: dict[str, Any]) -> Prefix:
    if "uptime_seconds" in values:
        values["uptime_seconds"] = float(values["uptime_seconds"])
    return Prefix(length, **values)
