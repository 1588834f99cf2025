"""Files of events: what was written is read back, and what is no event is counted."""

from __future__ import annotations

import gzip
import io
import math
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.events import (
    Actor,
    CheckOutcome,
    Collective,
    CollectiveDump,
    Event,
    LogLine,
    NodeEvent,
    ProcessGroup,
    Sample,
    SchedulerEvent,
    SourceStatus,
    Tick,
)
from relume.ingest import eventfiles
from relume.ingest.eventfiles import SUFFIXES, read_events, write_events
from relume.ingest.eventlines import decode_event, encode_event
from relume.ingest.skips import DAMAGED, SkipCounts
from relume.schemas import SCHEMAS, VERSION_KEY, to_table
from relume.verdict import Health

STATUS = SourceStatus(source="kernel", status=Health.UNKNOWN, reason="not read", lag_seconds=1.5)
EVENTS: list[Event] = [
    LogLine("é step 1", 3, 17, "a.log", 2, stream="stderr", rank=0, gpu="0", event_time=5),
    Sample(source="dcgm", metric="power_watts", value=412.5, node="n1", observed_at=-1),
    SchedulerEvent(
        source="sacct", attempt="lab/7@1.0", state="FAILED", nodes=("n1", "n2"), requeue=False
    ),
    NodeEvent(
        source="sinfo",
        node="n1",
        state="drained",
        actor=Actor.CHECK,
        check="nhc",
        outcome=CheckOutcome.FAILED,
    ),
    CollectiveDump(
        source="dump",
        attempt="lab/7@1.0",
        rank=3,
        groups=(ProcessGroup(name="0", ranks=(0, 1), last_started=4),),
        collectives=(
            Collective(
                group="0",
                sequence_number=4,
                operation="nccl:all_reduce",
                state="started",
                input_sizes=((2, 3), ()),
            ),
        ),
    ),
    STATUS,
    Tick(event_time=9, sources=(STATUS,)),
]


def test_every_event_has_its_example() -> None:
    assert {type(event) for event in EVENTS} == set(SCHEMAS)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_what_was_written_is_read_back(tmp_path: Path, event: Event, suffix: str) -> None:
    path = tmp_path / f"events{suffix}"
    assert write_events(path, [event, event]) == 2
    assert list(read_events(path)) == [event, event]
    assert list(tmp_path.iterdir()) == [path]


def test_json_lines_hold_events_of_all_types_also_compressed(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    assert write_events(path, iter(EVENTS)) == len(EVENTS)
    assert list(read_events(path)) == EVENTS
    packed = tmp_path / "events.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_events(packed)) == EVENTS


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO(b"".join(map(encode_event, EVENTS)))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(raw)))
    assert list(read_events("-")) == EVENTS


@pytest.mark.parametrize("suffix", [".arrow", ".parquet", ".ndjson"])
def test_batches_follow_each_other(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eventfiles, "BATCH_ROWS", 3)
    ticks = [Tick(event_time=n) for n in range(10)]
    path = tmp_path / f"ticks{suffix}"
    assert write_events(path, ticks) == 10
    assert list(read_events(path)) == ticks


def test_an_arrow_stream_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "ticks"
    table = to_table([Tick(event_time=n) for n in range(3)])
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    assert [event.event_time for event in read_events(path)] == [0, 1, 2]


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e-320, -0.0])
def test_numbers_that_json_lacks(value: float) -> None:
    event = decode_event(encode_event(Sample(source="x", metric="m", value=value)))
    assert isinstance(event, Sample)
    assert repr(event.value) == repr(value)


@given(text=st.text(), value=st.floats(), time=st.none() | st.integers(-(2**63), 2**63 - 1))
def test_any_value_comes_back(text: str, value: float, time: int | None) -> None:
    event = Sample(source=text, metric=text, value=value, gpu=text, event_time=time)
    line = encode_event(event)
    assert line.count(b"\n") == 1
    assert repr(decode_event(line)) == repr(event)


@given(line=st.binary() | st.text().map(str.encode))
def test_any_line_is_an_event_or_is_refused(line: bytes) -> None:
    with pytest.raises(InputError):
        decode_event(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "line is no event; found Input data was truncated"),
        (b"[1]", "found [1]; expected an object of an event"),
        (b'{"event": "Tik", "schema_version": 1}', "did you mean 'Tick'?"),
        (b'{"event": ["x"]}', "line is no event"),
        (b'{"event": "Tick", "schema_version": 7}', "schema version 7; expected version 1"),
        (b'{"event": "Tick", "event_time": 1}', "schema version nothing; expected version 1"),
        (b'{"event": "Tick", "schema_version": 1}', "missing required field `event_time`"),
        (b'{"event": "Tick", "schema_version": 1, "event_time": "yesterday"}', "ISO 8601"),
        (b'{"event": "Tick", "schema_version": 1, "event_time": "2026-01-02T03:04:05"}', "zone"),
        (b'{"event": "Tick", "schema_version": 1, "event_time": 1.5}', "Expected `int`"),
        (
            b'{"event":"NodeEvent","schema_version":2,"source":"x","node":"n","outcome":"unknown"}',
            "without a reason",
        ),
        (b"[" * 100_000, "line is no event"),
    ],
)  # fmt: skip
def test_a_bad_line_says_what_is_wrong(line: bytes, message: str) -> None:
    with pytest.raises(InputError) as refused:
        decode_event(line)
    assert message in str(refused.value)


def test_bad_lines_are_counted_by_number_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    good = encode_event(Tick(event_time=1))
    path.write_bytes(good + b"\n{}\n" + good + b'{"event": "Tick", "schema_version": 9}')
    skipped = SkipCounts()
    assert [event.event_time for event in read_events(path, skipped=skipped)] == [1, 1]
    assert skipped.as_dict() == {"event": 2}
    assert skipped.files() == {
        "event": [f"{path}:3: found event nothing", f"{path}:5: found schema version 9"]
    }
    with pytest.raises(InputError, match=rf"{path}:3: line is no event; found event nothing"):
        list(read_events(path))


def test_a_lost_end_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "events.gz"
    path.write_bytes(gzip.compress(encode_event(Tick(event_time=1)) * 9)[:-9])
    skipped = SkipCounts()
    assert len(list(read_events(path, skipped=skipped))) > 1
    assert DAMAGED in skipped.as_dict()
    with pytest.raises(InputError):
        list(read_events(path))


def bad_table(rows: int) -> pa.Table:
    table = to_table([STATUS] * rows)
    status = ["unknown"] * rows
    status[2] = "sick"
    return table.set_column(
        table.schema.get_field_index("status"), table.schema.field("status"), pa.array(status)
    )


def test_bad_rows_of_a_table_are_counted_by_number(tmp_path: Path) -> None:
    path = tmp_path / "status.parquet"
    pq.write_table(bad_table(5), path)
    skipped = SkipCounts()
    assert list(read_events(path, skipped=skipped)) == [STATUS] * 4
    assert skipped.as_dict() == {"event": 1}
    assert skipped.files()["event"][0].startswith(f"{path}, row 2: found ")
    with pytest.raises(InputError, match="row 2"):
        list(read_events(path))


@pytest.mark.parametrize(("suffix", "form"), [(".parquet", "Parquet"), (".arrow", "Arrow IPC")])
def test_a_table_that_is_cut_off_is_refused(tmp_path: Path, suffix: str, form: str) -> None:
    path = tmp_path / f"ticks{suffix}"
    write_events(path, [Tick(event_time=1)])
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(InputError, match=f"expected a whole file of {form}"):
        list(read_events(path, skipped=SkipCounts()))


def test_a_table_of_another_version_is_refused_even_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "ticks.parquet"
    table = to_table([], Tick)
    metadata = {**(table.schema.metadata or {}), VERSION_KEY: b"8"}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(InputError, match="schema version 8; expected version 1"):
        list(read_events(path, skipped=SkipCounts()))


def test_an_empty_batch_with_other_columns_is_refused(tmp_path: Path) -> None:
    table = SCHEMAS[Sample].empty_table().drop_columns("source")
    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_batch(pa.RecordBatch.from_pylist([], table.schema))
    with pytest.raises(InputError, match="column 'source'"):
        list(read_events(path))


def test_a_table_of_no_event_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(InputError, match="no event in its metadata"):
        list(read_events(path))
    with pytest.raises(InputError, match="No such file"):
        list(read_events(tmp_path / "missing"))


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    with pytest.raises(InputError, match="expected one of LogLine"):
        write_events(path, EVENTS)
    with pytest.raises(InputError, match=r"ends in '.csv'; expected one of .arrow"):
        write_events(tmp_path / "events.csv", EVENTS)
    with pytest.raises(InputError, match="surrogates not allowed"):
        write_events(tmp_path / "a.ndjson", [LogLine("\ud800", 0, 0, "f")])
    with pytest.raises(InputError, match="No such file"):
        write_events(tmp_path / "none" / "events.ndjson", EVENTS)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_has_no_events(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    assert write_events(path, []) == 0
    assert list(read_events(path)) == []


def test_fields_of_later_versions_are_passed_over() -> None:
    record = msgspec.json.decode(encode_event(EVENTS[3]))
    assert decode_event(msgspec.json.encode(record | {"later": [1]})) == EVENTS[3]
