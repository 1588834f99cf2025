"""What the name of a log says about who wrote it: clear conventions only, no guesses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_RANK = re.compile(
    r"(?<![a-z])(?:(?P<of>[a-z]+)[_-]|(?P<joined>global|local))?rank[_-]?(?P<number>\d{1,7})"
    r"(?!\d|-\d)",
    re.IGNORECASE | re.ASCII,
)
_OTHER = frozenset({"cp", "dp", "ep", "group", "host", "machine", "mp", "node", "pp", "sp", "tp"})
"""Words before `rank` that make it something else than a global or a local rank."""
# torchrun --log-dir: RUN/attempt_0/LOCAL_RANK/stderr.log
_TORCHRUN = re.compile(r"(?:^|/)attempt_\d+/(?P<local_rank>\d{1,4})/std(?:out|err)\.log$", re.ASCII)
_KERNEL_WORDS = r"(?:dmesg|kern(?:el)?|kmsg|syslog|messages|journal(?:ctl)?|xid)"
_KERNEL_FIRST = re.compile(rf"{_KERNEL_WORDS}[._-](?P<node>.+)", re.IGNORECASE)
_KERNEL_LAST = re.compile(rf"(?P<node>.+)[._-]{_KERNEL_WORDS}", re.IGNORECASE)
_KERNEL_ONLY = re.compile(_KERNEL_WORDS, re.IGNORECASE)
_SUFFIXES = re.compile(r"(?:\.(?:log|txt|out|err|json|jsonl|ndjson|gz|zst|\d))+$")
_HOST = re.compile(r"(?=.*\d)[a-z][a-z0-9-]*(?:\.[a-z][\w-]*)*", re.IGNORECASE)
_NO_HOST = re.compile(
    r"(?:attempt|data|date|day|exp|job|logs?|part|rank|restart|run|slurm|task|test|trial|try|v"
    r"|version)[_-]?\d+",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Writer:
    """Who wrote a log, by its name; null where it doesn't say."""

    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None


def writer_of(file: str) -> Writer:
    """Read the path of a log.

    Examples
    --------
    >>> writer_of("logs/stderr_rank12.txt")
    Writer(node=None, rank=12, local_rank=None)
    >>> writer_of("local_rank3.log")
    Writer(node=None, rank=None, local_rank=3)
    >>> writer_of("dmesg-gpu-a01.log.gz").node, writer_of("gpu-a01/dmesg.txt").node
    ('gpu-a01', 'gpu-a01')
    >>> writer_of("franke3.log")
    Writer(node=None, rank=None, local_rank=None)
    """
    if found := _TORCHRUN.search(file):
        return Writer(local_rank=int(found["local_rank"]))
    path = Path(file)
    rank, local_rank = _ranks(path.name)
    return Writer(_kernel_node(path), rank, local_rank)


def _ranks(name: str) -> tuple[int | None, int | None]:
    rank = local_rank = None
    for found in _RANK.finditer(name):
        of, number = (found["of"] or found["joined"] or "").lower(), int(found["number"])
        if of == "local":
            local_rank = number
        elif of not in _OTHER and rank is None:
            rank = number
    return rank, local_rank


def _kernel_node(path: Path) -> str | None:
    """Node of a kernel log: any other log of a node may hold lines of many."""
    stem = _SUFFIXES.sub("", path.name)
    if _KERNEL_ONLY.fullmatch(stem):
        candidate = path.parent.name
    elif found := _KERNEL_FIRST.fullmatch(stem) or _KERNEL_LAST.fullmatch(stem):
        candidate = found["node"]
    else:
        return None
    is_host = _HOST.fullmatch(candidate) and not _NO_HOST.fullmatch(candidate)
    return candidate if is_host else None
