"""What a lake holds, table by table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from relume.ingest.lake.reader import LakeReader
from relume.ingest.lake.segments import by_version
from relume.ingest.lake.sql import connect


@dataclass(frozen=True, slots=True, kw_only=True)
class TableContents:
    """One table.

    Attributes
    ----------
    segments, rows, bytes
        How many files, their rows, their size on disk.
    first, last
        The earliest and the latest time in it, ISO 8601 in UTC: when something happened, else when
        it was read; null where no row says either (lines of recordings, whose clocks aren't read
        when they land).
    schema_versions
        Versions of its segments.
    """

    table: str
    segments: int
    rows: int
    bytes: int
    first: str | None
    last: str | None
    schema_versions: tuple[int, ...]


def contents(folder: Path) -> list[TableContents]:
    """Return the tables that hold anything, in the order in which they first did.

    Raises
    ------
    LakeError
        When there is no lake, its journal is damaged, or a newer Relume wrote to it.
    """
    found = []
    tables = LakeReader(folder).segments()
    with connect(folder, segments=tables) as connection:
        for table, segments in tables.items():
            times = "coalesce(event_time, observed_at)"
            form = "'%Y-%m-%dT%H:%M:%S.%fZ'"
            relation = connection.table(table).aggregate(
                f"strftime(min({times}), {form}), strftime(max({times}), {form})"
            )
            [(first, last)] = relation.fetchall()
            found.append(
                TableContents(
                    table=table,
                    segments=len(segments),
                    rows=sum(segment.rows for segment in segments),
                    bytes=sum(segment.bytes for segment in segments),
                    first=first,
                    last=last,
                    schema_versions=tuple(sorted(by_version(folder, segments))),
                )
            )
    return found
