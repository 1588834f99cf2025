"""Who listens to which samples of a batch: found out once a table of series, not once a sample."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from relume.features.metrics.points import Series
from relume.ingest.lake.samplebatches import NO_TIME, SampleBatch
from relume.serve.live.measured import METRICS, STALL_METRICS, Heard

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from relume.serve.live.watch import AttemptWatch

MAX_TABLES = 32
"""Tables of series that are remembered; what is read or pushed together shares one."""
Owner = Callable[[str], "AttemptWatch | None"]
"""Returns who listens to what is measured on a node; null for nobody."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The series of one table, as far as anybody may listen to them.

    `nodes`, `attempts` are numbers into `node_names`, `attempt_names`, -1 for none; `listened`,
    `of_stalls` say whether the metric is one of those.
    """

    table: pa.RecordBatch
    series: list[Series]
    node_names: list[str]
    nodes: NDArray[np.int64]
    attempt_names: list[str]
    attempts: NDArray[np.int64]
    listened: NDArray[np.bool_]
    of_stalls: NDArray[np.bool_]

    @classmethod
    def of(cls, table: pa.RecordBatch) -> _Table:
        columns: dict[str, list[Any]] = table.to_pydict()
        metrics = columns["metric"]
        names = (columns[name] for name in Series._fields)
        series = [Series(*of) for of in zip(*names, strict=True)]
        node_names, nodes = _numbered(columns["node"])
        attempt_names, attempts = _numbered(columns["attempt"])
        return cls(
            table,
            series,
            node_names,
            nodes,
            attempt_names,
            attempts,
            np.fromiter((one in METRICS for one in metrics), np.bool_, len(metrics)),
            np.fromiter((one in STALL_METRICS for one in metrics), np.bool_, len(metrics)),
        )


@dataclass(slots=True)
class Listening:
    """Splits batches of samples by who listens. Bounded: `MAX_TABLES` tables of series."""

    _tables: OrderedDict[int, _Table] = field(default_factory=OrderedDict)

    def split(self, batch: SampleBatch, owner: Owner) -> Iterator[tuple[AttemptWatch, Heard]]:
        """Yield for each attempt that listens what it hears, in the order of the batch.

        What has no time, or a metric that nobody wants, is passed over.
        """
        known = self._table(batch.series)
        rows = np.flatnonzero(known.listened[batch.row_series] & (batch.event_time != NO_TIME))
        nodes = known.nodes[batch.row_series[rows]]
        is_there = np.zeros(len(known.node_names) + 1, np.bool_)  # the last one is that of no node
        is_there[nodes] = True
        owners: dict[str, tuple[AttemptWatch, list[int]]] = {}
        for number in np.flatnonzero(is_there[:-1]).tolist():
            watch = owner(known.node_names[number])
            if watch is not None and watch.run.cluster == batch.cluster:
                owners.setdefault(watch.name, (watch, []))[1].append(number)
        whose = np.full(len(is_there), -1)
        for place, (_, numbers) in enumerate(owners.values()):
            whose[numbers] = place
        shares = _shares(whose[nodes], len(owners))
        for (watch, _), own in zip(owners.values(), shares, strict=True):
            yield watch, _heard(known, batch, rows[own], watch.name)

    def _table(self, table: pa.RecordBatch) -> _Table:
        known = self._tables.get(id(table))
        if known is None:
            known = self._tables[id(table)] = _Table.of(table)  # holds it: its id stays its own
            if len(self._tables) > MAX_TABLES:
                self._tables.popitem(last=False)
        return known


def _shares(whose: NDArray[np.int64], owners: int) -> Iterator[slice | NDArray[np.int64]]:
    """Yield the rows of each of so many owners; -1 stands for nobody."""
    if owners == 1 and not whose.any():
        yield slice(None)  # as nearly always in a backtest
        return
    order = np.argsort(whose, kind="stable")
    bounds = np.searchsorted(whose[order], np.arange(owners + 1))
    for place in range(owners):
        yield order[bounds[place] : bounds[place + 1]]


def _heard(known: _Table, batch: SampleBatch, rows: NDArray[np.int64], name: str) -> Heard:
    """Return these samples, but for those that say that they are of another attempt."""
    if known.attempt_names:
        said = known.attempts[batch.row_series[rows]]
        own = known.attempt_names.index(name) if name in known.attempt_names else -1
        rows = rows[(said == -1) | (said == own)]
    numbers = batch.row_series[rows]
    return Heard(
        known.series, numbers, batch.event_time[rows], batch.value[rows], known.of_stalls[numbers]
    )


def _numbered(names: list[str | None]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct names, and of each name which it is: -1 for null."""
    places: dict[str, int] = {}
    numbers = [-1 if name is None else places.setdefault(name, len(places)) for name in names]
    return list(places), np.array(numbers, np.int64)
