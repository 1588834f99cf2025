"""What is where in a lake, so that one attempt can be read without the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from relume.ingest.lake.columns import LANDED
from relume.ingest.lake.journal import Segment
from relume.ingest.lake.segments import opened_segment

ATTEMPT, NODE, FILE, STREAM = "attempt", "node", "file", "stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Rows of some attempts, and rows of some nodes that belong to no attempt (kernel logs).

    Where `file` is given, only lines of that log are meant.
    """

    attempts: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    file: str | None = None

    def rows_of(self, group: pa.Table) -> pa.Table:
        """Return the rows of `group` that are meant, in their order.

        What has neither an attempt nor a node (ticks, health of sources) never is.
        """
        names = group.schema.names
        none = pa.repeat(pa.scalar(value=False), group.num_rows)
        wanted, is_free = none, pa.repeat(pa.scalar(value=True), group.num_rows)
        if ATTEMPT in names:
            attempt = group.column(ATTEMPT)
            wanted = pc.is_in(attempt, pa.array(self.attempts, pa.string()))
            is_free = pc.is_null(attempt)
        if NODE in names:
            on_node = pc.is_in(group.column(NODE), pa.array(self.nodes, pa.string()))
            wanted = pc.or_(wanted, pc.and_(is_free, on_node))
        if self.file is not None and FILE in names:
            wanted = pc.and_(wanted, pc.equal(group.column(FILE), self.file))
        return group.filter(wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """One row group of a committed segment, and whose rows it holds.

    Attributes
    ----------
    sequence
        Number of the commit.
    segment, number
        Where it is; row groups of a segment are numbered from 0.
    rows
        How many rows.
    first_landed, last_landed
        Numbers of its first and last batch, see the column `landed`.
    attempts
        Attempts with a row in it.
    nodes
        Nodes with a row in it that belongs to no attempt.
    """

    sequence: int
    segment: Segment
    number: int
    rows: int
    first_landed: int
    last_landed: int
    attempts: frozenset[str]
    nodes: frozenset[str]

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.segment.table


class LakeIndex:
    """Which attempts and nodes are in which row groups; holds some hundred bytes a row group.

    Attributes
    ----------
    groups
        All row groups in the order of the commits; within a commit table by table.
    """

    def __init__(self, groups: Collection[RowGroup]) -> None:
        self.groups = tuple(groups)
        self._attempts: dict[str, list[int]] = {}
        self._nodes: dict[str, list[int]] = {}
        for position, group in enumerate(self.groups):
            for attempt in group.attempts:
                self._attempts.setdefault(attempt, []).append(position)
            for node in group.nodes:
                self._nodes.setdefault(node, []).append(position)

    @property
    def attempts(self) -> Collection[str]:
        """Every attempt with a row, in the order in which they first landed."""
        return self._attempts.keys()

    @property
    def nodes(self) -> Collection[str]:
        """Every node with a row that belongs to no attempt."""
        return self._nodes.keys()

    def groups_of(self, wanted: Selection) -> list[RowGroup]:
        """Return the row groups with any row of `wanted`, in the order of `groups`."""
        positions = {at for name in wanted.attempts for at in self._attempts.get(name, ())}
        positions |= {at for name in wanted.nodes for at in self._nodes.get(name, ())}
        return [self.groups[at] for at in sorted(positions)]


def index_segment(lake: Path, segment: Segment, sequence: int) -> Iterator[RowGroup]:
    """Yield the row groups of a segment, from its footer and at most two columns.

    Raises
    ------
    MissingSegmentError, CorruptSegmentError
        When the file isn't there, or can't be read.
    """
    with opened_segment(lake, segment) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            columns = {group.column(at).path_in_schema: at for at in range(group.num_columns)}
            landed = group.column(columns[LANDED]).statistics
            attempts, nodes = _owners(file, number, columns)
            yield RowGroup(
                sequence=sequence,
                segment=segment,
                number=number,
                rows=group.num_rows,
                first_landed=landed.min,
                last_landed=landed.max,
                attempts=attempts,
                nodes=nodes,
            )


def logs_in(lake: Path, group: RowGroup, wanted: Selection) -> list[tuple[str, str, str | None]]:
    """Return (file, stream, node) of each log of `wanted` in a row group of lines, in order.

    Raises as `index_segment` does.
    """
    columns = [FILE, STREAM, NODE, ATTEMPT]
    with opened_segment(lake, group.segment) as file:
        rows = file.read_row_group(group.number, columns=columns, use_threads=False)
    keys = wanted.rows_of(rows).group_by(columns[:-1], use_threads=False).aggregate([])
    return [(row[FILE], row[STREAM], row[NODE]) for row in keys.to_pylist()]


def _owners(
    file: pq.ParquetFile, number: int, columns: dict[str, int]
) -> tuple[frozenset[str], frozenset[str]]:
    """Attempts of a row group, and nodes of its rows without one. Statistics mostly tell."""
    group = file.metadata.row_group(number)
    attempts = _constant(group, columns[ATTEMPT]) if ATTEMPT in columns else None
    if attempts or columns.keys().isdisjoint((ATTEMPT, NODE)):
        return attempts or frozenset(), frozenset()
    named = [name for name in (ATTEMPT, NODE) if name in columns]
    rows = file.read_row_group(number, columns=named, use_threads=False)
    nodes = rows
    if ATTEMPT in columns:
        attempts = _distinct(rows.column(ATTEMPT))
        nodes = rows.filter(pc.is_null(rows.column(ATTEMPT)))
    found = _distinct(nodes.column(NODE)) if NODE in columns else frozenset()
    return attempts or frozenset(), found


def _constant(group: pq.RowGroupMetaData, at: int) -> frozenset[str] | None:
    """The one value that all rows of a column have; null when that isn't known."""
    found = group.column(at).statistics
    if found is None or not found.has_min_max or found.null_count or found.min != found.max:
        return None
    return frozenset((found.min,))


def _distinct(column: pa.ChunkedArray) -> frozenset[str]:
    return frozenset(pc.unique(column).drop_null().to_pylist())
