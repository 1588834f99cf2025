"""One event as one line of JSON, and back.

``{"event": "NodeEvent", "schema_version": 1, …}``: the fields are those of `relume.events`. What is
null is left out. Times are UTC microseconds; `event_time` and `observed_at` are read in ISO 8601
with a zone, too.
"""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec

from relume.clock import from_iso
from relume.errors import InputError, did_you_mean, shown
from relume.events import Event
from relume.schemas import SCHEMAS, present_version

_KINDS = {kind.__name__: kind for kind in SCHEMAS}
_VERSIONS = {kind: present_version(kind) for kind in SCHEMAS}
_TIMES = ("event_time", "observed_at")
_EXPECTED = "an object of an event"
_NO_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""JSON has no such numbers: a sample's value is then one of these words."""


def encode_event(event: Event) -> bytes:
    """Return the line of an event, with its line end.

    Raises
    ------
    InputError
        For a text that is no valid Unicode (half a surrogate pair).
    """
    kind = type(event)
    record: dict[str, Any] = {"event": kind.__name__, "schema_version": _VERSIONS[kind]}
    fields = msgspec.to_builtins(event)
    record |= {name: value for name, value in fields.items() if value is not None}
    value = record.get("value")
    if isinstance(value, float) and not math.isfinite(value):
        record["value"] = json.dumps(value)
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeError as error:
        raise InputError(
            f"JSON of {kind.__name__}",
            found=str(error),
            expected="valid Unicode",
            hint="decode texts with errors='replace' where they are read",
        ) from error


def decode_event(line: bytes) -> Event:
    """Return the event of a line. Further fields are passed over.

    Raises
    ------
    InputError
        When it is no JSON, no event, one of another schema version, or has a value of another type.

    Examples
    --------
    >>> line = b'{"event": "Tick", "schema_version": 1, "event_time": "2026-01-02T03:04:05Z"}'
    >>> decode_event(line).event_time
    1767323045000000
    """
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError("line is no event", found=str(error), expected=_EXPECTED) from error
    if not isinstance(record, dict):
        raise InputError("line is no event", found=shown(record), expected=_EXPECTED)
    kind = _kind(record)
    for name in _TIMES:
        if isinstance(record.get(name), str):
            record[name] = from_iso(record[name])
    if record.get("value") in _NO_NUMBERS:
        record["value"] = _NO_NUMBERS[record["value"]]
    try:
        event: Event = msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise InputError(
            f"line is no {kind.__name__}", found=str(error), expected="values of the event"
        ) from error
    return event


def _kind(record: dict[str, Any]) -> type[Event]:
    name, version = record.get("event"), record.get("schema_version")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InputError(
            "line is no event",
            found=f"event {shown(name)}",
            expected=f"one of {', '.join(_KINDS)}",
            hint=did_you_mean(str(name), _KINDS),
        )
    if version != _VERSIONS[kind]:
        raise InputError(
            f"line of {kind.__name__}",
            found=f"schema version {shown(version)}",
            expected=f"version {_VERSIONS[kind]}",
            hint="it was written by another version of Relume; read it with that one, or upgrade",
        )
    return kind
