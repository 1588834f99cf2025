"""Pushes of Loki: what they say, against the protobuf library, and whatever else may come."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from protobufs import message, pairs
from relume.errors import InputError
from relume.ingest.push import lines as lines_module
from relume.ingest.push.labels import loki_labels
from relume.ingest.push.lines import NO_TIME, PushedLines, lines_of
from relume.ingest.push.loki import loki_json, loki_protobuf

NOON = 1_767_355_200
TEXTS = st.text(max_size=20)
TELLING = st.dictionaries(st.sampled_from(["rank", "host", "trace_id"]), TEXTS, max_size=2)
ENTRIES = st.tuples(st.integers(-(10**9), 9 * 10**9), st.integers(0, 999_999_999), TEXTS, TELLING)
STREAMS = st.lists(
    st.tuples(st.sampled_from(["train", "other"]), st.lists(ENTRIES, max_size=6)), max_size=4
)
Told = list[tuple[dict[str, str], list[tuple[int, str]]]]
Streams = list[tuple[str, list[tuple[int, int, str, dict[str, str]]]]]


def as_protobuf(streams: Streams) -> Any:
    return message(
        "PushRequest",
        streams=[
            message(
                "Stream",
                labels=f'{{job="{job}"}}',
                entries=[
                    message(
                        "Entry",
                        timestamp=message("Stamp", seconds=seconds, nanos=nanos),
                        line=text,
                        metadata=pairs(own),
                    )
                    for seconds, nanos, text, own in entries
                ],
            )
            for job, entries in streams
        ],
    )


def as_json(streams: Streams) -> bytes:
    found = [
        {
            "stream": {"job": job},
            "values": [
                [str(s * 10**9 + n), text, own] if own else [str(s * 10**9 + n), text]
                for s, n, text, own in entries
            ],
        }
        for job, entries in streams
    ]
    return msgspec.json.encode({"streams": found})


def told(lines: list[PushedLines]) -> Told:
    return [
        (dict(one.labels), list(zip(one.times.tolist(), one.texts(), strict=True))) for one in lines
    ]


def expected_of(push: Any) -> Told:
    """What the library says of a push, apart by the labels that tell whose a line is."""
    found: Told = []
    for stream in push.streams:
        groups: dict[tuple[tuple[str, str], ...], list[tuple[int, str]]] = {}
        for entry in stream.entries:
            kept = [(p.name, p.value) for p in entry.metadata if p.name in ("rank", "host")]
            time = entry.timestamp.seconds * 10**9 + entry.timestamp.nanos
            groups.setdefault(tuple(sorted(kept)), []).append((time, entry.line))
        for own, entries in groups.items():
            found.append(({**loki_labels(stream.labels), **dict(own)}, entries))
    return found


@given(STREAMS)
@settings(max_examples=80, deadline=None)
def test_both_forms_say_what_the_library_says(streams: Streams) -> None:
    push = as_protobuf(streams)
    expected = expected_of(push)
    assert told(loki_protobuf(push.SerializeToString())) == expected
    assert told(loki_json(as_json(streams))) == expected


SOME = as_protobuf(
    [("train", [(NOON, 5, "one", {}), (NOON, 6, "two", {"rank": "3"})]), ("other", [])]
).SerializeToString()


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_body_is_refused_or_read_as_the_library_does(data: st.DataObject) -> None:
    body = bytearray(SOME)
    for _ in range(data.draw(st.integers(0, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    raw = bytes(body[: data.draw(st.integers(0, len(body)))]) + data.draw(st.binary(max_size=4))
    try:
        found = told(loki_protobuf(raw))
    except InputError:
        return  # groups, and labels that are none, are refused beyond what the library does
    push = message("PushRequest")
    try:
        push.ParseFromString(raw)
    except DecodeError:
        assert "\ufffd" in repr(found)  # a line needn't be UTF-8
        return
    assert found == [one for one in expected_of(push) if one[1]]


@given(st.binary(max_size=60) | st.text(max_size=40).map(str.encode))
@settings(max_examples=150, deadline=None)
def test_any_bytes_give_lines_or_our_error(body: bytes) -> None:
    for decode in (loki_protobuf, loki_json):
        with contextlib.suppress(InputError):
            decode(body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{}", "streams"),
        (b'{"streams": [{"values": [["x", "a"]]}]}', "time of an entry; found 'x'"),
        (b'{"streams": [{"values": [["9223372036854775808", "a"]]}]}', "nanoseconds"),
        (b'{"streams": [{"values": [["1"]]}]}', "array"),
        (b'{"streams": [{"values": [["1", "a", {"rank": 3}]]}]}', "str"),
        (b"\xff", "push of Loki"),
    ],
)
def test_json_that_is_no_push_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words):
        loki_json(body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"\x0a\x05", "goes on after its message"),
        (b"\xff" * 11, "more than ten bytes"),
        (b"\x02\x00", "without a number"),
        (b"\x0b\x0c", "wire type, or a group"),
        (b"\x0a\x04\x12\x02\x0a\x05", "goes on after"),
        (
            message(
                "Stream",
                labels="{}",
                entries=[message("Entry", timestamp=message("Stamp", seconds=2**40))],
            ),
            "64 bits of nanoseconds",
        ),
        (message("Stream", labels="job", entries=[message("Entry")]), "labels of a stream"),
        (b"\x0a\x05\x0a\x01\xff\x12\x00", "no UTF-8"),
        (b"\x0a\x09\x0a\x02{}\x12\x03\x1a\x01\x0a", "goes on after"),
    ],
)
def test_protocol_buffers_that_are_no_push_are_refused(body: Any, words: str) -> None:
    raw = (
        body
        if isinstance(body, bytes)
        else message("PushRequest", streams=[body]).SerializeToString()
    )
    with pytest.raises(InputError, match=words):
        loki_protobuf(raw)


def test_lines_that_are_no_utf8_are_kept() -> None:
    [lines] = loki_protobuf(b"\x0a\x0a\x0a\x02{}\x12\x04\x12\x02a\xff")
    assert (lines.texts(), lines.joined()) == (["a�"], b"a\xff\n")


def test_too_many_lines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "MAX_ENTRIES", 1)
    streams: Streams = [("train", [(1, 0, "a", {}), (2, 0, "b", {})])]
    for decode, body in (
        (loki_json, as_json(streams)),
        (loki_protobuf, as_protobuf(streams).SerializeToString()),
    ):
        with pytest.raises(InputError, match="2 lines; expected at most 1"):
            decode(body)


def test_times_nobody_says_are_null() -> None:
    lines = lines_of({}, [("a", NO_TIME), ("ü", -1)])
    assert (len(lines), lines.microseconds().tolist(), lines.texts()) == (
        2,
        [NO_TIME, -1],
        ["a", "ü"],
    )
    assert lines_of({}, []).joined() == b""


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("{}", {}),
        ('{a="b"}', {"a": "b"}),
        (' { a = "b" ,c=`d"\\n` , } ', {"a": "b", "c": 'd"\\n'}),
        (
            r'{a="\"\\\n\t\x41\u00fc\U0001F600\101"}',
            {"a": '"\\\n\tAüAA'.replace("AA", "\U0001f600A")},
        ),
        (r'{a="\ud800\UFFFFFFFF"}', {"a": "��"}),
        ('{host.name="x"}', {"host.name": "x"}),
    ],
)
def test_labels_are_read_as_loki_writes_them(text: str, labels: dict[str, str]) -> None:
    assert loki_labels(text) == labels


@pytest.mark.parametrize("text", ["", "{", "{a}", "{a=b}", '{a="b}', '{a="b" c="d"}', '{=""}'])
def test_other_labels_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="labels of a stream"):
        loki_labels(text)
