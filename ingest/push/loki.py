"""Loki's push: JSON, and protocol buffers. Their forms are in `docs/formats/push.md`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from relume.errors import InputError, shown
from relume.ingest.push import wire
from relume.ingest.push.labels import loki_labels, telling
from relume.ingest.push.lines import PushedLines, grouped, require_few

_MAX_PAIRS = 128
"""Labels of one line that are looked at."""
_Own = tuple[tuple[str, str], ...]


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    time: str | int
    line: str
    metadata: dict[str, str] = msgspec.field(default_factory=dict)


class _Stream(msgspec.Struct, frozen=True):
    stream: dict[str, str] = msgspec.field(default_factory=dict)
    values: list[_Entry] = msgspec.field(default_factory=list)


class _Push(msgspec.Struct, frozen=True):
    streams: list[_Stream]


def loki_json(data: bytes) -> list[PushedLines]:
    """Decode a push in JSON.

    Raises
    ------
    InputError
        When it is none, or of too many lines.

    Examples
    --------
    >>> body = (
    ...     b'{"streams": [{"stream": {"host": "n1"}, "values": [["1700000000000000000", "a"]]}]}'
    ... )
    >>> [lines] = loki_json(body)
    >>> lines.texts(), lines.microseconds().tolist()
    (['a'], [1700000000000000])
    """
    try:
        push = msgspec.json.decode(data, type=_Push)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _no_push(str(error)) from error
    require_few(sum(len(stream.values) for stream in push.streams))
    found: list[PushedLines] = []
    for stream in push.streams:
        entries = (
            (
                one.line,
                _nanoseconds(one.time),
                telling(one.metadata.items()) if one.metadata else (),
            )
            for one in stream.values
        )
        found += grouped(stream.stream, entries)
    return found


def loki_protobuf(data: bytes) -> list[PushedLines]:
    """Decode a push in protocol buffers, unpacked already (see `relume.ingest.push.bodies`).

    Lines needn't be UTF-8, else it is as strict as the protocol.

    Raises
    ------
    InputError
        When it is none, or of too many lines.
    """
    body = wire.view(data)
    outer, inner = wire.count_nested(body, wire.TEXT_1, wire.TEXT_2)
    _require_read(outer)
    require_few(inner)
    streams, entries = wire.empty(outer, 3), wire.empty(inner, 5)
    _require_read(wire.read_streams(body, streams, entries)[0])
    first = 0
    found: list[PushedLines] = []
    for start, stop, last in streams.T.tolist():
        labels = loki_labels(_text(data, start, stop))
        if last > first:
            found += _lines(data, labels, entries[:, first:last])
        first = last
    return found


def _lines(
    data: bytes, labels: Mapping[str, str], entries: np.ndarray[tuple[int, int], np.dtype[np.int64]]
) -> Iterator[PushedLines]:
    """Entries of one stream, apart by what their structured metadata say."""
    for own, rows in _by_metadata(data, entries):
        times, starts, stops = (np.ascontiguousarray(entries[column, rows]) for column in range(3))
        yield PushedLines(
            labels={**labels, **dict(own)} if own else labels,
            times=times,
            data=data,
            starts=starts,
            stops=stops,
        )


def _by_metadata(
    data: bytes, entries: np.ndarray[tuple[int, int], np.dtype[np.int64]]
) -> Iterator[tuple[_Own, slice | list[int]]]:
    if not entries[4].any():
        yield (), slice(None)
        return
    known: dict[bytes, _Own] = {}
    groups: dict[_Own, list[int]] = {}
    for row, (start, stop) in enumerate(entries[3:].T.tolist()):
        text = data[start:stop]
        if text not in known:
            known[text] = telling(_pairs(text))
        groups.setdefault(known[text], []).append(row)
    yield from groups.items()


def _pairs(data: bytes) -> Iterator[tuple[str, str]]:
    """Labels of one line, from the fields of its entry."""
    found = np.zeros((_MAX_PAIRS, 4), np.int64)
    count = wire.read_pairs(wire.view(data), 0, len(data), wire.TEXT_3, found)
    _require_read(count)
    for start, stop, value, end in found[: min(count, _MAX_PAIRS)].tolist():
        yield _text(data, start, stop), _text(data, value, end)


def _text(data: bytes, start: int, stop: int) -> str:
    try:
        return data[start:stop].decode()
    except UnicodeDecodeError as error:
        raise _no_push(f"a label that is no UTF-8: {error.reason}") from error


def _nanoseconds(text: str | int) -> int:
    try:
        time = int(text) if isinstance(text, int) or len(text) <= 20 else None  # noqa: PLR2004
    except ValueError:
        time = None
    if time is None or not -(2**63) < time < 2**63:
        raise InputError(
            "time of an entry", found=shown(text), expected="UTC nanoseconds, as a text"
        )
    return time


def _require_read(result: int) -> None:
    if result < 0:
        raise _no_push(wire.WRONG[result])


def _no_push(found: str) -> InputError:
    return InputError(
        "body",
        found=found[:300],
        expected="a push of Loki: streams with their labels and entries",
        hint="does its Content-Type say what it is, JSON or protocol buffers with snappy?",
    )
