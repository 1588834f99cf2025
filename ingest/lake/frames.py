"""Polars over a lake: a lazy frame a table, over what is committed, with the columns of today."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa

from relume.errors import InputError, did_you_mean
from relume.ingest.lake.journal import Segment
from relume.ingest.lake.reader import LakeReader
from relume.ingest.lake.segments import EVENTS, by_version, date_of, read_segment, schema_of
from relume.schemas import present_version


def scan(folder: Path | str, table: str) -> pl.LazyFrame:
    """Return one table of a lake; nothing but its journal is read until it is collected.

    Segments of older versions are read at once: there are few, and they are small.

    Parameters
    ----------
    folder
        The lake.
    table
        Such as ``log_line``; one that nothing landed in is empty.

    Raises
    ------
    InputError
        For an unknown table.
    LakeError
        When there is no lake, its journal is damaged, or a newer Relume wrote to it.

    Examples
    --------
    >>> import tempfile
    >>> from relume.events import Tick
    >>> from relume.ingest.lake import LakeWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LakeWriter(folder) as lake:
    ...         lake.append([Tick(event_time=1), Tick(event_time=2)])
    ...         _ = lake.commit()
    ...     scan(folder, "tick").select(pl.len()).collect().item()
    2
    """
    if table not in EVENTS:
        raise InputError(
            "table of a lake",
            found=table,
            expected=f"one of {', '.join(EVENTS)}",
            hint=did_you_mean(table, EVENTS),
        )
    folder = Path(folder)
    columns = [*schema_of(EVENTS[table]).names, "date"]
    frames = [_empty(table)]
    for version, segments in by_version(
        folder, LakeReader(folder).segments().get(table, [])
    ).items():
        if version == present_version(EVENTS[table]):
            frames.append(_present(folder, segments))
        else:
            frames += [_older(folder, segment) for segment in segments]
    return pl.concat([frame.select(columns) for frame in frames])


def _present(folder: Path, segments: list[Segment]) -> pl.LazyFrame:
    return pl.scan_parquet(
        [folder / segment.path for segment in segments],
        glob=False,
        hive_partitioning=True,
        hive_schema={"table": pl.String, "date": pl.Date},
    )


def _older(folder: Path, segment: Segment) -> pl.LazyFrame:
    table = pa.concat_tables(read_segment(folder, segment))
    return pl.LazyFrame(table).with_columns(date=pl.lit(date_of(segment)))


def _empty(table: str) -> pl.LazyFrame:
    rows = schema_of(EVENTS[table]).empty_table()
    return pl.LazyFrame(rows).with_columns(date=pl.lit(None, pl.Date))
