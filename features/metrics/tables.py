"""Samples in columns, each of a series of some table: what of them is taken at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from relume.features.metrics.points import Series, is_counter

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from numpy.typing import NDArray

UNKNOWN, UNWANTED = -1, -2
"""Stand for the place of a series that has none yet, and of one that will get none."""
MAX_TABLES = 4
"""Tables of series whose places are remembered."""


class Table(NamedTuple):
    """Series that samples are of by number: the place of each, and whether it counts.

    A series may be there twice (of two ranks, say): `numbers` has all numbers of each of these.
    """

    series: Sequence[Series]
    places: NDArray[np.int64]
    counters: NDArray[np.bool_]
    numbers: dict[Series, list[int]]

    @classmethod
    def of(
        cls, series: Sequence[Series], places: dict[Series, int], wanted: Collection[str]
    ) -> Table:
        """Look up the places of series; those of other metrics are `UNWANTED`."""
        found = [places.get(x, UNKNOWN if x.metric in wanted else UNWANTED) for x in series]
        counters = [is_counter(x.metric) for x in series]
        numbers: dict[Series, list[int]] = {}
        if len(set(series)) < len(series):
            for number, one in enumerate(series):
                numbers.setdefault(one, []).append(number)
        return cls(series, np.array(found, np.int64), np.array(counters, np.bool_), numbers)

    def found(self, number: int, place: int) -> None:
        """Note where the series of a number is, from now on."""
        self.places[self.numbers.get(self.series[number], number)] = place


class Tables:
    """The last few tables, whose series are looked up once. They are left out of what is kept."""

    def __init__(self) -> None:
        self._known: dict[int, Table] = {}

    def __getstate__(self) -> dict[str, object]:
        """Nothing: tables belong to whoever reads them."""
        return {}

    def __setstate__(self, state: object) -> None:
        """Begin without any."""
        self._known = {}

    def of(
        self, series: Sequence[Series], places: dict[Series, int], wanted: Collection[str]
    ) -> Table:
        """Return the table of series, of which those of other metrics are `UNWANTED`.

        Series may have become more since they were last looked up.
        """
        known = self._known.get(id(series))
        if known is None or len(known.places) < len(series):
            if known is None and len(self._known) >= MAX_TABLES:
                del self._known[next(iter(self._known))]
            known = self._known[id(series)] = Table.of(series, places, wanted)
            # It holds the series: their id stays their own.
        return known


class Chosen(NamedTuple):
    """Finite samples of series that have a place, one of each at most."""

    places: NDArray[np.int64]
    times: NDArray[np.int64]
    values: NDArray[np.float64]
    counters: NDArray[np.bool_]

    def of(self, rows: NDArray[np.int64]) -> Chosen:
        """Return some of them."""
        places, times, values, counters = self
        return Chosen(places[rows], times[rows], values[rows], counters[rows])


def chosen(
    table: Table,
    numbers: NDArray[np.int32],
    times: NDArray[np.int64],
    values: NDArray[np.float64],
    begin: Callable[[Series, int, float], tuple[int, bool]],
) -> Iterator[Chosen]:
    """Yield samples of a table's series in rounds, each series at most once in a round.

    Those whose series has no place yet are given to `begin` before that, in their order: it returns
    the place, or `UNKNOWN`, and whether it took the sample itself.
    """
    places, is_used = table.places[numbers], np.isfinite(values)
    new = np.flatnonzero(places == UNKNOWN)
    if len(new):
        points = zip(numbers[new].tolist(), times[new].tolist(), values[new].tolist(), strict=True)
        for row, (number, time, value) in zip(new.tolist(), points, strict=True):
            if table.places[number] == UNKNOWN:  # else one before it brought the place
                place, is_taken = begin(table.series[number], time, value)
                table.found(number, place)
                is_used[row] &= not is_taken
        places = table.places[numbers]
    is_used &= places >= 0
    if not is_used.all():
        numbers, times, values = numbers[is_used], times[is_used], values[is_used]
        places = places[is_used]
    found = Chosen(places, times, values, table.counters[numbers])
    for rows in _rounds(places):
        yield found if rows is None else found.of(rows)


def _rounds(places: NDArray[np.int64]) -> Iterator[NDArray[np.int64] | None]:
    """Yield rows in their order, of each place the first ones, then the second ones, and so on.

    Null stands for all, where no place is there twice.
    """
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    is_first = np.ones(len(places), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    if is_first.all():
        if len(places):
            yield None
        return
    begins = np.flatnonzero(is_first)
    turn = np.arange(len(places)) - np.repeat(begins, np.diff(np.append(begins, len(places))))
    turns = np.empty(len(places), np.int64)
    turns[order] = turn
    for one in range(int(turn.max()) + 1):
        yield np.flatnonzero(turns == one)
