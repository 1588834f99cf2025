"""Segments: the Parquet files of the lake, one a table and commit, written once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from relume.errors import InputError
from relume.events import Event, LogLine
from relume.ingest.lake.columns import LANDED, LINE_SCHEMA
from relume.ingest.lake.errors import (
    CorruptSegmentError,
    MissingSegmentError,
    NewerSegmentError,
)
from relume.ingest.lake.files import checksum, publish
from relume.ingest.lake.journal import Segment
from relume.ingest.lake.migrations import migrated, require_known, version_of
from relume.schemas import SCHEMAS, present_version

TABLES: Mapping[type[Event], str] = MappingProxyType(
    {kind: re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower() for kind in SCHEMAS}
)
"""Name of the table of each event: ``log_line`` for `LogLine`."""
EVENTS: Mapping[str, type[Event]] = MappingProxyType({name: kind for kind, name in TABLES.items()})

# Text hardly ever repeats, numbers of lines count up, the rest is nearly constant.
_LINE_ENCODINGS = {
    "text": "DELTA_LENGTH_BYTE_ARRAY",
    **dict.fromkeys(("line", "offset", LANDED), "DELTA_BINARY_PACKED"),
}
_LINE_OPTIONS: dict[str, Any] = {
    "column_encoding": _LINE_ENCODINGS,
    "use_dictionary": [n for n in LINE_SCHEMA.names if n not in {*_LINE_ENCODINGS, "parsed"}],
    "write_statistics": ["attempt", "node", "event_time", "observed_at", LANDED],
}
_LEVEL = 1
"""Level 9 makes files 7 % smaller for five times the work."""


def schema_of(kind: type[Event]) -> pa.Schema:
    """Return the columns of an event's table in the lake."""
    if kind is LogLine:
        return LINE_SCHEMA
    return SCHEMAS[kind].append(pa.field(LANDED, pa.int64(), nullable=False))


class StagedSegment:
    """A segment that is being written, row group by row group, where no reader looks.

    Attributes
    ----------
    table
        Its table.
    rows
        Rows written so far.
    """

    def __init__(self, kind: type[Event], staging: Path) -> None:
        self.table = TABLES[kind]
        self.rows = 0
        self._path = staging / f"{self.table}.parquet"
        self._writer = pq.ParquetWriter(
            self._path,
            schema_of(kind),
            compression="zstd",
            compression_level=_LEVEL,
            **(_LINE_OPTIONS if kind is LogLine else {}),
        )

    def write(self, table: pa.Table) -> None:
        """Add one row group."""
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))
        self.rows += table.num_rows

    def publish(self, lake: Path, date: str, sequence: int, *, first: int | None = None) -> Segment:
        """Make it durable under its name, see `file_name`."""
        self._writer.close()
        path = f"table={self.table}/date={date}/{file_name(sequence, first)}"
        crc = checksum(self._path)
        size = publish(self._path, lake / path)
        return Segment(
            table=self.table,
            path=path,
            rows=self.rows,
            bytes=size,
            crc32=crc,
            schema_version=present_version(EVENTS[self.table]),
        )


def file_name(sequence: int, first: int | None = None) -> str:
    """Name of the segments of commit `sequence`, whatever their table and date.

    `first` is the first commit that was merged into it; null for none.

    >>> file_name(12), file_name(12, 3)
    ('00000000000000000012.parquet', '00000000000000000012-3.parquet')
    """
    return f"{sequence:020d}.parquet" if first is None else f"{sequence:020d}-{first}.parquet"


def sequence_of(path: Path) -> int:
    """Number of the commit that a segment is of."""
    return int(path.stem.partition("-")[0])


def date_of(segment: Segment) -> date:
    """UTC day on which a segment was committed."""
    return date.fromisoformat(Path(segment.path).parent.name.removeprefix("date="))


def read_segment(
    lake: Path, segment: Segment, groups: Sequence[int] | None = None
) -> Iterator[pa.Table]:
    """Yield row groups of a segment, all of them when `groups` is null, by number else.

    They have the columns of today, whatever version wrote them.

    Raises
    ------
    MissingSegmentError
        When the file isn't there.
    CorruptSegmentError
        When it can't be read, or holds something else.
    NewerSegmentError
        When a newer Relume wrote it.
    """
    kind = event_of_table(lake, segment)
    with opened_segment(lake, segment) as file:
        for group in range(file.num_row_groups) if groups is None else groups:
            table = file.read_row_group(group, use_threads=False)
            yield migrated(table, kind, schema_of(kind), f"lake segment {lake / segment.path}")


def event_of_table(lake: Path, segment: Segment) -> type[Event]:
    """Return what a segment holds.

    Raises
    ------
    NewerSegmentError
        When no event of this Relume has such a table.
    """
    if segment.table not in EVENTS:
        raise NewerSegmentError(
            f"lake segment {lake / segment.path}",
            found=f"table {segment.table!r}",
            expected=f"one of {', '.join(EVENTS)}",
            hint="it was written by a newer Relume; read the lake with that one",
        )
    return EVENTS[segment.table]


def by_version(lake: Path, segments: Iterable[Segment]) -> dict[int, list[Segment]]:
    """Return segments of known tables by their schema version.

    Opens those of which the journal doesn't say it: they are of an older Relume.

    Raises
    ------
    NewerSegmentError
        When a newer Relume wrote one.
    MissingSegmentError, CorruptSegmentError
        When one that has to be opened isn't there, or can't be read.
    """
    versions: dict[int, list[Segment]] = {}
    for segment in segments:
        version = segment.schema_version
        if version is None:
            version = version_of(schema_on_disk(lake, segment))
        event = event_of_table(lake, segment)
        require_known(event, version, f"lake segment {lake / segment.path}")
        versions.setdefault(version, []).append(segment)
    return versions


def schema_on_disk(lake: Path, segment: Segment) -> pa.Schema:
    """Return the columns that a segment was written with; raises as `opened_segment` does."""
    with opened_segment(lake, segment) as file:
        return file.schema_arrow


def check_segment(lake: Path, segment: Segment) -> None:
    """Compare a segment with what the journal says of it; reads all of the file.

    Raises
    ------
    MissingSegmentError
        When the file isn't there.
    CorruptSegmentError
        When it isn't what was committed.
    """
    path = lake / segment.path
    with _told(path, segment):
        size, crc = path.stat().st_size, checksum(path)
    if (size, crc) != (segment.bytes, segment.crc32):
        found = f"{size} bytes with checksum {crc:08x}"
        raise _corrupt(path, found, f"{segment.bytes} bytes with {segment.crc32:08x}")


@contextmanager
def opened_segment(lake: Path, segment: Segment) -> Iterator[pq.ParquetFile]:
    """Open a segment; what goes wrong with it, also while it is read, is told by our errors."""
    path = lake / segment.path
    with _told(path, segment), pq.ParquetFile(path) as file:
        yield file


@contextmanager
def _told(path: Path, segment: Segment) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise MissingSegmentError(
            f"lake segment {path}",
            found="no such file",
            expected=f"{segment.rows} rows of {segment.table}",
            hint="segments are never deleted one by one; restore it from a copy",
        ) from error
    except (pa.ArrowException, OSError, InputError) as error:
        raise _corrupt(path, str(error), "a whole Parquet file") from error


def _corrupt(path: Path, found: str, expected: str) -> CorruptSegmentError:
    return CorruptSegmentError(
        f"lake segment {path}",
        found=found,
        expected=expected,
        hint="restore it from a copy; check the disk",
    )
