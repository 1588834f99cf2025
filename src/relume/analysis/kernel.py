"""What the kernels of its nodes said while an attempt was there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from relume.ingest.forms import KERNEL
from relume.ingest.joining import NodeTimes, Stay
from relume.ingest.lake import LakeReader
from relume.ingest.lake.about import zone_of_lake
from relume.ingest.lake.frames import scan
from relume.ingest.loglines import LineParser
from relume.serve.backtest.lakes import lake_entries

SCHEMA = pl.Schema(
    {
        "attempt": pl.String(),
        "node": pl.String(),
        "event_time": pl.Datetime("us", "UTC"),
        "text": pl.String(),
        "file": pl.String(),
        "line": pl.Int64(),
    }
)
"""The columns of `kernel_lines`, in their order; none is ever null."""
_COLUMNS = ("cluster", "attempt", "node", "text", "file", "line", "offset", "observed_at")
_PRINTED = ("parsed", "event_time")


def kernel_lines(lake: Path | str, *, zone: str = "UTC") -> pl.DataFrame:
    """Return each kernel line of a lake with each attempt that was on the node then.

    An attempt is there from 2 s before its start to 60 s after its end (`relume.ingest.joining`),
    without an end for ever. A line of a log that belongs to one attempt concerns no other. Lines
    whose node or time nobody knows (time since boot) are left out, as are those of idle nodes.
    Takes some 20 microseconds a kernel line and 1 a row, and holds all of them.

    Parameters
    ----------
    lake
        Its folder.
    zone
        IANA name of the zone of clocks that name none. Of a clock without a year it is the one that
        is closest to when the line was read, in a recording to the middle of all attempts.

    Returns
    -------
    pl.DataFrame
        Of `SCHEMA`, by attempt and time. `file` and `line` (from 0) say where it stands.

    Raises
    ------
    InputError
        For an unknown zone.
    LakeError
        When the lake can't be read.
    """
    zone = zone_of_lake(Path(lake), zone)
    reader = LakeReader(lake, zone=zone)
    stays: defaultdict[str, list[Stay]] = defaultdict(list)
    for entry in lake_entries(reader, reader.index()):
        stay = Stay(entry.attempt, entry.nodes, entry.start, entry.end)
        stays[entry.job_key.cluster].append(stay)
    times = {cluster: NodeTimes(known) for cluster, known in stays.items()}
    near = _middle(stay for known in stays.values() for stay in known)
    found = pl.DataFrame(_joined(_rows(lake), times, zone, near), schema=SCHEMA, orient="row")
    return found.sort("attempt", "event_time", maintain_order=True)


def _middle(stays: Iterable[Stay]) -> int | None:
    starts = [stay.start for stay in stays if stay.start is not None]
    return (min(starts) + max(starts)) // 2 if starts else None


def _rows(lake: Path | str) -> Iterator[dict[str, Any]]:
    lines = scan(lake, "log_line").filter(pl.col("stream") == KERNEL).sort("landed", "line")
    micros = (pl.col(name).cast(pl.Int64) for name in ("observed_at", "event_time"))
    yield from (
        lines.select(*_COLUMNS, *_PRINTED).with_columns(*micros).collect().iter_rows(named=True)
    )


def _joined(
    rows: Iterable[dict[str, Any]], times: dict[str, NodeTimes], zone: str, near: int | None
) -> Iterator[tuple[object, ...]]:
    parsers: dict[str, LineParser] = {}
    for row in rows:
        node, time, file = row["node"], row["event_time"], row["file"]
        if not row["parsed"]:
            if file not in parsers:
                read = near if row["observed_at"] is None else row["observed_at"]
                parsers[file] = LineParser(file, stream=KERNEL, zone=zone, near=read)
            line = parsers[file].parse(row["text"], row["line"], row["offset"])
            node, time = line.node or node, line.event_time
        known = times.get(row["cluster"])
        for attempt in () if known is None else known.at(node, time):
            if row["attempt"] in {None, attempt}:
                yield attempt, node, time, row["text"], file, row["line"]
