r"""Lines of loggers and shippers that wrap the message: JSON objects, ``key=value``, label sets.

Nothing is decoded: what is found are the places of values in the line as it is written. So a line
stays what was printed, and rules see the message where it stands, its quotes escaped.

Sources: python-json-logger, structlog, zap, ``journalctl -o json``, Docker's json-file driver,
Fluent Bit, Elastic Common Schema, logfmt (brandur.org/logfmt), LogCLI of Loki.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MAX_CHARACTERS = 16_384
"""Nothing further out in a line is looked at; a message may go on behind it."""
MAX_PAIRS = 64
"""No logger writes more keys."""

_JSON_PAIR = re.compile(
    r'"(?P<key>[\w.@$-]{1,60})" ?: ?'
    r'(?:"(?P<text>(?:[^"\\]|\\.)*+)(?:"|$)|(?P<plain>-?\d[\d.]{0,30})|(?=[^"\d-]))',
    re.ASCII,
)
_LOGFMT_PAIR = re.compile(
    r"(?P<key>[A-Za-z_@][\w.@-]{0,60})="
    r'(?:"(?P<text>(?:[^"\\]|\\.)*+)(?:"|$)|(?P<plain>[^\s"]{0,200}+))(?:\s|$)',
    re.ASCII,
)
_LABEL_PAIR = re.compile(r'(?P<key>[A-Za-z_][\w.]{0,60})="(?P<text>(?:[^"\\]|\\.)*+)"', re.ASCII)
_LABELS = re.compile(
    r'\{(?:[A-Za-z_][\w.]{0,60}="(?:[^"\\]|\\.){0,300}+"(?:, ?)?){1,30}\}\s{1,4}', re.ASCII
)
_MESSAGES = ("message", "msg", "MESSAGE", "log", "line", "textPayload", "body", "text", "event")
"""Keys of the message, the surest first."""
_KEYS = {
    "rank": (
        "rank",
        "global_rank",
        "globalrank",
        "world_rank",
        "rank_id",
        "process_index",
        "procid",
    ),
    "local_rank": ("local_rank", "localrank", "local_process_index", "localid"),
    "node": (
        "host",
        "hostname",
        "node",
        "nodename",
        "node_name",
        "_hostname",
        "host.name",
        "syslog_hostname",
    ),
    "clock": (
        "time",
        "ts",
        "timestamp",
        "@timestamp",
        "asctime",
        "datetime",
        "__realtime_timestamp",
        "t",
    ),
}
"""Keys of the fields of a prefix, in lower case, the surest first. Slurm's own are among them."""
_FIELD_OF = {key: (field, place) for field, keys in _KEYS.items() for place, key in enumerate(keys)}
_SLURM = "slurm_"
_VALUES = {
    "rank": re.compile(r"\d{1,7}", re.ASCII),
    "local_rank": re.compile(r"\d{1,4}", re.ASCII),
    "node": re.compile(r"(?=[^A-Za-z]*+[A-Za-z]|\d{1,3}\.)[A-Za-z0-9][\w.-]{0,252}+", re.ASCII),
    "clock": re.compile(
        r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
        r"(?: ?(?:Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?"
        r"|1\d{9}(?:\d{3}){0,3}(?:\.\d{1,9})?",
        re.ASCII,
    ),
}
_TRACEBACK = "Traceback (most recent call last):\\n"
_LAST_LINE = re.compile(r"\\n(?=[^\s\\])")


class Unwrapped(NamedTuple):
    """Where the message of a wrapped line begins, and the fields of its prefix as printed."""

    start: int
    fields: dict[str, str]


class _Pair(NamedTuple):
    key: str
    value: str
    start: int
    is_text: bool


def unwrap(text: str, start: int) -> Unwrapped | None:
    r"""Return what wraps the message at `start` of a line; null where nothing does.

    A traceback in one line begins with its last line, which names the exception.

    >>> line = '{"ts": 1767323045.5, "host": "gpu-a01", "rank": 3, "msg": "CUDA out of memory"}'
    >>> found = unwrap(line, 0)
    >>> line[found.start :], found.fields
    ('CUDA out of memory"}', {'clock': '1767323045.5', 'node': 'gpu-a01', 'rank': '3'})
    >>> unwrap('level=error rank=7 msg="lost peer"', 0).fields
    {'rank': '7'}
    >>> unwrap("lr=0.1 loss=2.3", 0) is None
    True
    """
    if text.startswith("{", start):
        labels = _LABELS.match(text, start, MAX_CHARACTERS)
        if labels:
            return Unwrapped(labels.end(), _fields(_pairs(_LABEL_PAIR, text, start, labels.end())))
        return _message_of(text, list(_pairs(_JSON_PAIR, text, start, start + MAX_CHARACTERS)))
    pair = _LOGFMT_PAIR.match(text, start, start + MAX_CHARACTERS)
    if pair is None or not _LOGFMT_PAIR.match(text, pair.end(), start + MAX_CHARACTERS):
        return None
    return _message_of(text, list(_pairs(_LOGFMT_PAIR, text, start, start + MAX_CHARACTERS)))


def _pairs(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[_Pair]:
    for number, found in enumerate(pattern.finditer(text, start, end)):
        if number == MAX_PAIRS:
            return
        is_text = found["text"] is not None
        name = "text" if is_text else "plain"
        value = found[name] if name in found.re.groupindex else None
        if value is not None:
            yield _Pair(found["key"], value, found.start(name), is_text)


def _message_of(text: str, pairs: list[_Pair]) -> Unwrapped | None:
    texts = {pair.key: pair for pair in reversed(pairs) if pair.is_text}
    message = next((texts[key] for key in _MESSAGES if key in texts), None)
    if message is None:
        return None
    start = message.start
    if message.value.startswith(_TRACEBACK) or f"\\n{_TRACEBACK}" in message.value:
        ends = list(_LAST_LINE.finditer(text, start, start + len(message.value)))
        start = ends[-1].end() if ends else start
    return Unwrapped(start, _fields(pair for pair in pairs if pair is not message))


def _fields(pairs: Iterable[_Pair]) -> dict[str, str]:
    found: dict[str, tuple[int, str]] = {}
    for pair in pairs:
        key = pair.key.lower().removeprefix(_SLURM)
        field, place = _FIELD_OF.get(key, (None, 0))
        if field is None or not _VALUES[field].fullmatch(pair.value):
            continue
        if field not in found or place < found[field][0]:
            found[field] = place, pair.value
    return {field: value for field, (_, value) in found.items()}
