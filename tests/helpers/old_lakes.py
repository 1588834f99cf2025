"""Lakes as older versions of Relume left them: segments of theirs put in by hand."""

from __future__ import annotations

import zlib
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from relume.ingest.lake import LakeWriter
from relume.ingest.lake.journal import FOLDER, read_commits

_TEXTS = pa.list_(pa.field("item", pa.string(), nullable=False))
_FIRST_SCHEDULER_EVENT = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("cluster", pa.string(), nullable=False),
        pa.field("event_time", pa.timestamp("us", "UTC")),
        pa.field("observed_at", pa.timestamp("us", "UTC")),
        pa.field("attempt", pa.string(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("nodes", _TEXTS, nullable=False),
        pa.field("exit_code", pa.int32()),
        pa.field("signal", pa.int32()),
        pa.field("reason", pa.string()),
        pa.field("time_limit_seconds", pa.int64()),
        pa.field("requeue", pa.bool_()),
        pa.field("comment", pa.string()),
        pa.field("landed", pa.int64(), nullable=False),
    ],
    metadata={"relume.event": "SchedulerEvent", "relume.schema_version": "1"},
)
"""SchedulerEvent as it was before it knew of users and of limits on nodes."""


_SECOND_SCHEDULER_EVENT = pa.schema(
    [
        *list(_FIRST_SCHEDULER_EVENT)[:-1],
        pa.field("user", pa.string()),
        pa.field("exclude_nodes", _TEXTS, nullable=False),
        pa.field("required_nodes", _TEXTS, nullable=False),
        pa.field("num_nodes", pa.int32()),
        _FIRST_SCHEDULER_EVENT.field("landed"),
    ],
    metadata={"relume.event": "SchedulerEvent", "relume.schema_version": "2"},
)
"""The same before it knew the names of jobs."""


_FIRST_SAMPLE = pa.schema(
    [
        pa.field("source", pa.string(), nullable=False),
        pa.field("cluster", pa.string(), nullable=False),
        pa.field("event_time", pa.timestamp("us", "UTC")),
        pa.field("observed_at", pa.timestamp("us", "UTC")),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("node", pa.string()),
        pa.field("gpu", pa.string()),
        pa.field("rank", pa.int32()),
        pa.field("attempt", pa.string()),
        pa.field("landed", pa.int64(), nullable=False),
    ],
    metadata={"relume.event": "Sample", "relume.schema_version": "1"},
)
"""Sample as it was before it knew of NICs and other parts of a node."""


def first_sample(landed: int) -> pa.Table:
    """Return one row of version 1."""
    row = {"source": "dcgm", "cluster": "lab", "metric": "gpu_power_watts", "value": 99.5}
    rows = [row | {"node": "n1", "gpu": "3", "landed": landed}]
    return pa.Table.from_pylist(rows, schema=_FIRST_SAMPLE)


def first_scheduler_event(landed: int, **fields: object) -> pa.Table:
    """Return one row of version 1."""
    row = {"source": "slurm", "cluster": "lab", "state": "RUNNING", "nodes": ["n1", "n2"]}
    return pa.Table.from_pylist(
        [row | {"attempt": "lab/1@1.0", "landed": landed} | fields], schema=_FIRST_SCHEDULER_EVENT
    )


def second_scheduler_event(landed: int, **fields: object) -> pa.Table:
    """Return one row of version 2."""
    row: dict[str, object] = {"source": "slurm", "cluster": "lab", "state": "RUNNING"}
    row |= {"nodes": ["n1", "n2"], "user": "u1", "exclude_nodes": ["n9"], "required_nodes": []}
    row |= {"num_nodes": 2}
    return pa.Table.from_pylist(
        [row | {"attempt": "lab/3@1.0", "landed": landed} | fields], schema=_SECOND_SCHEDULER_EVENT
    )


def third_scheduler_event(landed: int, **fields: object) -> pa.Table:
    """Return one row of version 3."""
    older = second_scheduler_event(landed, **fields).append_column(
        pa.field("name", pa.string()), pa.array(["train"])
    )
    version = {"relume.event": "SchedulerEvent", "relume.schema_version": "3"}
    return older.replace_schema_metadata(version)


def land_by_hand(folder: Path, name: str, table: pa.Table) -> None:
    """Commit a table as the only segment, without what today's journal says of it."""
    with LakeWriter(folder) as lake:
        lake.commit({"hand": str(lake.sequence)})
    sequence = max(commit.sequence for commit in read_commits(folder))
    path = f"table={name}/date=2025-06-07/{sequence:020d}.parquet"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / path)
    data = (folder / path).read_bytes()
    segment = {"table": name, "path": path, "rows": table.num_rows}
    segment |= {"bytes": len(data), "crc32": zlib.crc32(data)}
    [journal] = (folder / FOLDER).iterdir()
    lines = journal.read_bytes().splitlines(keepends=True)
    entry = msgspec.json.decode(lines[-1][9:]) | {"segments": [segment]}
    body = msgspec.json.encode(entry)
    journal.write_bytes(b"".join(lines[:-1]) + b"%08x %s\n" % (zlib.crc32(body), body))
