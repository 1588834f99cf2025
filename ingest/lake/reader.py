"""Reading a lake back, in the order in which it landed. Needs no lock, and never waits."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from relume.errors import InputError
from relume.events import Event, LogLine, Sample
from relume.ingest.lake.batches import LandedBlock, Landing, LineBatch, Parsers
from relume.ingest.lake.columns import LANDED, PARSED
from relume.ingest.lake.errors import MissingSegmentError
from relume.ingest.lake.index import LakeIndex, RowGroup, Selection, index_segment
from relume.ingest.lake.journal import (
    Commit,
    Segment,
    read_commits,
    read_positions,
    read_pruned,
)
from relume.ingest.lake.samplebatches import BATCH_FROM, NO_TIME, SampleBatch, landed_batches
from relume.ingest.lake.segments import check_segment, read_segment, sequence_of
from relume.schemas import event_of, from_table

_CONSTANTS = ("attempt", "stream", "node", "cluster", "source", "observed_at")


class LakeReader:
    """What was landed up to the newest commit, also while a writer goes on.

    Holds one row group a table at a time (some 8 MiB of text each).

    Parameters
    ----------
    folder
        The lake.
    zone
        IANA name of the zone of clocks in lines that name none.

    Examples
    --------
    >>> import tempfile
    >>> from relume.events import Tick
    >>> from relume.ingest.lake.writer import LakeWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with LakeWriter(folder) as lake:
    ...         lake.append([Tick(event_time=1), Tick(event_time=2)])
    ...         _ = lake.commit()
    ...     [tick.event_time for tick in LakeReader(folder).events()]
    [1, 2]
    """

    def __init__(self, folder: Path | str, *, zone: str = "UTC") -> None:
        self.folder = Path(folder)
        self._parsers = Parsers(zone)
        self._checked: set[str] = set()

    def events(self, order: Literal["landed"] = "landed") -> Iterator[Event]:
        """Yield every event in the order in which it landed, the prefixes of lines read.

        For many lines work on the batches of `landings` or on the columns: a line takes some ten
        microseconds here.

        Raises
        ------
        InputError
            For another order.
        LakeError
            As `landings`.
        """
        if order != "landed":
            raise InputError("order of events", found=repr(order), expected="'landed'")
        for landing in self.landings():
            if isinstance(landing, LineBatch):
                yield from self._parsers.lines(landing)
            elif isinstance(landing, SampleBatch):
                yield from landing.samples()
            else:
                yield landing

    def landings(self, after: int = 0) -> Iterator[Landing]:
        """Yield exactly what was appended to the writer, in order, from commit `after` + 1 on.

        A batch of lines comes back with the same data, line numbers and offsets. Samples of one
        origin that landed together are a batch from `BATCH_FROM` on, and events below that,
        whichever of both they were.

        Raises
        ------
        LakeError
            When there is no lake; its subclasses for a segment that is missing or damaged, when
            that segment is reached.
        """
        missed = None
        while True:
            try:
                for commit in read_commits(self.folder, after):
                    self._require_there(commit)
                    yield from self.landings_of(commit)
                    after = commit.sequence
            except MissingSegmentError:
                # Merged since the journal was read: the new entry of it says where it is now.
                if missed == after:
                    raise
                missed = after
            else:
                return

    def commits(self, after: int = 0) -> Iterator[Commit]:
        """Yield the journal's entries from commit `after` + 1 on; raises as `landings` does."""
        return read_commits(self.folder, after)

    def positions(self) -> dict[str, str]:
        """Return where each source stood at the newest commit; raises as `landings` does."""
        return read_positions(self.folder)

    def segments(self) -> dict[str, list[Segment]]:
        """Return the committed segments of each table in their order; raises as `landings` does."""
        tables: dict[str, list[Segment]] = {}
        for commit in read_commits(self.folder):
            for segment in commit.segments:
                tables.setdefault(segment.table, []).append(segment)
        return tables

    def tables(self) -> dict[str, list[Path]]:
        """Return the paths of the committed segments of each table; raises as `landings` does."""
        return {
            table: [self.folder / segment.path for segment in segments]
            for table, segments in self.segments().items()
        }

    def landings_of(self, commit: Commit) -> Iterator[Landing]:
        """Yield what was appended for one commit, in order; raises as `landings` does."""
        yield from _merged((self._groups(one) for one in commit.segments), commit.since)

    def index(self) -> LakeIndex:
        """Return which attempts and nodes are in which row groups, up to the newest commit.

        Reads the footers, and where they don't tell, the columns `attempt` and `node`: some
        milliseconds a segment. Raises as `landings` does.
        """
        groups: list[RowGroup] = []
        for commit in read_commits(self.folder):
            for segment in commit.segments:
                with self._unless_pruned(segment):
                    groups += index_segment(self.folder, segment, commit.sequence)
        return LakeIndex(groups)

    def landings_about(
        self,
        attempts: Collection[str],
        nodes: Collection[str] = (),
        *,
        index: LakeIndex | None = None,
        file: str | None = None,
    ) -> Iterator[Landing]:
        """Yield what landed of some attempts, in order, reading no more than its row groups.

        Ticks and the health of sources belong to no attempt, so they aren't given.

        Parameters
        ----------
        attempts
            Text forms of identities.
        nodes
            Of these what belongs to no attempt (kernel logs, node events) is given, too.
        index
            What `index` gave; made anew when null, which looks at every segment.
        file
            Of the lines only those of this log; null means of every log.

        Raises
        ------
        LakeError
            As `landings`.
        """
        wanted = Selection(attempts=frozenset(attempts), nodes=frozenset(nodes), file=file)
        groups = (index or self.index()).groups_of(wanted)
        for _, committed in groupby(groups, key=attrgetter("sequence")):
            segments: dict[Segment, list[int]] = {}
            for group in committed:
                segments.setdefault(group.segment, []).append(group.number)
            yield from _merged(
                map(wanted.rows_of, self._groups(segment, numbers))
                for segment, numbers in segments.items()
            )

    def _groups(self, segment: Segment, numbers: Sequence[int] | None = None) -> Iterator[pa.Table]:
        """Row groups of a segment, which is checked the first time that this reader meets it."""
        with self._unless_pruned(segment):
            if segment.path not in self._checked:
                check_segment(self.folder, segment)
                self._checked.add(segment.path)
            yield from read_segment(self.folder, segment, numbers)

    def _require_there(self, commit: Commit) -> None:
        """Raise before anything of a commit is given whose segments were merged meanwhile."""
        for segment in commit.segments:
            if not (self.folder / segment.path).exists():
                with self._unless_pruned(segment):
                    check_segment(self.folder, segment)

    @contextmanager
    def _unless_pruned(self, segment: Segment) -> Iterator[None]:
        """Pass over a segment that was pruned since the journal was read."""
        try:
            yield
        except MissingSegmentError:
            if sequence_of(Path(segment.path)) > read_pruned(self.folder):
                raise


def _merged(tables: Iterable[Iterable[pa.Table]], since: int | None = None) -> Iterator[Landing]:
    """What landed, through all tables of a commit, each given as its row groups in order.

    What has a number below `since` isn't meant.
    """
    runs = [_runs(groups) for groups in tables]
    for number, landings in heapq.merge(*runs, key=itemgetter(0)):
        if since is None or number >= since:
            yield from landings


def _runs(groups: Iterable[pa.Table]) -> Iterator[tuple[int, list[Landing]]]:
    """What landed together, with its number, in the order of the numbers."""
    for group in groups:
        if not group.num_rows:
            continue
        kind = event_of(group.schema)
        if kind is LogLine:
            yield from _line_runs(group)
            continue
        if kind is Sample:
            yield from _sample_runs(group)
            continue
        events = from_table(group)
        for number, start, end in _numbers(group):
            yield number, list(events[start:end])


def _line_runs(group: pa.Table) -> Iterator[tuple[int, list[Landing]]]:
    """Batches of lines, and lines that had been parsed before they landed."""
    parsed = iter(from_table(group.filter(group.column(PARSED))))
    plain = group
    for name in ("observed_at", "event_time"):
        place = group.schema.get_field_index(name)
        plain = plain.set_column(place, name, group.column(name).cast(pa.int64()))
    plain = plain.combine_chunks()
    for number, start, end in _numbers(group):
        rows = plain.slice(start, end - start)
        if rows.column(PARSED)[0].as_py():
            yield number, list(islice(parsed, end - start))
        else:
            yield number, [_batch(rows)]


def _sample_runs(group: pa.Table) -> Iterator[tuple[int, list[Landing]]]:
    """Batches of samples, and events where only a few landed together."""
    for number, batch in landed_batches(group, LANDED):
        yield number, [batch] if len(batch) >= BATCH_FROM else list(batch.samples())


def _batch(rows: pa.Table) -> LineBatch:
    columns = (rows.column(name).to_pylist() for name in ("text", "line", "offset"))
    times = rows.column("event_time")
    told = None
    if times.null_count < len(times):
        told = times.combine_chunks().fill_null(NO_TIME).to_numpy()
    return LineBatch(
        block=LandedBlock(rows.column("file")[0].as_py(), *columns),
        event_times=told,
        **{name: rows.column(name)[0].as_py() for name in _CONSTANTS},
    )


def _numbers(group: pa.Table) -> Iterator[tuple[int, int, int]]:
    """(landing number, first row, row after the last) of each run of rows."""
    runs = pc.run_end_encode(group.column(LANDED).combine_chunks())
    if isinstance(runs, pa.ChunkedArray):
        runs = runs.combine_chunks()
    start = 0
    for number, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield number, start, end
        start = end
