"""What a line looks like that no rule knows: a failure, a trouble, part of a stack, anything else.

Words are a weak sign: programs print *error* while all is well. So they only order what is unusual
by other signs, and never make a cause.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

MAX_CHARACTERS: Final = 400
"""How much of a message is looked at."""


class Shape(IntEnum):
    """What a line looks like, the more telling ones higher."""

    FRAME = 0
    """Part of a stack or a table, a ruler, a command that a shell echoes."""
    PLAIN = 1
    TROUBLE = 2
    """Warns, or has a word for what goes wrong."""
    FAILURE = 3
    """Says of itself that it is an error, or names an exception."""


_FRAME: Final = re.compile(
    r'\s*(?:File ".*", line \d|at [\w$.<>]+\(|frame #|#\d+[: ]|\d+: 0x[0-9a-f]|[\^~| ]+$|\++ )'
    r"|\s*[│❱╭╰]|Traceback \(most recent call last\)|\s+raise \w"
    r"|.{0,120}(?:\+0x[0-9a-f]+(?:/0x[0-9a-f]+)?|\[0x[0-9a-f]+\])"
    r"|(?:R[A-Z\d]{2}|[A-Z]{2}): ?[0-9a-f]{4,16}[: ]"  # registers
)
_INDENTED: Final = re.compile(r"(?: {4,}|\t)\S")
_LETTERS: Final = re.compile(r"[A-Za-z]{2}")
_FAILURE_PARTS: Final = (
    "rror", "RROR", "xception", "ailure", "ault", "FATAL", "atal", "FAIL", "CRITICAL", "ritical",
    "SEVERE", "PANIC", "anic", "EMERG", "ALERT", "terminate called", "what():", "ssert",
)  # fmt: skip
"""One of them is in every line that `_FAILURE` finds: looking for them is much cheaper."""
_FAILURE: Final = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|EMERG|ALERT|FAILURE|FAILED)\b"
    r"|\b(?:[Ee]rror|[Ff]atal|[Pp]anic|[Ee]xception|[Cc]ritical)\b(?: in \w+)?\s?[:!(\[]"
    r"|\w(?:Error|Exception|Failure|Fault)\b"
    r"|\bterminate called\b|\bwhat\(\):|\bpanicked at\b|\b[Aa]ssert(?:ion)? .{0,80}fail"
)
_LEVEL: Final = re.compile(
    r"(?P<failure>\b(?:ERROR|FATAL|CRITICAL|SEVERE)\b|(?:^|\W)[EF]\d{3,4} )"
    r"|\bWARN(?:ING)?\b|(?:^|\W)W\d{3,4} "
)
"""How prefixes say how bad it is; ``E0302`` is glog's."""
_WORD: Final = re.compile(r"\b[a-z]+(?:'[a-z]+)?\b")
_TROUBLE: Final = (
    "warn warning error errors err fail fails failed failure failing fatal fatally exception "
    "cannot can't couldn't unable won't isn't doesn't didn't refused refusing rejected denied "
    "forbidden abort aborted aborting aborts kill killed killing died dead lost gone timeout "
    "timedout expired exceeded exceeds overflow overflowed exhausted full unreachable "
    "unavailable unknown unexpected unexpectedly invalid illegal bad corrupt corrupted "
    "corruption damaged broken mismatch mismatched missing inconsistent divergent stale stuck "
    "hang hangs hung blocked stalled frozen deadlock closed disconnect disconnected "
    "terminated terminating crash crashed dumped fault faulted sigterm sigkill sigsegv "
    "sigabrt sigbus evicted revoked "
)
_TROUBLE_WORDS: Final = frozenset(_TROUBLE.split())
_TROUBLE_PHRASES: Final = (
    "timed out", "time out", "out of", "no space", "no such", "not found", "not exist",
    "not responding", "not reachable", "not available", "not supported", "not permitted",
    "not allowed", "not ready", "could not", "did not", "does not", "gave up", "giving up",
    "reset by", "too many", "too large",
)  # fmt: skip


def shape_of(text: str, message_start: int = 0) -> Shape:
    """Return what a line looks like, of which `message_start` characters are prefixes.

    Never raises; linear.

    Examples
    --------
    >>> [shape_of(text).name for text in ("shard 3: checksum mismatch", "step 3", "ERROR: gone")]
    ['TROUBLE', 'PLAIN', 'FAILURE']
    """
    message = text[message_start : message_start + MAX_CHARACTERS]
    if _FRAME.match(message) or not _LETTERS.search(message):
        return Shape.FRAME
    level = _LEVEL.search(text, 0, min(message_start, MAX_CHARACTERS))
    if (level is not None and level["failure"]) or _is_failure(message):
        return Shape.FAILURE
    if level is not None or _is_trouble(message.lower()):
        return Shape.TROUBLE
    return Shape.FRAME if _INDENTED.match(message) else Shape.PLAIN


def _is_failure(text: str) -> bool:
    return any(part in text for part in _FAILURE_PARTS) and _FAILURE.search(text) is not None


def _is_trouble(text: str) -> bool:
    return not _TROUBLE_WORDS.isdisjoint(_WORD.findall(text)) or any(
        phrase in text for phrase in _TROUBLE_PHRASES
    )
