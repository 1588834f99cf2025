"""The Arrow form of every event: versioned schemas, and tables to and from event objects.

A schema's metadata names the event and its version, so a table says by itself what it holds.
Timestamps are ``timestamp[us, UTC]``. `docs/formats/events.md` describes the columns. This is the
only module of the core that imports pyarrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
import pyarrow as pa

from relume.errors import InputError, did_you_mean
from relume.events import (
    CollectiveDump,
    Event,
    LogLine,
    NodeEvent,
    Sample,
    SchedulerEvent,
    SourceStatus,
    Tick,
)

EVENT_KEY = b"relume.event"
VERSION_KEY = b"relume.schema_version"

_TEXT, _FLAG, _FLOAT = pa.string(), pa.bool_(), pa.float64()
_INT32, _INT64 = pa.int32(), pa.int64()
_TIME = pa.timestamp("us", "UTC")


def _required(**columns: pa.DataType) -> list[pa.Field[Any]]:
    return [pa.field(name, kind, nullable=False) for name, kind in columns.items()]


def _optional(**columns: pa.DataType) -> list[pa.Field[Any]]:
    return [pa.field(name, kind) for name, kind in columns.items()]


def _list(item: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("item", item, nullable=False))


def _schema(event: type[Event], version: int, columns: Sequence[pa.Field[Any]]) -> pa.Schema:
    metadata: dict[bytes | str, bytes | str] = {
        EVENT_KEY: event.__name__.encode(),
        VERSION_KEY: str(version).encode(),
    }
    return pa.schema(columns, metadata=metadata)


_ORIGIN = [*_required(source=_TEXT, cluster=_TEXT), *_optional(event_time=_TIME, observed_at=_TIME)]
_STATUS = [*_ORIGIN, *_required(status=_TEXT), *_optional(lag_seconds=_FLOAT, reason=_TEXT)]
_GROUP = [
    *_required(name=_TEXT),
    *_optional(description=_TEXT),
    *_required(ranks=_list(_INT32)),
    *_optional(last_enqueued=_INT64, last_started=_INT64, last_completed=_INT64),
]
_COLLECTIVE = [
    *_required(group=_TEXT, sequence_number=_INT64, operation=_TEXT, state=_TEXT, is_p2p=_FLAG),
    *_optional(enqueued_time=_TIME, started_time=_TIME, completed_time=_TIME),
    *_optional(timeout_seconds=_FLOAT),
    *_required(input_sizes=_list(_list(_INT64)), output_sizes=_list(_list(_INT64))),
    *_required(input_dtypes=_list(_TEXT), output_dtypes=_list(_TEXT)),
]
_LOG_LINE = [
    *_required(text=_TEXT, line=_INT64, offset=_INT64, file=_TEXT, message_start=_INT32),
    *_required(stream=_TEXT),
    *_optional(attempt=_TEXT, node=_TEXT, rank=_INT32, local_rank=_INT32, task=_INT32, gpu=_TEXT),
    *_optional(event_time=_TIME, observed_at=_TIME),
    *_required(cluster=_TEXT, source=_TEXT),
]
_SAMPLE = [
    *_ORIGIN,
    *_required(metric=_TEXT, value=_FLOAT),
    *_optional(node=_TEXT, gpu=_TEXT, rank=_INT32, attempt=_TEXT, device=_TEXT),
]
_SCHEDULER_EVENT = [
    *_ORIGIN,
    *_required(attempt=_TEXT, state=_TEXT, nodes=_list(_TEXT)),
    *_optional(exit_code=_INT32, signal=_INT32, reason=_TEXT, time_limit_seconds=_INT64),
    *_optional(requeue=_FLAG, comment=_TEXT, user=_TEXT),
    *_required(exclude_nodes=_list(_TEXT), required_nodes=_list(_TEXT)),
    *_optional(num_nodes=_INT32, name=_TEXT, gpus=_INT32, eligible_time=_TIME),
    *_optional(partition=_TEXT, deadline=_TIME),
]
_NODE_EVENT = [
    *_ORIGIN,
    *_required(node=_TEXT),
    *_optional(state=_TEXT, reason=_TEXT, actor=_TEXT, check=_TEXT, outcome=_TEXT),
    *_required(partitions=_list(_TEXT)),
]
_COLLECTIVE_DUMP = [
    *_ORIGIN,
    *_required(attempt=_TEXT, rank=_INT32),
    *_optional(version=_TEXT),
    *_required(groups=_list(pa.struct(_GROUP)), collectives=_list(pa.struct(_COLLECTIVE))),
]
_TICK = [
    *_required(source=_TEXT, cluster=_TEXT, event_time=_TIME),
    *_optional(observed_at=_TIME),
    *_required(sources=_list(pa.struct(_STATUS))),
]

SCHEMAS: Mapping[type[Event], pa.Schema] = MappingProxyType(
    {
        LogLine: _schema(LogLine, 1, _LOG_LINE),
        Sample: _schema(Sample, 2, _SAMPLE),
        SchedulerEvent: _schema(SchedulerEvent, 4, _SCHEDULER_EVENT),
        NodeEvent: _schema(NodeEvent, 2, _NODE_EVENT),
        CollectiveDump: _schema(CollectiveDump, 1, _COLLECTIVE_DUMP),
        SourceStatus: _schema(SourceStatus, 1, _STATUS),
        Tick: _schema(Tick, 1, _TICK),
    }
)
"""The present schema of every event; a table of any other version is refused."""

_BY_NAME: Mapping[str, type[Event]] = {event.__name__: event for event in SCHEMAS}


def to_table(events: Sequence[Event], event: type[Event] | None = None) -> pa.Table:
    """Return the Arrow table of `events`, which are all of one type.

    Parameters
    ----------
    events
        One row each, in this order.
    event
        Their type; needed only when there may be no events.

    Raises
    ------
    InputError
        For events of several types, for none when `event` is null, and for a value that its column
        can't hold (a lone surrogate, a number out of range).

    Examples
    --------
    >>> from relume.events import Sample
    >>> to_table([Sample(source="dcgm", metric="power_watts", value=412.5)]).num_rows
    1
    """
    kinds: set[type[Event]] = {type(one) for one in events} | ({event} if event else set())
    if len(kinds) != 1 or not kinds <= SCHEMAS.keys():
        raise InputError(
            "table of events",
            found=", ".join(sorted(kind.__name__ for kind in kinds)) or "no events and no type",
            expected=f"one of {', '.join(_BY_NAME)}",
            hint="name the type when there may be no events; make one table for each",
        )
    schema = SCHEMAS[kinds.pop()]
    rows = msgspec.to_builtins(events)
    try:
        return pa.Table.from_pylist(rows, schema=schema)
    except (pa.ArrowException, UnicodeError, OverflowError) as error:
        raise InputError(
            f"table of {name_of(schema)}",
            found=str(error),
            expected="values that fit their columns",
            hint="decode texts with errors='replace' where they are read",
        ) from error


def from_table(table: pa.Table) -> list[Event]:
    """Return the events of a table that `to_table` made, exactly.

    Further columns, such as the lake's partitions, are left out. Takes about a microsecond a value:
    for many rows work on the columns.

    Raises
    ------
    InputError
        For a table of no event, of another schema version, with a missing column or one of another
        type, or with a value that the event can't have.
    """
    event = event_of(table.schema)
    schema = SCHEMAS[event]
    for column in schema:
        _require_column(table.schema, column, event)
    plain = pa.schema([column.with_type(_without_time(column.type)) for column in schema])
    try:
        rows = table.select(schema.names).cast(plain).to_pylist()
        return msgspec.convert(rows, list[event])  # type: ignore[valid-type] # known at run time
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(
            f"table of {event.__name__}", found=str(error), expected="values of the event"
        ) from error


def event_of(schema: pa.Schema) -> type[Event]:
    """Return the event that a table with this schema holds.

    Raises
    ------
    InputError
        When its metadata names none, or another version than the present one.
    """
    name = name_of(schema)
    if name not in _BY_NAME:
        raise InputError(
            "table of events",
            found=f"event {name!r} in the schema's metadata"
            if name
            else "no event in its metadata",
            expected=f"one of {', '.join(_BY_NAME)}",
            hint=did_you_mean(name, _BY_NAME) or "was it written by Relume?",
        )
    found, known = version_text(schema), version_text(SCHEMAS[_BY_NAME[name]])
    if found != known:
        raise InputError(
            f"table of {name}",
            found=f"schema version {found or 'missing'}",
            expected=f"version {known}",
            hint="it was written by another version of Relume; read it with that one, or upgrade",
        )
    return _BY_NAME[name]


def name_of(schema: pa.Schema) -> str:
    """Return the name of the event in a schema's metadata, empty when there is none."""
    name: bytes = (schema.metadata or {}).get(EVENT_KEY, b"")
    return name.decode("utf-8", "replace")


def version_text(schema: pa.Schema) -> str:
    """Return the version in a schema's metadata as it stands there, empty when there is none."""
    version: bytes = (schema.metadata or {}).get(VERSION_KEY, b"")
    return version.decode("ascii", "replace")


def present_version(event: type[Event]) -> int:
    """Return the version of an event's schema that is written today."""
    return int(version_text(SCHEMAS[event]))


def _require_column(schema: pa.Schema, column: pa.Field[Any], event: type[Event]) -> None:
    position = schema.get_field_index(column.name)
    found = "no such column" if position < 0 else str(schema.field(position).type)
    if position < 0 or schema.field(position).type != column.type:
        raise InputError(
            f"column {column.name!r} of a table of {event.__name__}",
            found=found,
            expected=str(column.type),
        )


def _without_time(kind: pa.DataType) -> pa.DataType:
    """Make timestamps integers, down to those in lists of structs: no detour by datetimes."""
    if pa.types.is_timestamp(kind):
        return _INT64
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_without_time(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_time(field.type)) for field in kind])
    return kind
