"""Who listens to which samples of a batch: found out once a series, not once a sample."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from relume.features.metrics.points import Series
from relume.ingest.lake.samplebatches import NO_TIME, SampleBatch
from relume.serve.live.measured import METRICS, STALL_METRICS, Heard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from relume.serve.live.watch import AttemptWatch

    _Rows = NDArray[np.int32] | NDArray[np.int64]

MAX_TABLES = 32
"""Tables and books of series that are remembered; what is read or pushed together shares one."""
_NONE = -1
_FIELDS = Series._fields
_COLUMNS = ("nodes", "attempts", "told", "places", "listened", "of_stalls", "_is_known")
Owner = Callable[[str], "AttemptWatch | None"]
"""Returns who listens to what is measured on a node; null for nobody."""


class _Names:
    """Names by number: those of a column's dictionary, which a book only makes longer."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def numbers(self, column: pa.DictionaryArray) -> NDArray[np.int32]:
        """Return the number of each value, -1 for null."""
        more = column.dictionary[len(self.names) :]
        self.names += more.to_pylist()
        found = column.indices.fill_null(_NONE).to_numpy(zero_copy_only=False)
        return np.asarray(found, np.int32)

    def texts(self, column: pa.DictionaryArray) -> list[str | None]:
        """Return the names themselves; a tenth of the cost of asking Arrow for each."""
        numbers = self.numbers(column).tolist()
        names = self.names
        return [None if number < 0 else names[number] for number in numbers]


@dataclass(slots=True)
class _Told:
    """The series that one attempt hears of, numbered among themselves."""

    number: int
    series: list[Series] = field(default_factory=list)


class _Known:
    """What is known of the series of a table, or a book, by their numbers there.

    `nodes`, `attempts` are numbers into the names of those, -1 for none; `listened`, `of_stalls`
    say whether the metric is one of those. `told` says to whom a series was told last, and `places`
    which of the series of that one it is.
    """

    def __init__(self, whose: object) -> None:
        self.whose = whose  # held, so that its id stays its own
        self._words = {name: _Names() for name in (*_FIELDS, "attempt")}
        self._attempts: dict[str, _Told] = {}
        self._given = 0
        self._is_known = np.zeros(0, np.bool_)
        self.nodes, self.attempts, self.told, self.places = np.zeros((4, 0), np.int32)
        self.listened, self.of_stalls = np.zeros((2, 0), np.bool_)

    @property
    def node_names(self) -> list[str]:
        """The names of nodes, by number."""
        return self._words["node"].names

    @property
    def attempt_names(self) -> list[str]:
        """The names of attempts, by number."""
        return self._words["attempt"].names

    def learn(self, numbers: NDArray[np.int32], table: pa.RecordBatch) -> None:
        """Take what series are, by their numbers, where that isn't known yet."""
        if len(numbers) and (needed := int(numbers.max()) + 1) > len(self._is_known):
            self._grow(max(needed, 2 * len(self._is_known)))
        rows = np.flatnonzero(~self._is_known[numbers])
        if not len(rows):
            return
        new, some = numbers[rows], table
        if len(rows) < len(numbers):
            some = table.take(pa.array(rows))
        words = self._words
        metrics = words["metric"].numbers(some.column("metric"))
        self.nodes[new] = words["node"].numbers(some.column("node"))
        self.attempts[new] = words["attempt"].numbers(some.column("attempt"))
        self.listened[new] = _among(words["metric"].names, METRICS)[metrics]
        self.of_stalls[new] = _among(words["metric"].names, STALL_METRICS)[metrics]
        self._is_known[new] = True

    def tell(
        self, attempt: str, numbers: NDArray[np.int32], table: pa.RecordBatch, rows: _Rows
    ) -> tuple[list[Series], NDArray[np.int32]]:
        """Return the series that an attempt hears of, and which of them some are.

        Those stand in `rows` of the table.
        """
        told = self._attempts.get(attempt)
        if told is None:
            self._given += 1
            told = self._attempts[attempt] = _Told(self._given)
        new = np.flatnonzero(self.told[numbers] != told.number)
        if len(new):
            of, firsts = np.unique(numbers[new], return_index=True)
            some = table.take(pa.array(rows[new[firsts]]))
            texts = (self._words[name].texts(some.column(name)) for name in _FIELDS)
            self.told[of] = told.number
            self.places[of] = np.arange(len(told.series), len(told.series) + len(of))
            told.series += map(Series, *texts)
        return told.series, self.places[numbers]

    def forget(self, attempt: str) -> None:
        """Take that an attempt hears of nothing any more."""
        self._attempts.pop(attempt, None)

    def _grow(self, size: int) -> None:
        more = size - len(self._is_known)
        for name in _COLUMNS:
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.zeros(more, column.dtype)]))


@dataclass(slots=True)
class Listening:
    """Splits batches of samples by who listens. Bounded: the last `MAX_TABLES` tables of series."""

    _tables: OrderedDict[int, _Known] = field(default_factory=OrderedDict)

    def split(self, batch: SampleBatch, owner: Owner) -> Iterator[tuple[AttemptWatch, Heard]]:
        """Yield for each attempt that listens what it hears, in the order of the batch.

        What has no time, or a metric that nobody wants, is passed over.
        """
        known, numbers = self._known(batch)
        of = numbers[batch.row_series]
        rows = np.flatnonzero(known.listened[of] & (batch.event_time != NO_TIME))
        nodes, names = known.nodes[of[rows]], known.node_names
        owners: dict[str, tuple[AttemptWatch, list[int]]] = {}
        for number in _distinct(nodes, len(names)):
            watch = owner(names[number])
            if watch is not None and watch.run.cluster == batch.cluster:
                owners.setdefault(watch.name, (watch, []))[1].append(number)
        whose = np.full(len(names) + 1, _NONE)  # the last one is that of no node
        for place, (_, numbered) in enumerate(owners.values()):
            whose[numbered] = place
        shares = _shares(whose[nodes], len(owners))
        for (watch, _), own in zip(owners.values(), shares, strict=True):
            yield watch, _heard(known, numbers, batch, rows[own], watch.name)

    def forget(self, attempt: str) -> None:
        """Take that an attempt isn't watched any more."""
        for known in self._tables.values():
            known.forget(attempt)

    def _known(self, batch: SampleBatch) -> tuple[_Known, NDArray[np.int32]]:
        """Return what is known of the series of a batch, and the number of each row of theirs."""
        numbered = batch.numbered
        whose = batch.series if numbered is None else numbered.book
        known = self._tables.get(id(whose))
        if known is None:
            known = self._tables[id(whose)] = _Known(whose)
            if len(self._tables) > MAX_TABLES:
                self._tables.popitem(last=False)
        self._tables.move_to_end(id(whose))  # a book must not go because tables come by
        rows = np.arange(batch.series.num_rows, dtype=np.int32)
        numbers = rows if numbered is None else numbered.numbers
        known.learn(numbers, batch.series)
        return known, numbers


def _heard(
    known: _Known, numbers: NDArray[np.int32], batch: SampleBatch, rows: _Rows, name: str
) -> Heard:
    """Return these samples, but for those that say that they are of another attempt."""
    attempts = known.attempt_names
    if attempts:
        said = known.attempts[numbers[batch.row_series[rows]]]
        own = attempts.index(name) if name in attempts else _NONE
        rows = rows[(said == _NONE) | (said == own)]
    in_table = batch.row_series[rows]
    of = numbers[in_table]
    series, places = known.tell(name, of, batch.series, in_table)
    return Heard(series, places, batch.event_time[rows], batch.value[rows], known.of_stalls[of])


def _shares(whose: NDArray[np.int64], owners: int) -> Iterator[slice | NDArray[np.int64]]:
    """Yield the rows of each of so many owners; -1 stands for nobody."""
    if owners == 1 and not whose.any():
        yield slice(None)  # as nearly always in a backtest
        return
    order = np.argsort(whose, kind="stable")
    bounds = np.searchsorted(whose[order], np.arange(owners + 1))
    for place in range(owners):
        yield order[bounds[place] : bounds[place + 1]]


def _distinct(numbers: NDArray[np.int32], count: int) -> list[int]:
    """Return which of so many numbers there are, in their order; -1 is none."""
    found = np.zeros(count + 1, np.bool_)
    found[numbers] = True
    return np.flatnonzero(found[:count]).tolist()


def _among(names: Sequence[str], wanted: Collection[str]) -> NDArray[np.bool_]:
    return np.fromiter((name in wanted for name in names), np.bool_, len(names))
