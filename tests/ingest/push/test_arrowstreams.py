"""Events as streams of Arrow IPC: as in files, samples in columns, and nothing breaks on others."""

from __future__ import annotations

import contextlib
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.errors import InputError
from relume.events import Event, NodeEvent, Sample
from relume.ingest.lake import SampleBatch
from relume.ingest.push import arrowstreams
from relume.ingest.push.arrowstreams import event_stream
from relume.ingest.skips import SkipCounts
from relume.schemas import SCHEMAS, to_table

SAMPLES: list[Event] = [
    Sample(source=source, metric="a_watts", value=1.0 * one, node=f"n{one}", event_time=one)
    for source in ("x", "y")
    for one in range(3)
]
NODES: list[Event] = [NodeEvent(source="sinfo", node=f"n{one}", state="down*") for one in range(3)]


def stream(table: pa.Table, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=4)
    return bytes(sink.getvalue().to_pybytes())


def decoded(body: bytes, skipped: SkipCounts | None = None) -> list[Event]:
    found: list[Event] = []
    for one in event_stream(body, SkipCounts() if skipped is None else skipped):
        if isinstance(one, SampleBatch):
            found += one.samples()
        else:
            found.append(one)
    return found


@pytest.mark.parametrize("events", [SAMPLES, NODES], ids=["samples", "nodes"])
def test_events_come_back(events: list[Event]) -> None:
    assert decoded(stream(to_table(events))) == events
    more = to_table(events).append_column("more", pa.array(["x"] * len(events)).dictionary_encode())
    assert decoded(stream(more)) == events


def test_samples_come_in_columns() -> None:
    batches = list(event_stream(stream(to_table(SAMPLES)), SkipCounts()))
    assert [(one.source, len(one)) for one in batches if isinstance(one, SampleBatch)] == [
        ("x", 3),
        ("y", 1),
        ("y", 2),
    ]
    assert decoded(stream(SCHEMAS[Sample].empty_table())) == []


def test_rows_that_are_no_event_are_counted() -> None:
    for events in (SAMPLES, NODES):
        table = to_table(events)
        at = table.schema.get_field_index("source")
        names = [None, *table.column(at).to_pylist()[1:]]
        field = pa.field("source", pa.string())
        skipped = SkipCounts()
        broken = table.set_column(at, field, pa.array(names, pa.string()))
        broken = broken.replace_schema_metadata(table.schema.metadata)
        assert decoded(stream(broken), skipped) == events[1:]
        assert skipped.as_dict() == {"event": 1}
        assert "row 0" in str(skipped)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_buffers_that_are_compressed_are_refused(codec: str) -> None:
    bomb = [NodeEvent(source="x" * 100_000, node="n1", state="idle") for _ in range(9)]
    with pytest.raises(InputError, match=r"compressed one by one.*Content-Encoding"):
        decoded(stream(to_table(bomb), compression=codec))
    words = pa.array(["x" * 10_000]).dictionary_encode()
    table = to_table(NODES[:1]).append_column("more", words)
    with pytest.raises(InputError, match="compressed one by one"):
        decoded(stream(table, compression=codec))


def test_another_version_and_no_event_are_refused() -> None:
    table = to_table(NODES)
    other = {**table.schema.metadata, b"relume.schema_version": b"99"}
    with pytest.raises(InputError, match="schema version 99"):
        decoded(stream(table.replace_schema_metadata(other)))
    with pytest.raises(InputError, match="no event in its metadata"):
        decoded(stream(table.replace_schema_metadata(None)))


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrowstreams, "MAX_ROWS", 2)
    with pytest.raises(InputError, match="3 rows; expected at most 2"):
        decoded(stream(to_table(NODES)))


def test_other_columns_are_refused_with_and_without_rows() -> None:
    for table in (to_table(NODES), to_table(SAMPLES), SCHEMAS[NodeEvent].empty_table()):
        with pytest.raises(InputError, match=r"column 'source'.*no such column"):
            decoded(stream(table.drop_columns("source")))


def test_more_than_a_few_bad_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrowstreams, "MAX_REFUSED", 2)
    table = to_table(NODES)
    at = table.schema.get_field_index("outcome")
    broken = table.set_column(at, table.schema.field(at), pa.array(["odd"] * 3))
    with pytest.raises(InputError, match="more than 2 rows that are no event; row 2"):
        decoded(stream(broken))


@pytest.mark.parametrize("events", [SAMPLES, NODES], ids=["samples", "nodes"])
@given(st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_comes_only_our_error_is_raised(events: list[Event], data: st.DataObject) -> None:
    body = bytearray(stream(to_table(events)))
    for _ in range(data.draw(st.integers(0, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(body)]) | st.integers(0, len(body)))
    with contextlib.suppress(InputError):
        decoded(bytes(body[:cut]))


@given(st.binary(max_size=50))
@settings(max_examples=80, deadline=None)
def test_any_bytes_give_events_or_our_error(body: bytes) -> None:
    with contextlib.suppress(InputError):
        decoded(body)
