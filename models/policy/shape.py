r"""The shape of a log line: what is left when everything is masked that differs from run to run.

Masked are hosts, addresses, ranks, paths, users, times and numbers: one mask for all, since a node
is printed by its name or its address, and a hash may happen to have no letter. Kept are the words,
and what identifies code or a cause: exception classes, functions, base names of source files, data
types, exit codes, errno and signals.

What can't be told apart by its form is decided so that a run that fails the same way again is
recognised: an unquoted word such as ``node012`` counts as a host, a quoted one such as ``'conv2'``
as a name in a program, of which the trailing number alone is masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

MASK = "<*>"

_HEX = "[0-9A-Fa-f]"
_PORTS = r"(?:(?::\d+|<\d+>)+(?![:\w]|\.\d))?"
_IP = r"\d{1,3}(?:\.\d{1,3}){3}"
_GROUPS = rf"{_HEX}{{1,4}}(?::{_HEX}{{1,4}})*"
_IN_PATH = r"[^\s'\"`()\[\]{}<>,;:|=]"
_SOURCE = (
    r"\.(?:py[xcd]?|ipynb|cc|cpp|cxx|cu|cuh|c|h|hpp|hh|rs|go|java|jl|lua|sh|so)(?![A-Za-z0-9_])"
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DAY = r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? +"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?"
_UNIT = (
    r"(?:\s?(?:[KMGTP]i?B|[kKMGT]?[Bb]ytes?|B|[mun]?s|secs?|seconds?|milliseconds?|mins?|minutes?"
    r"|h|hours?)\b)?"
)

# The first alternative that fits at a place wins.
_PIECES: Mapping[str, str] = {
    "colour": r"\x1b\[[0-9;?]*[A-Za-z]",
    # Numbers that name a cause, and words that end in a number and mean something else without it.
    "kept": r"(?i:\b(?:exit[ _-]?(?:code|status)|errno|signal|retcode|error code|vendor err"
    r"|status(?: code)?)\b[\s:=(]*-?\d{1,5}\b(?![.:]\w))"
    r"|\b(?:bf16|tf32|(?:float|u?int|complex|fp)(?:[12468]|16|32|64|128)|bfloat16|e\dm\d\w*|c10d?"
    r"|utf-?(?:8|16|32)|sha(?:1|256|512)|mat[12])\b",
    "time": rf"\d{{4}}-\d\d-\d\d[T ]?{_CLOCK}(?:Z|[ ]?[+-]\d\d:?\d\d)?"
    rf"|(?:{_DAY})?\b{_MONTH} +\d{{1,2}}\b,?(?: \d{{4}}\b)?(?:,? +{_CLOCK})?(?: +\d{{4}}\b)?",
    "address": r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>]+"
    rf"|\b[\w.-]+@[\w-]+(?:\.[\w-]+)*{_PORTS}"
    rf"|\b(?:GPU-|MIG-)?{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}\b"
    rf"|(?<![\w:])\[?(?:(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}"
    rf"|(?:{_GROUPS})?::(?:(?:{_HEX}{{1,4}}:)*{_IP}|{_GROUPS})?)"
    rf"(?:%\w+)?(?:/\d+)?(?![\w:])\]?{_PORTS}"
    rf"|(?<![\w.]){_IP}{_PORTS}(?:/\d+)?(?!\.?\w)"
    r"|\b0[xX][0-9A-Fa-f_]+"
    # Devices on a bus, MAC addresses, GIDs.
    rf"|\b(?:{_HEX}{{4,8}}:{_HEX}{{2}}:{_HEX}{{2}}(?:\.[0-7])?|{_HEX}{{2}}:{_HEX}{{2}}\.[0-7]"
    rf"|(?:{_HEX}{{2}}[:-]){{5,7}}{_HEX}{{2}}|(?:{_HEX}{{4}}:){{3,7}}{_HEX}{{4}})\b",
    "path": r"(?<=')(?:~\w*|\.{1,2})?/[^']*(?=')|(?<=\")(?:~\w*|\.{1,2})?/[^\"]*(?=\")"
    rf"|(?<![\w/.~<])(?:(?:~\w*|\.{{1,2}})?(?:/{_IN_PATH}+)+/?|~\w+)(?::\d+)*"
    rf"|(?<![\w/.])(?:[\w.+-]+/)*[\w+-][\w.+-]*?{_SOURCE}(?:\.\d+)*(?![\w/-]|\.[a-z])(?::\d+)*",
    "rank": r"(?i:\b(?:(?:local|global|node|group|world)[ _])?rank[ _:=#]{0,3}\d+\b)",
    "user": r"(?i:\b(?:user(?:name)?|login|account|uid|owner)[:=] ?['\"]?[\w.-]+['\"]?"
    r"|\b(?:for|by|of) user [\w.-]+|\buser (?:'[^']*'|\"[^\"]*\"))",
    "relative": r"(?<![\w/.])[A-Za-z_.][\w.+%-]*(?:/[\w.+%=-]+)+/?",
    "hosts": r"(?<![\w.])[A-Za-z][A-Za-z0-9-]*\[\d[\d,-]*\]",
    "name": rf"(?<![\w.])[A-Za-z_]\w*(?:-\w+)*(?:\.[A-Za-z0-9-]+\b)*{_PORTS}",
    "number": rf"(?<!\w)[-+]?\d+(?:[.,x:/-]\d+)*(?:[eE][-+]?\d+)?\w*{_UNIT}",
}
_VOLATILE = re.compile("|".join(f"(?P<{name}>{piece})" for name, piece in _PIECES.items()))
_SOURCE_NAME = re.compile(rf"[\w.+-]*?{_SOURCE}")
_PLACE = re.compile(rf"(?=[^.:]*\d)[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*{_PORTS}")
"""Lower-case labels, the first one with a digit: ``gpu-a17``, ``n3.lab.example:29500``."""
_HYPHENED = re.compile(r"(?=[^.:]*\d)[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)+(?:_\d+)*")
_HASH = re.compile(rf"(?=\w*\d|{_HEX}{{7}}){_HEX}{{6,}}")
_EDGE_DIGITS = re.compile(r"^\d+(?=[A-Za-z]|$)|\d+$")
_ADDRESS_TAIL = re.compile(r"(?<![\w.])<\*>(?:(?:\.[a-z][a-z0-9-]*)+(?![\w(])|<<\*>>)+")
_LIST = re.compile(r"<\*>(?:(?:[\s,;:=./|&+\[\](){}'\"-]|\band\b)*<\*>)+")
_BRACKETS = re.compile(r"\[<\*>\]|\(<\*>\)")
_HEAD = re.compile(r"^(?:[\s\[({]*<\*>[\s\])}:,|-]*)+")
_SPACE = re.compile(r"\s+")


def shape(text: str, hosts: Iterable[str] = ()) -> str:
    """Return the shape of a line; `hosts` are words that are known to be nodes.

    What a launcher or a logger puts before the message, if it is volatile, is left out; a list of
    masks is one.

    Examples
    --------
    >>> shape("[rank3]: OSError: [Errno 28] No space left: '/ckpt/run7/step_100' on gpu-a17")
    "OSError: [Errno 28] No space left: '<*>' on <*>"
    >>> shape('File "/opt/env/site-packages/torch/nn/f.py", line 116, in relu')
    'File "f.py", line <*>, in relu'
    """
    if known := sorted(set(hosts), key=lambda name: (-len(name), name)):
        names = "|".join(map(re.escape, known))
        text = re.sub(rf"(?<![\w-])(?:{names})(?![\w-])", MASK, text)
    masked, merged = "", _ADDRESS_TAIL.sub(MASK, _VOLATILE.sub(_mask, text))
    while merged != masked:  # lists may be in brackets, and what is in brackets may be in a list
        masked, merged = merged, _LIST.sub(MASK, _BRACKETS.sub(MASK, merged))
    return _HEAD.sub("", _SPACE.sub(" ", masked)).strip()


def _mask(match: re.Match[str]) -> str:
    return _KEEPERS.get(match.lastgroup or "", _nothing)(match)


def _nothing(_: re.Match[str]) -> str:
    return MASK


def _path(match: re.Match[str]) -> str:
    """Keep the base name of a source file; other paths are somebody's data."""
    found = _SOURCE_NAME.match(match.group().rstrip("/").rpartition("/")[2])
    return found.group() if found is not None else MASK


def _relative(match: re.Match[str]) -> str:
    """Words such as ``input/output`` are no path: those have a digit, a dot or three parts."""
    text = match.group()
    is_path = any(c.isdigit() or c == "." for c in text) or text.count("/") > 1
    return _path(match) if is_path else text


def _name(match: re.Match[str]) -> str:
    """Mask a host wholly, a hash wholly, and of a name in a program the numbers at its ends."""
    text = match.group()
    if not any(c.isdigit() for c in text):
        return text
    before, after = match.string[: match.start()][-1:], match.string[match.end() :][:1]
    is_code = (before in {"'", '"', "`"} and after == before) or after == "("
    if _HASH.fullmatch(text) or _HYPHENED.fullmatch(text):
        return MASK
    if _PLACE.fullmatch(text) and not is_code:
        return MASK
    return re.sub(r"[A-Za-z0-9]+", lambda part: _part(part.group()), text)


def _part(part: str) -> str:
    return MASK if _HASH.fullmatch(part) else _EDGE_DIGITS.sub(MASK, part)


_KEEPERS: Mapping[str, Callable[[re.Match[str]], str]] = {
    "colour": lambda _: "",
    "kept": re.Match.group,
    "path": _path,
    "relative": _relative,
    "name": _name,
}
"""What is left of those pieces that are not masked wholly."""
