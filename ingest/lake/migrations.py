"""Segments of older schema versions, read as if they had been written today.

A segment says in its metadata which version it is. A column that a version brought is null in
older rows, or an empty list where null isn't allowed (`relume.ingest.lake.sql` relies on that).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import pyarrow as pa

from relume.errors import InputError
from relume.events import Event, NodeEvent, Sample, SchedulerEvent
from relume.ingest.lake.errors import NewerSegmentError
from relume.schemas import SCHEMAS, name_of, present_version, version_text

Migration: TypeAlias = Callable[[pa.Table], pa.Table]
"""Makes a table of the next version from one of a version; pure. Its metadata are not looked at."""


def _with_limits(table: pa.Table) -> pa.Table:
    """Version 2 of SchedulerEvent: whose job it is, which nodes it excludes and asks for."""
    return with_columns(
        table, SchedulerEvent, "user", "exclude_nodes", "required_nodes", "num_nodes"
    )


def _with_name(table: pa.Table) -> pa.Table:
    """Version 3 of SchedulerEvent: the job's name."""
    return with_columns(table, SchedulerEvent, "name")


def _with_gpus(table: pa.Table) -> pa.Table:
    """Version 4 of SchedulerEvent: its GPUs, where and since when it could run, until when."""
    return with_columns(table, SchedulerEvent, "gpus", "eligible_time", "partition", "deadline")


def _with_partitions(table: pa.Table) -> pa.Table:
    """Version 2 of NodeEvent: the partitions that the node is in."""
    return with_columns(table, NodeEvent, "partitions")


def _with_device(table: pa.Table) -> pa.Table:
    """Version 2 of Sample: which NIC, interface or other part of the node a series is of."""
    return with_columns(table, Sample, "device")


MIGRATIONS: Mapping[tuple[type[Event], int], Migration] = MappingProxyType(
    {
        (SchedulerEvent, 1): _with_limits,
        (SchedulerEvent, 2): _with_name,
        (SchedulerEvent, 3): _with_gpus,
        (NodeEvent, 1): _with_partitions,
        (Sample, 1): _with_device,
    }
)
"""How to come from a version of an event to the next one."""


def version_of(schema: pa.Schema) -> int:
    """Return the schema version that a table's metadata name.

    Raises
    ------
    InputError
        When they name none.
    """
    text = version_text(schema)
    if not text.isdecimal():
        raise InputError(
            "table of the lake", found=f"schema version {text or 'missing'}", expected="a number"
        )
    return int(text)


def require_known(event: type[Event], version: int, where: str) -> None:
    """Refuse what a newer Relume wrote.

    Raises
    ------
    NewerSegmentError
        When it did.
    """
    if version > present_version(event):
        raise NewerSegmentError(
            where,
            found=f"schema version {version} of {event.__name__}",
            expected=f"at most version {present_version(event)}",
            hint="it was written by a newer Relume; read the lake with that one",
        )


def migrated(table: pa.Table, event: type[Event], schema: pa.Schema, where: str) -> pa.Table:
    """Return a table of any older version as one of the present version.

    Parameters
    ----------
    table
        Its metadata name its version.
    event, schema
        What it holds, and the columns of today.
    where
        What the table is, for messages.

    Raises
    ------
    NewerSegmentError
        For a version that is newer than ours.
    InputError
        For a table that doesn't name its event, or its version.
    """
    name = name_of(table.schema)
    if name != event.__name__:
        raise InputError(where, found=f"a table of {name or 'no event'}", expected=event.__name__)
    version = version_of(table.schema)
    require_known(event, version, where)
    if version == present_version(event):
        return table
    for older in range(version, present_version(event)):
        table = MIGRATIONS[event, older](table)
    return table.select(schema.names).cast(schema)


def with_columns(table: pa.Table, event: type[Event], *names: str) -> pa.Table:
    """Return a table with columns of today's schema added: null, or empty lists where required."""
    for name in names:
        field = SCHEMAS[event].field(name)
        empty: list[object] | None = None if field.nullable else []
        column = pa.array([empty], field.type).take(pa.repeat(pa.scalar(0), table.num_rows))
        table = table.append_column(field, column)
    return table
