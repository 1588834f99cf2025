"""The metrics of a recorded lake, by their own times: of nodes that a unit had for itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relume.clock import MICROSECONDS_PER_SECOND
from relume.dataset import AttemptEntry
from relume.events import Sample
from relume.ingest.joining import short_name
from relume.ingest.lake import LakeReader
from relume.ingest.lake.index import LakeIndex
from relume.ingest.lake.samplebatches import SampleBatch, batch_of_rows
from relume.ingest.lake.samples import read_sample_tables
from relume.ingest.lake.segments import TABLES
from relume.serve.live.measured import METRICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

SamplesFrom: TypeAlias = Callable[[int], Iterator[Sample | SampleBatch]]
"""Reads samples from a time on (UTC microseconds), in the order of their times, which they have."""
_SAMPLES = TABLES[Sample]
_FOREVER = 200_000 * 365 * 86_400 * MICROSECONDS_PER_SECOND
"""Later than any time, and one that DuckDB knows."""
_COLUMNS = ("node", "gpu", "device", "metric", "value", "cluster", "attempt")
_WANTED = """event_time BETWEEN make_timestamptz($begin) AND make_timestamptz($end)
AND node IN (SELECT unnest($nodes)) AND metric IN (SELECT unnest($metrics))"""


@dataclass(frozen=True, slots=True)
class _Times:
    """Stretches of time that don't overlap."""

    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, stretches: Iterable[tuple[int, int]]) -> _Times:
        starts: list[int] = []
        ends: list[int] = []
        for start, end in sorted(stretches):
            if ends and start <= ends[-1]:
                ends[-1] = max(ends[-1], end)
            else:
                starts.append(start)
                ends.append(end)
        return cls(starts, ends)

    def hold(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        at = np.searchsorted(self.starts, times, side="right") - 1
        held: NDArray[np.bool_] = (at >= 0) & (times < np.array(self.ends)[at])
        return held


@dataclass(slots=True)
class LakeMetrics:
    """What of a lake's samples each unit gets.

    A live judge knows of every attempt who has a node for itself. In a unit only its own attempts
    are replayed: of a node on which an attempt of another unit ran, nothing of that time is given.

    Parameters
    ----------
    reader, index
        The lake.
    entries
        All of its attempts.
    """

    reader: LakeReader
    index: LakeIndex
    entries: Sequence[AttemptEntry]
    _names: dict[str, list[str]] = field(init=False)
    _stays: defaultdict[tuple[str, str], list[tuple[str, int, int]]] = field(init=False)
    _clusters: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._names, self._stays = {}, defaultdict(list)
        self._clusters = frozenset(entry.job_key.cluster for entry in self.entries)
        if not any(group.table == _SAMPLES for group in self.index.groups):
            return
        for name in self.index.nodes:
            self._names.setdefault(short_name(name), []).append(name)
        for entry in self.entries:
            if entry.start is not None:
                end = _FOREVER if entry.end is None else entry.end
                for node in entry.nodes:
                    place = entry.job_key.cluster, short_name(node)
                    self._stays[place].append((entry.attempt, entry.start, end))

    def of(self, entries: Sequence[AttemptEntry]) -> SamplesFrom | None:
        """Return what reads the samples of the attempts of a unit; null where there can be none."""
        nodes = {short_name(node): node for entry in entries for node in entry.nodes}
        named = {name: node for short, node in nodes.items() for name in self._names.get(short, ())}
        if not named:
            return None
        own, cluster = {entry.attempt for entry in entries}, entries[0].job_key.cluster
        others = {
            node: _Times.of(
                (start, end) for name, start, end in self._stays[cluster, short] if name not in own
            )
            for short, node in nodes.items()
        }
        ends = [entry.end for entry in entries]
        end = _FOREVER if None in ends else max(one for one in ends if one is not None)
        return partial(self._read, named, others, cluster, end)

    def _read(
        self,
        named: Mapping[str, str],
        others: Mapping[str, _Times],
        cluster: str,
        end: int,
        begin: int,
    ) -> Iterator[SampleBatch]:
        is_only = len(self._clusters) == 1  # whoever imported samples may not have said whose
        for rows in _rows(Path(self.reader.folder), named, begin, end):
            own = rows if is_only else rows.filter(pc.equal(rows["cluster"], cluster))
            if not own.num_rows:
                continue
            nodes = pa.array([named[name] for name in own["node"].to_pylist()], pa.string())
            place = own.column_names.index("node")
            own = own.set_column(place, "node", nodes)
            batch = batch_of_rows(own, source="lake", cluster=cluster)
            alone = _alone(batch, others)
            if alone.any():
                yield batch if alone.all() else batch.chosen(alone)


def _rows(lake: Path, nodes: Collection[str], begin: int, end: int) -> Iterator[pa.Table]:
    wanted = {"begin": begin, "end": end, "nodes": sorted(nodes), "metrics": sorted(METRICS)}
    return read_sample_tables(lake, _COLUMNS, _WANTED, wanted)


def _alone(batch: SampleBatch, others: Mapping[str, _Times]) -> NDArray[np.bool_]:
    """Whether no attempt of another unit ran on the node of each sample at its time."""
    alone = np.ones(len(batch), np.bool_)
    nodes = np.array(batch.series.column("node").to_pylist())[batch.row_series]
    for node in np.unique(nodes).tolist():
        if others[node].starts:
            at = np.flatnonzero(nodes == node)
            alone[at] = ~others[node].hold(batch.event_time[at])
    return alone
