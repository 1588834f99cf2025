"""What is to land with the coming commit, table by table: in memory, and staged on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from relume.events import Event, LogLine, Sample
from relume.ingest.lake.batches import Landing, LineBatch
from relume.ingest.lake.columns import LANDED, PARSED, LineBuffer, require_unicode
from relume.ingest.lake.journal import Segment
from relume.ingest.lake.samplebatches import SampleBatch
from relume.ingest.lake.segments import StagedSegment, schema_of
from relume.schemas import to_table

FLUSH_BYTES = 8 << 20
"""What is held of one table before it is written to the segment of the coming commit."""


class TableBuffer:
    """What one table gets with the coming commit; held up to `FLUSH_BYTES`, the rest is on disk."""

    def __init__(self, kind: type[Event], staging: Path) -> None:
        self._kind = kind
        self._staging = staging
        self._staged: StagedSegment | None = None
        self._lines = LineBuffer()
        self._tables: list[pa.Table] = []
        self._bytes = 0

    def add(self, batch: LineBatch | pa.Table, landed: int) -> None:
        """Take a batch under the number `landed`, which rises."""
        if isinstance(batch, LineBatch):
            self._lines.add(batch, landed)
        else:
            self._tables.append(_with_number(batch, self._kind, landed))
            self._bytes += batch.nbytes
        if self._lines.bytes + self._bytes >= FLUSH_BYTES:
            self._flush()

    def publish(self, lake: Path, date: str, sequence: int) -> Segment:
        """Make all of it durable as the segment of commit `sequence`."""
        self._flush()
        assert self._staged is not None  # noqa: S101 - `_flush` has just made it
        return self._staged.publish(lake, date, sequence)

    def _flush(self) -> None:
        """Write a row group; within it and from one to the next, rows stand in landed order."""
        if self._staged is None:
            self._staged = StagedSegment(self._kind, self._staging)
        tables = self._tables
        if self._lines.bytes:
            tables = [self._lines.table(), *tables]
        if tables:
            table = pa.concat_tables(tables)
            if self._lines.bytes and len(tables) > 1:
                table = table.sort_by(LANDED)  # Arrow's sort is stable
            self._staged.write(table)
        self._lines, self._tables, self._bytes = LineBuffer(), [], 0


def prepared(landings: Iterable[Landing]) -> Iterator[tuple[type[Event], LineBatch | pa.Table]]:
    """Yield lines as they are, samples and each run of events of one kind as a table.

    Raises
    ------
    InputError
        For a value that its column can't hold.
    """
    for _, run in groupby(landings, key=type):
        events: list[Event] = []
        for landing in run:
            if isinstance(landing, SampleBatch):
                if len(landing):
                    yield Sample, landing.table()
            elif not isinstance(landing, LineBatch):
                events.append(landing)
            elif landing.block.data:
                require_unicode(landing)
                yield LogLine, landing
        if events:
            yield type(events[0]), to_table(events)


def _with_number(table: pa.Table, kind: type[Event], landed: int) -> pa.Table:
    table = table.append_column(
        schema_of(kind).field(LANDED), pa.repeat(pa.scalar(landed, pa.int64()), table.num_rows)
    )
    if kind is not LogLine:
        return table
    flags = pa.repeat(pa.scalar(value=True), table.num_rows)
    return table.append_column(schema_of(kind).field(PARSED), flags)
