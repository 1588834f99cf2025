"""Arrow schemas: complete, documented, and tables that give back what was put in."""

from __future__ import annotations

import dataclasses
import io
import math
import re
import typing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from relume.errors import InputError
from relume.events import (
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
from relume.schemas import EVENT_KEY, SCHEMAS, VERSION_KEY, event_of, from_table, to_table
from relume.verdict import Health

STATUS = SourceStatus(source="kernel", status=Health.UNKNOWN, reason="not read", observed_at=7)
DUMP = CollectiveDump(
    source="dumps",
    attempt="lab/7@1.0",
    rank=3,
    groups=(ProcessGroup(name="0", ranks=(0, 3), last_enqueued=9),),
    collectives=(
        Collective(
            group="0",
            sequence_number=9,
            operation="nccl:all_reduce",
            state="started",
            enqueued_time=1_767_323_045_000_006,
            timeout_seconds=600.0,
            input_sizes=((4, 8), ()),
            input_dtypes=("Float", "Int"),
        ),
    ),
)
LINE = LogLine("héllo \U0001f600", 3, 90, "f", event_time=-1, rank=0)


def columns(fields: typing.Iterable[pa.Field[typing.Any]]) -> list[tuple[str, str, str]]:
    """Name, type and nullability as the documents write them."""
    return [(f.name, str(f.type), "yes" if f.nullable else "no") for f in fields]


def documented(page: str, title: str) -> list[tuple[str, str, str]]:
    """The rows of the first table after `title`."""
    table = page.split(f"\n{title}\n", 1)[1].split("\n| ", 1)[1].split("\n\n", 1)[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
    return [(row[0], row[1], row[2]) for row in rows]


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs/formats/events.md").read_text(encoding="utf-8")


def test_every_event_has_a_schema() -> None:
    assert set(SCHEMAS) == set(typing.get_args(Event))


@pytest.mark.parametrize("event", SCHEMAS)
def test_columns_are_the_fields_and_only_optional_ones_are_nullable(event: type[Event]) -> None:
    hints = typing.get_type_hints(event)
    nullable = {name: type(None) in typing.get_args(hint) for name, hint in hints.items()}
    schema = SCHEMAS[event]
    assert schema.names == [field.name for field in dataclasses.fields(event)]
    assert {field.name: field.nullable for field in schema} == nullable


@pytest.mark.parametrize("event", SCHEMAS)
def test_the_schema_says_what_it_is(event: type[Event]) -> None:
    assert event_of(SCHEMAS[event]) is event
    assert SCHEMAS[event].metadata[EVENT_KEY] == event.__name__.encode()


@pytest.mark.parametrize("event", SCHEMAS)
def test_times_are_utc_microseconds(event: type[Event]) -> None:
    times = [f for f in SCHEMAS[event] if f.name in {"event_time", "observed_at"}]
    assert {str(field.type) for field in times} == {"timestamp[us, tz=UTC]"}


@pytest.mark.parametrize("event", SCHEMAS)
def test_every_column_is_documented_as_it_is(event: type[Event], page: str) -> None:
    written = documented(page, f"## {event.__name__}")
    lists = {"sources": "SourceStatus", "groups": "groups", "collectives": "collectives"}
    actual = [
        (name, f"list of {lists[name]}" if name in lists else kind, null)
        for name, kind, null in columns(SCHEMAS[event])
    ]
    assert written == actual
    version = SCHEMAS[event].metadata[VERSION_KEY].decode()
    assert page.split(f"## {event.__name__}\n\n", 1)[1].startswith(f"Version {version}. ")


@pytest.mark.parametrize(("title", "column"), [("A group:", 0), ("A collective:", 1)])
def test_the_parts_of_a_dump_are_documented_as_they_are(title: str, column: int, page: str) -> None:
    lists = [f.type for f in SCHEMAS[CollectiveDump] if f.name in {"groups", "collectives"}]
    assert documented(page, title) == columns(lists[column].value_type)


def test_what_is_in_a_tick_is_a_source_status() -> None:
    nested = SCHEMAS[Tick].field("sources").type.value_type
    assert columns(nested) == columns(SCHEMAS[SourceStatus])


@pytest.mark.parametrize(
    "event",
    [
        LINE,
        DUMP,
        STATUS,
        Tick(event_time=2**62, sources=(STATUS, SourceStatus(source="x", status=Health.HEALTHY))),
        Tick(event_time=0),
        NodeEvent(source="sinfo", node="n1", state="idle+drain"),
        SchedulerEvent(source="squeue", attempt="lab/7@1.0", state="RUNNING", nodes=("n2", "n1")),
        Sample(source="dcgm", metric="power_watts", value=math.inf),
    ],
    ids=lambda event: type(event).__name__,
)
def test_parquet_gives_back_what_was_put_in(event: Event) -> None:
    file = io.BytesIO()
    pq.write_table(to_table([event, event]), file, compression="zstd", compression_level=1)
    file.seek(0)
    assert from_table(pq.read_table(file)) == [event, event]


def test_nan_is_a_value_and_no_null() -> None:
    sample = Sample(source="dcgm", metric="sm_active_ratio", value=math.nan)
    table = to_table([sample])
    assert table["value"].null_count == 0
    (back,) = from_table(table)
    assert isinstance(back, Sample)
    assert math.isnan(back.value)


def test_no_events_need_their_type() -> None:
    table = to_table([], Tick)
    assert (table.num_rows, table.schema) == (0, SCHEMAS[Tick])
    assert from_table(table) == []
    with pytest.raises(InputError, match="no events and no type"):
        to_table([])


def test_a_table_holds_one_type_of_event() -> None:
    with pytest.raises(InputError, match="found CollectiveDump, LogLine; expected one of LogLine"):
        to_table([LINE, DUMP])
    with pytest.raises(InputError, match="found LogLine, Tick"):
        to_table([LINE], Tick)


def test_what_is_no_event_makes_no_table() -> None:
    with pytest.raises(InputError, match="found int"):
        to_table([1])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "change",
    [{"text": "\ud800"}, {"line": 2**64}, {"rank": 2**31}, {"event_time": 2**63}],
    ids=lambda change: next(iter(change)),
)
def test_a_value_that_its_column_cannot_hold_is_named(change: dict[str, typing.Any]) -> None:
    with pytest.raises(InputError, match="table of LogLine"):
        to_table([dataclasses.replace(LINE, **change)])


def test_further_columns_are_left_out() -> None:
    table = to_table([LINE]).append_column("date", pa.array(["2026-01-02"]))
    assert from_table(table) == [LINE]


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match="column 'offset' of a table of LogLine; found no such"):
        from_table(to_table([LINE]).drop_columns(["offset"]))


def test_a_column_of_another_type_is_named() -> None:
    table = to_table([LINE])
    position = table.schema.get_field_index("line")
    other = table.set_column(position, pa.field("line", pa.int32()), pa.array([3], pa.int32()))
    with pytest.raises(InputError, match=r"column 'line' .* found int32; expected int64"):
        from_table(other)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "found no event in its metadata"),
        ({b"other": b"x"}, "found no event in its metadata"),
        ({EVENT_KEY: b"LogLin"}, "event 'LogLin' .* did you mean 'LogLine'"),
        ({EVENT_KEY: b"Walrus", VERSION_KEY: b"1"}, "event 'Walrus' .* was it written by Relume"),
        ({EVENT_KEY: b"LogLine"}, "found schema version missing; expected version 1"),
        ({EVENT_KEY: b"LogLine", VERSION_KEY: b"2"}, "found schema version 2; expected version 1"),
    ],
)
def test_another_schema_is_refused_in_words(
    metadata: dict[bytes, bytes] | None, message: str
) -> None:
    table = to_table([LINE]).replace_schema_metadata(metadata)
    with pytest.raises(InputError, match=message):
        from_table(table)


def test_a_value_that_the_event_cannot_have_is_refused() -> None:
    table = to_table([STATUS])
    position = table.schema.get_field_index("status")
    field = table.schema.field(position)
    with pytest.raises(InputError, match=re.escape("Invalid enum value 'fine'")):
        from_table(table.set_column(position, field, pa.array(["fine"])))
    with pytest.raises(InputError, match="field 'status' with null values"):
        from_table(table.set_column(position, field, pa.array([None], pa.string())))
