"""Which dump a file is, told by its first bytes whatever its name."""

from __future__ import annotations

import re
from typing import Final

import msgspec

FLIGHT: Final = "flight-recorder"
STACKS: Final = "stacks"
RAS: Final = "ras"
PICKLE: Final = "pickle"
"""A pickle that shows no sign of a flight recorder: of somebody's data, or made to be run."""

_FLIGHT_WORDS: Final = (
    b"pg_config",
    b"pg_status",
    b"collective_seq_id",
    b"profiling_name",
    b"nccl_version",
    b"comm_lib_version",
    b"time_created_ns",
)
"""Keys of PyTorch's flight recorder (torch/csrc/distributed/c10d/FlightRecorder.hpp)."""
_PY_SPY_WORDS: Final = (b'"frames"', b'"thread_name"', b'"owns_gil"')
_RAS_WORDS: Final = (b'"communicators"', b'"communicators_count"', b'"missing_ranks"')
_WORDS_NEEDED: Final = 2
_PICKLE: Final = re.compile(rb"\x80[\x02-\x05]|c[\w.]{1,80}\r?\n[\w.]{1,80}\r?\n")
_JSON: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s{0,100}(?:\[\s{0,100})?\{\s{0,100}[\"}]")
"""An object, or a list of them. A log may begin with brackets, too: ``[[rank0]``, colours."""
_RAS_TEXT: Final = re.compile(
    rb"^(?:Job summary|Communicators\.\.\.|Group +Comms +Nodes +Ranks|NCCL version .* compiled )",
    re.MULTILINE,
)
_RAS_OPENING: Final = 10
"""Lines in which the first heading stands."""
_PY_SPY: Final = re.compile(rb"^Process \d{1,10}: .*\r?\nPython v\d", re.MULTILINE)
_THREAD: Final = re.compile(rb"^(?:Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\)")
_STACK_LINE: Final = re.compile(
    rb"(?:Current thread|Thread) 0x[0-9a-f]+ |  File \"|  \.\.\.|Timeout \(|  <no Python |\s*$"
)
_LINES_TOLD_BY: Final = 400
_NEARLY_ALL: Final = 0.9
"""Share of lines: a log that ends with a stack, or begins with an error, stays a log."""


def dump_form(start: bytes) -> str | None:
    r"""Tell which dump begins with these bytes; null when it is none.

    Examples
    --------
    >>> dump_form(b'{"version": "2.9", "pg_config": {}, "entries": [{"collective_seq_id": 1}]}')
    'flight-recorder'
    >>> dump_form(
    ...     b"Process 7: python train.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 7 (idle)"
    ... )
    'stacks'
    >>> dump_form(b"step 1 loss 2.1\n")
    """
    is_json = _JSON.match(start) is not None and not _is_log(start)
    if _PICKLE.match(start):
        return FLIGHT if _has(_FLIGHT_WORDS, start) else PICKLE
    if is_json:
        if _has(_FLIGHT_WORDS, start):
            return FLIGHT
        if _has(_RAS_WORDS, start):
            return RAS
        return STACKS if _has(_PY_SPY_WORDS, start) else None
    if _PY_SPY.match(start) or _is_faulthandler(start):
        return STACKS
    return RAS if _is_ras_text(start) else None


def _has(words: tuple[bytes, ...], start: bytes) -> bool:
    return sum(word in start for word in words) >= _WORDS_NEEDED


def _is_ras_text(start: bytes) -> bool:
    """Whether it begins as what NCCL's RAS answers; a log may hold such answers further on."""
    opening = b"\n".join(start.split(b"\n", _RAS_OPENING)[:_RAS_OPENING])
    if _RAS_TEXT.search(opening) is None:
        return False
    return len(_RAS_TEXT.findall(start)) >= _WORDS_NEEDED


def _is_log(start: bytes) -> bool:
    """Whether each line is JSON of its own, as loggers and shippers write."""
    line, _, more = start.partition(b"\n")
    if not more.strip():
        return False
    try:
        msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return True


def _is_faulthandler(start: bytes) -> bool:
    """Whether nearly all lines are of stacks, as in a file that `faulthandler` alone writes."""
    lines = start.split(b"\n", _LINES_TOLD_BY)[:_LINES_TOLD_BY]
    threads = sum(_THREAD.match(line) is not None for line in lines)
    told = sum(_STACK_LINE.match(line) is not None for line in lines)
    return threads > 0 and told >= _NEARLY_ALL * len(lines)
