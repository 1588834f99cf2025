"""Prometheus' remote-write 1.0: samples in columns, under Relume's names.

The protocol is https://prometheus.io/docs/specs/prw/remote_write_spec.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.errors import InputError
from relume.ingest.lake.samplebatches import Numbered, SampleBatch
from relume.ingest.metrics.answers import MAX_TIME
from relume.ingest.metrics.raw import NAME, Naming
from relume.ingest.push import wire
from relume.ingest.push.labels import NAMES
from relume.ingest.push.seriesbook import DCGM, PART, PLAIN, UNKNOWN, NewSeries, SeriesBook
from relume.ingest.push.shapes import LabelReader, Read, numbered
from relume.ingest.push.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from relume.ingest.skips import SkipCounts

MAX_SAMPLES: Final = 1_000_000
"""Samples of one body, and series of one; Prometheus sends some thousands."""
MAX_SERIES: Final = 8_000_000
"""Series that are remembered (100 bytes each); one more and all are read anew."""
MAX_LABELS: Final = 128
MAX_LABEL_BYTES: Final = 64 << 10
"""Of one series."""
_MILLISECOND = 1_000
_STALE = 0x7FF0_0000_0000_0002
_QUIET = 1 << 51
_DCGM = "DCGM_"
_BLANKS = (2.0**47, 2.0**47 + 3, 2.0**63 - 1024)
"""DCGM's numbers for *no value*: from the first to the second, and from the third on
(`relume.ingest.metrics.raw`)."""
_Columns = tuple["NDArray[np.int32]", "NDArray[np.int64]", "NDArray[np.float64]"]


class RemoteWrite:
    """Decodes the bodies of one receiver; remembers the series of earlier ones. Not thread-safe.

    Parameters
    ----------
    naming
        What series are to Relume: `relume.features.metrics.names`.
    source, cluster
        Of every sample.
    max_series
        Series that are remembered.
    seed
        Two numbers that the hashes of labels begin with; such that nobody can guess when null.
    """

    def __init__(
        self,
        naming: Naming,
        *,
        source: str = "remote_write",
        cluster: str = "local",
        max_series: int = MAX_SERIES,
        seed: tuple[int, int] | None = None,
    ) -> None:
        self._naming, self._source, self._cluster = naming, source, cluster
        self._max_series = max_series
        drawn = (secrets.randbits(63), secrets.randbits(63))
        self._seed = np.array(drawn if seed is None else seed, np.int64)
        self._labels = LabelReader(naming, NAMES["cluster"], self._seed)
        self._book, self._sums = SeriesBook(), Sums()
        self._sizes = (1, 1)

    @property
    def known(self) -> int:
        """Series that are remembered."""
        return len(self._book)

    def decode(
        self, data: bytes, skipped: SkipCounts, *, observed_at: int | None = None
    ) -> list[SampleBatch]:
        """Return the samples of a WriteRequest, unpacked already: one batch a cluster, in order.

        A series of which a label names the cluster is of that one, any other of the receiver's.

        Parameters
        ----------
        data
            The message.
        skipped
            Where what gives no sample is counted.
        observed_at
            Of every sample.

        Raises
        ------
        InputError
            When it is none, or has too many series, samples or labels. Nothing of it counts then.
        """
        body = wire.view(data)
        series, samples = self._read(body)
        rows = self._rows(data, body, series)
        skipped.add("metric_histogram", int((series[4] > 0).sum()))
        skipped.add("metric_unknown", int((self._book.of("kind", rows) == UNKNOWN).sum()))
        found = self._in_order(*self._values(rows, samples, skipped))
        return self._batches(*found, observed_at)

    def _read(self, body: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Take a body apart into columns as large as those of the last one, then as is needed."""
        series, samples = wire.empty(self._sizes[0], 5), wire.empty(self._sizes[1], 3)
        outer, inner = wire.read_series(body, self._seed, series, samples)
        _require_read(outer)
        if max(outer, inner) > MAX_SAMPLES:
            raise InputError(
                "body",
                found=f"{outer:,} series with {inner:,} samples",
                expected=f"at most {MAX_SAMPLES:,} of each",
                hint="lower queue_config.max_samples_per_send",
            )
        is_short = outer > self._sizes[0] or inner > self._sizes[1]
        self._sizes = max(outer, 1), max(inner, 1)
        if is_short:
            return self._read(body)
        return series[:, :outer], samples[:, :inner]

    def _rows(
        self, data: bytes, body: NDArray[np.uint8], series: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the numbers of the series, those of new ones too."""
        keys = series[2:4]
        if len(self._book) + 2 * keys.shape[1] > self._max_series:
            new = np.count_nonzero(self._book.table.find(keys) < 0)
            if new and len(self._book) + 2 * new > self._max_series:
                self._book, self._sums = SeriesBook(), Sums()
        # A body may have a series twice.
        return numbered(
            self._book.table, keys, lambda new: self._learned(data, body, series[:2, new])
        )

    def _learned(
        self, data: bytes, body: NDArray[np.uint8], spans: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        """Return the numbers of new series, which stand there in the body."""
        book, read = self._book, self._labels.read(body, *spans)
        _require_few(read)
        for start, stop in spans[:, ~read.is_ascii].T.tolist():
            _labels(data, body, start, stop)  # none of them may be anything but UTF-8
        shapes = numbered(
            book.shapes,
            read.shapes,
            lambda new: [
                book.learn(*self._named(_labels(data, body, *span)))
                for span in spans[:, new].T.tolist()
            ],
        )
        nodes = np.full(len(shapes), -1, np.int32)
        said = np.flatnonzero(book.is_known(shapes) & (read.spans[1] > read.spans[0]))
        texts = read.spans[:, said]
        nodes[said] = numbered(
            book.nodes,
            np.ascontiguousarray(read.nodes[:, said]),
            lambda new: [
                book.learn_node(self._naming.node(data[start:stop].decode()))
                for start, stop in texts[:, new].T.tolist()
            ],
        )
        return book.add(shapes, nodes)

    def _named(self, labels: dict[str, str]) -> NewSeries:
        name = labels.pop(NAME, "")
        named = self._naming.named(name, labels) if self._naming.knows(name) else None
        cluster = next((labels[one] for one in NAMES["cluster"] if labels.get(one)), None)
        return named, DCGM if name.startswith(_DCGM) else PLAIN, cluster

    def _values(
        self, rows: NDArray[np.int32], samples: NDArray[np.int64], skipped: SkipCounts
    ) -> _Columns:
        """Return series, times and values of what is something, sums added up."""
        of = rows[samples[0]]
        kinds = self._book.of("kind", of)
        is_known = kinds != UNKNOWN
        is_stale = (samples[1] & ~_QUIET) == _STALE
        limit = MAX_TIME // _MILLISECOND
        is_timed = (samples[2] >= -limit) & (samples[2] <= limit)
        skipped.add("metric_stale", int((is_known & is_stale).sum()))
        skipped.add("metric_value", int((is_known & ~is_stale & ~is_timed).sum()))
        kept = np.flatnonzero(is_known & ~is_stale & is_timed)
        of, kinds, times = of[kept], kinds[kept], samples[2][kept] * _MILLISECOND
        values = _scaled(samples[1][kept], kinds, self._book.scales(of))
        return self._summed(of, times, values, kinds == PART)

    def _summed(
        self,
        of: NDArray[np.int32],
        times: NDArray[np.int64],
        values: NDArray[np.float64],
        is_part: NDArray[np.bool_],
    ) -> _Columns:
        if not is_part.any():
            return of, times, values
        parts = of[is_part]
        sums = self._book.of("sum", parts)
        told, at, made = self._sums.take(parts, sums, times[is_part], values[is_part])
        series = np.array(self._book.sum_series, np.int32)[told]
        whole = ~is_part
        return (
            np.concatenate([of[whole], series]),
            np.concatenate([times[whole], at]),
            np.concatenate([values[whole], made]),
        )

    def _in_order(
        self, of: NDArray[np.int32], times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> _Columns:
        if (times[1:] >= times[:-1]).all():
            return of, times, values
        order = np.argsort(times, kind="stable")
        return of[order], times[order], values[order]

    def _batches(
        self,
        of: NDArray[np.int32],
        times: NDArray[np.int64],
        values: NDArray[np.float64],
        observed_at: int | None,
    ) -> list[SampleBatch]:
        if not len(of):
            return []
        series, row_series = np.unique(of, return_inverse=True)
        batch = SampleBatch(
            series=self._book.batch(series),
            row_series=row_series.astype(np.int32),
            event_time=times,
            value=values,
            source=self._source,
            cluster=self._cluster,
            observed_at=observed_at,
            numbered=Numbered(self._book, series),
        )
        named = self._book.clusters(series)
        if len(named) == 1:  # nearly always
            return [replace(batch, cluster=one or self._cluster) for one in named.values()]
        codes = self._book.of("cluster", of)
        return [
            replace(batch.chosen(codes == code), cluster=one or self._cluster)
            for code, one in named.items()
        ]


def _scaled(
    bits: NDArray[np.int64], kinds: NDArray[np.int32], scales: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return values by their bits, in Relume's units."""
    values, (low, high, above) = bits.view(np.float64), _BLANKS
    with np.errstate(all="ignore"):  # too large a value is infinite then, as it is for Python
        is_blank = ((values >= low) & (values <= high)) | (values >= above)
        return np.where((kinds == DCGM) & is_blank, np.nan, values) * scales


def _require_few(read: Read) -> None:
    """Refuse labels that can't be read, or are too many or too long."""
    if (read.counts < 0).any():
        raise _no_request(wire.WRONG[int(read.counts[read.counts < 0][0])])
    if read.counts.max() > MAX_LABELS:
        raise _no_request(f"a series with {read.counts.max()} labels")
    if read.sizes.max() > MAX_LABEL_BYTES:
        raise _no_request(f"a series with more than {MAX_LABEL_BYTES:,} bytes of labels")


def _labels(data: bytes, body: NDArray[np.uint8], start: int, stop: int) -> dict[str, str]:
    """Return the labels of a series; of those that come twice the last counts."""
    found = np.empty((MAX_LABELS, 4), np.int64)
    count = wire.read_pairs(body, start, stop, wire.TEXT_1, found)
    return _texts(data[start:stop], (found[:count] - start).tolist())


def _texts(data: bytes, places: list[list[int]]) -> dict[str, str]:
    """Return pairs of texts from where they stand in the message of a series, in that order."""
    data = data[: max(map(max, places), default=0)]
    if data.isascii():  # then one text is cut, not each piece decoded
        text = data.decode()
        return {text[a:b]: text[c:d] for a, b, c, d in places}
    try:
        return {data[a:b].decode(): data[c:d].decode() for a, b, c, d in places}
    except UnicodeDecodeError as error:
        raise _no_request(f"a label that is no UTF-8: {error.reason}") from error


def _require_read(result: int) -> None:
    if result < 0:
        raise _no_request(wire.WRONG[result])


def _no_request(found: str) -> InputError:
    return InputError(
        "body",
        found=found,
        expected="a WriteRequest of Prometheus' remote-write 1.0",
        hint="remote-write 2.0 isn't read: leave protobuf_message at its default",
    )
