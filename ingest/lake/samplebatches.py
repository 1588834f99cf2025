"""Samples that came together, as columns: no object a sample on the way into the lake and out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from relume.errors import InputError
from relume.events import Sample
from relume.schemas import SCHEMAS

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_TIME: Final = -(2**63)
"""Stands in `SampleBatch.event_time` for a time that isn't known."""
BATCH_FROM: Final = 16
"""As many samples of one origin that landed together come back as columns, fewer as events."""
_TEXT = pa.dictionary(pa.int32(), pa.string())
SERIES_SCHEMA: Final = pa.schema(
    [
        pa.field("metric", _TEXT, nullable=False),
        pa.field("node", _TEXT),
        pa.field("gpu", _TEXT),
        pa.field("rank", pa.int32()),
        pa.field("attempt", _TEXT),
        pa.field("device", _TEXT),
    ]
)
"""Columns of `SampleBatch.series`: what is the same for all samples of a series."""
_KINDS: Final = [np.dtype(kind) for kind in (np.int32, np.int64, np.float64)]
_ORIGIN: Final = ("source", "cluster", "observed_at")


class SampleSeries(NamedTuple):
    """What a sample is of; the fields are those of `relume.events.Sample`."""

    metric: str
    node: str | None = None
    gpu: str | None = None
    rank: int | None = None
    attempt: str | None = None
    device: str | None = None


class Numbered(NamedTuple):
    """Numbers of series, by whoever reads many batches of the same ones.

    Attributes
    ----------
    book
        Who gave them: the same number of the same book is the same series. Its texts only become
        more: the dictionaries of a later `SampleBatch.series` begin with those of an earlier one.
    numbers
        Of each row of `SampleBatch.series`.
    """

    book: object
    numbers: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleBatch:
    """Samples that were read together, in their order. Its arrays must not be written to.

    Attributes
    ----------
    series
        What the samples are of, as `SERIES_SCHEMA` has it; may hold series without a sample here,
        and several batches may share it.
    row_series
        Of each sample the row of `series`.
    event_time
        UTC microseconds, `NO_TIME` where it isn't known.
    value
        In the unit that the metric's name ends with.
    source, cluster, observed_at
        Of every sample, as in `relume.events.Sample`.
    numbered
        Numbers of the series that hold beyond this batch; null for none.

    Raises
    ------
    InputError
        For columns that don't fit each other.

    Examples
    --------
    >>> batch = SampleBatch(
    ...     series=series_table([SampleSeries("gpu_power_watts", node="n1", gpu="0")]),
    ...     row_series=np.array([0, 0], np.int32),
    ...     event_time=np.array([1, NO_TIME]),
    ...     value=np.array([412.5, 413.0]),
    ...     source="push",
    ... )
    >>> [(sample.node, sample.event_time, sample.value) for sample in batch.samples()]
    [('n1', 1, 412.5), ('n1', None, 413.0)]
    """

    series: pa.RecordBatch
    row_series: NDArray[np.int32]
    event_time: NDArray[np.int64]
    value: NDArray[np.float64]
    source: str
    cluster: str = "local"
    observed_at: int | None = None
    numbered: Numbered | None = None

    def __post_init__(self) -> None:
        kinds = [x.dtype for x in (self.row_series, self.event_time, self.value)]
        if kinds != _KINDS or self.series.schema != SERIES_SCHEMA:
            names = (*map(str, kinds), *self.series.schema.names)
            raise _misfit(f"columns of {', '.join(names)}")
        if not len(self.row_series) == len(self.event_time) == len(self.value):
            raise _misfit("columns of several lengths")
        known = self.series.num_rows
        if len(self) and not 0 <= self.row_series.min() <= self.row_series.max() < known:
            raise _misfit(f"samples of series that aren't among the {known} given")

    def __len__(self) -> int:
        return len(self.value)

    def chosen(self, which: slice | NDArray[np.bool_]) -> SampleBatch:
        """Return some of the samples, which share the series."""
        return replace(
            self,
            row_series=self.row_series[which],
            event_time=self.event_time[which],
            value=self.value[which],
        )

    def samples(self) -> Iterator[Sample]:
        """Yield the samples as events, in order: some microseconds each."""
        named, rows = self.series, self.row_series
        if named.num_rows > len(rows):
            named, rows = named.take(pa.array(rows)), np.arange(len(rows), dtype=np.int32)
        series = list(zip(*(column.to_pylist() for column in named.columns), strict=True))
        points = zip(rows.tolist(), self.event_time.tolist(), self.value.tolist(), strict=True)
        for row, time, value in points:
            metric, node, gpu, rank, attempt, device = series[row]
            yield Sample(
                source=self.source,
                cluster=self.cluster,
                event_time=None if time == NO_TIME else time,
                observed_at=self.observed_at,
                metric=metric,
                value=value,
                node=node,
                gpu=gpu,
                rank=rank,
                attempt=attempt,
                device=device,
            )

    def table(self) -> pa.Table:
        """Return the rows that `relume.schemas.to_table` makes of `samples`."""
        schema, rows = SCHEMAS[Sample], pa.array(self.row_series)
        unknown = self.event_time == NO_TIME
        times = pa.array(self.event_time, mask=unknown if unknown.any() else None)
        columns: dict[str, pa.Array] = {
            "event_time": times.cast(schema.field("event_time").type),
            "value": pa.array(self.value),
        }
        for name in _ORIGIN:
            same = pa.scalar(getattr(self, name), schema.field(name).type)
            columns[name] = pa.repeat(same, len(self))
        for name, column in zip(SERIES_SCHEMA.names, self.series.columns, strict=True):
            columns[name] = column.take(rows).cast(schema.field(name).type)
        return pa.table([columns[name] for name in schema.names], schema=schema)


def series_table(series: Iterable[SampleSeries]) -> pa.RecordBatch:
    """Return series as `SampleBatch.series`.

    Raises
    ------
    InputError
        For a value that its column can't hold.
    """
    rows = list(series)
    columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(SERIES_SCHEMA)
    try:
        arrays = [
            pa.array(values, pa.string() if field.type == _TEXT else field.type)
            for field, values in zip(SERIES_SCHEMA, columns, strict=True)
        ]
    except (pa.ArrowException, UnicodeError, OverflowError) as error:
        raise InputError(
            "series of samples", found=str(error), expected="values that fit their columns"
        ) from error
    return _encoded(arrays)


def batch_of_rows(rows: pa.Table, *, source: str, cluster: str) -> SampleBatch:
    """Return rows with the columns of `SERIES_SCHEMA`, `event_time` and `value` as one batch.

    Times are UTC microseconds or of a type that counts them; a column that is missing says nothing.
    """
    missing = [field for field in SERIES_SCHEMA if field.name not in rows.column_names]
    for field in missing:
        rows = rows.append_column(field.name, pa.nulls(rows.num_rows, pa.string()))
    series, row_series = _distinct([_column(rows, name) for name in SERIES_SCHEMA.names])
    return SampleBatch(
        series=series,
        row_series=row_series,
        event_time=_column(rows, "event_time").cast(pa.int64()).fill_null(NO_TIME).to_numpy(),
        value=_column(rows, "value").to_numpy(),
        source=source,
        cluster=cluster,
    )


def landed_batches(rows: pa.Table, landed: str) -> Iterator[tuple[int, SampleBatch]]:
    """Yield each run of rows of one origin that landed together, with its number.

    All of them share one table of series. `landed` is the name of the column of that number.
    """
    if not rows.num_rows:
        return
    series, row_series = _distinct([_column(rows, name) for name in SERIES_SCHEMA.names])
    times = _column(rows, "event_time").cast(pa.int64()).fill_null(NO_TIME).to_numpy()
    values = _column(rows, "value").to_numpy()
    origins = [_column(rows, name) for name in ("source", "cluster")]
    origins.append(_column(rows, "observed_at").cast(pa.int64()))
    numbers = _column(rows, landed)
    for start, end in _runs([*origins, numbers]):
        source, cluster, observed_at = (column[start].as_py() for column in origins)
        yield (
            numbers[start].as_py(),
            SampleBatch(
                series=series,
                row_series=row_series[start:end],
                event_time=times[start:end],
                value=values[start:end],
                source=source,
                cluster=cluster,
                observed_at=observed_at,
            ),
        )


def _column(table: pa.Table, name: str) -> pa.Array:
    chunked = table.column(name)
    return chunked.chunk(0) if chunked.num_chunks == 1 else pa.concat_arrays(chunked.chunks)


def _distinct(columns: Sequence[pa.Array]) -> tuple[pa.RecordBatch, NDArray[np.int32]]:
    """The distinct rows in the order in which they first come, and of each row which it is."""
    codes: NDArray[np.int64] = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        found = column.dictionary_encode("encode")
        combined = codes * len(found.dictionary) + found.indices.to_numpy()
        codes = pa.array(combined).dictionary_encode().indices.to_numpy().astype(np.int64)
    firsts = np.full(int(codes.max()) + 1, len(codes), np.int64)
    np.minimum.at(firsts, codes, np.arange(len(codes)))
    return _encoded([column.take(pa.array(firsts)) for column in columns]), codes.astype(np.int32)


def _encoded(columns: Sequence[pa.Array]) -> pa.RecordBatch:
    arrays = [
        column.dictionary_encode() if field.type == _TEXT else column
        for field, column in zip(SERIES_SCHEMA, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=SERIES_SCHEMA)


def _runs(columns: Sequence[pa.Array]) -> Iterator[tuple[int, int]]:
    """(first row, row after the last) of each run of rows that are the same in all columns."""
    changed = np.zeros(len(columns[0]) - 1, bool)
    for column in columns:
        codes = column.dictionary_encode("encode").indices.to_numpy()
        changed |= codes[1:] != codes[:-1]
    bounds = [0, *(np.flatnonzero(changed) + 1).tolist(), len(columns[0])]
    yield from pairwise(bounds)


def _misfit(found: str) -> InputError:
    return InputError(
        "batch of samples",
        found=found,
        expected="columns of int32, int64 and float64 of one length, and the series they name",
    )
