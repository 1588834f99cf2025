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

_ISO = r"\d{4}[-/]\d\d[-/]\d\d[T _]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)"
_HOST = r"[A-Za-z0-9][\w.-]{0,252}"
_SOURCE = r"[\w./<>-]{1,160}:\d{1,6}"


@dataclass(frozen=True, slots=True)
class Prefix:
    """What the prefixes of a line say; null where they say nothing.

    `length` is where the message begins. `rank` is the global rank, `group_rank` one inside a process
    group. `clock` is the text of a wall clock, `uptime_seconds` the kernel's clock since boot.
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


_BRACKETED = tuple(
    map(
        re.compile,
        (
            r"\[rank ?:? ?(?P<rank>\d{1,7})\]:? ?",
            r"\[default(?P<local_rank>\d{1,5})\]: ?",
            # c10d, with and without its date, and glog inside brackets
            r"\[[EWIFDCV](?P<clock>\d{3,4} \d\d:\d\d:\d\d\.\d{1,9}) (?:\d{1,10} )?[\w./-]{1,120}:\d{1,6}\] ?",
            r"\[[EWIFDCV] [\w./-]{1,120}:\d{1,6}\] ?",
            r"\[PG [^\]\n]{0,120}Rank (?P<group_rank>\d{1,7})\] ?",
            r"\[(?:Rank|RANK)[ :=](?P<group_rank>\d{1,7})\]:? ?",
            r"\[rank=(?P<rank>\d{1,7})\] ?",
            rf"\[(?P<clock>{_ISO})\] ?:? ?",
            r"\[ {0,6}(?P<uptime_seconds>\d{1,9}\.\d{3,6})\] ?",
            r"\[(?P<clock>\w{3} \w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4})\] ?",
            r"\[\d{1,6},(?P<rank>\d{1,7})\]<std(?:out|err|diag)>: ?",
            r"\[(?P<clock>1\d{9}\.\d{1,9})\] {1,4}",  # UCX
            rf"\[(?P<node>{_HOST}):\d{{1,8}}(?::\d{{1,8}}){{0,3}}(?: ?:\d{{1,8}}(?::\d{{1,8}})?)?\] {{1,8}}",
            rf"\[{_LEVEL}\]:? ?",
            rf"\[{_LEVEL} {{1,4}}{_SOURCE}\] ?",
            r"\[[\w.]{1,60}\.py:\d{1,6}(?::\w{1,60})?\] ?",
            r"\[(?:PID:\d{1,8}|titan)\] ?",
            r"\[\d{1,10}/[\w-]{1,60}/\d{1,10} \(pid \d{1,8}\)\] ?",  # Metaflow
            rf"\[(?P<clock>{_ISO}) {_LEVEL}\] ?",
            rf"\[NeMo \w (?P<clock>{_ISO}) [\w.]{{1,60}}:\d{{1,6}}\] ?",
            rf"\[{_LEVEL}\|[\w.]{{1,80}}:\d{{1,6}}\] (?P<clock>{_ISO}) >> ?",
        ),
    )
)
_NUMERIC = tuple(
    map(
        re.compile,
        (
            r"(?P<task>\d{1,6}):(?: |(?=[^\d\s])|$)",  # srun --label; not the hour of a clock
            # OLMo: clock, host:rank, module:line, level
            rf"(?P<clock>{_ISO}) (?P<node>{_HOST}):(?P<rank>\d{{1,7}}) {{1,4}}[\w.]{{1,80}}:\d{{1,6}}"
            rf" {{1,4}}{_LEVEL} {{1,8}}",
            # syslog with an ISO clock
            rf"(?P<clock>{_ISO}) (?P<node>{_HOST}) (?:kernel|[\w./-]{{1,40}}(?:\[\d{{1,8}}\])?): ",
            # loguru; Python logging in its usual orders
            rf"(?P<clock>{_ISO}) {{1,3}}\| {_LEVEL} {{0,8}}\| [\w.<>]{{1,80}}:[\w<>]{{1,60}}:\d{{1,6}} - ?",
            rf"(?P<clock>{_ISO}) - [\w.]{{1,80}} - {_LEVEL} - ?",
            rf"(?P<clock>{_ISO}) {_LEVEL}\b[: ]{{1,3}}",
            rf"(?P<clock>{_ISO}):? {{0,3}}",
            r"(?P<clock>\d\d/\d\d/(?:\d{4}|\d\d) \d\d:\d\d:\d\d)(?: - [A-Z]{4,8} - )? {0,3}",
            r"\d\d:\d\d:\d\d(?:[.,]\d{1,6})? {1,4}",  # a time of day alone is no clock
        ),
    )
)
_WORDED = tuple(
    map(
        re.compile,
        (
            # NCCL: the message keeps its "NCCL WARN", which rules read
            rf"(?P<node>{_HOST}):\d{{1,8}}(?::\d{{1,8}})? \[(?P<gpu>\d{{1,3}})\] "
            r"(?:[\w./-]{1,80}[: ]\d{1,6} )?(?=NCCL |[\w./-]{1,80}[: ]\d{1,6} NCCL )",
            r"[EWIFDCV](?P<clock>\d{4} \d\d:\d\d:\d\d\.\d{1,9}) {1,3}\d{1,10} (?:[\w./<>-]{1,160}:\d{1,6}\] ?)?",
            r"(?P<clock>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}\d{1,2} \d\d:\d\d:\d\d)"
            rf" (?P<node>{_HOST}) (?:[\w./-]{{1,40}}(?:\[\d{{1,8}}\])?: ?)?",
            r"(?P<clock>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4}) ?",
            rf"{_LEVEL}:[\w.]{{1,120}}: ?",
            r"kernel: ",
        ),
    )
)
_PARENTHESISED = (
    re.compile(r"\([\w. :/-]{1,80}?,? ?pid=\d{1,8}(?:, ?ip=(?P<node>[\d.]{7,15}))?\) ?"),
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
