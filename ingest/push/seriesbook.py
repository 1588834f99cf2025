"""Series that were pushed before, and what each is to Relume: their labels are read once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from relume.ingest.lake.samplebatches import SERIES_SCHEMA
from relume.ingest.push.hashed import Hashed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from relume.ingest.metrics.raw import NamedSeries

UNKNOWN: Final = 0
"""Kind of a series that is nothing to Relume."""
PLAIN: Final = 1
DCGM: Final = 2
"""Its numbers for *no value* are NaN."""
PART: Final = 3
"""It is added up with others."""
_NULL = -1
_TEXTS = ("metric", "node", "gpu", "attempt", "device")
_CLUSTER = "cluster"
_WORDS = (*_TEXTS, _CLUSTER)
_NUMBERS = (*_TEXTS, "rank", _CLUSTER, "sum", "kind")
_NOTHING = (_NULL,) * (len(_TEXTS) + 2)

NewSeries = tuple["NamedSeries | None", int, "str | None"]
"""What a series is, null for nothing; its kind if it isn't summed; the cluster that its labels
name, null for none."""


class SeriesBook:
    """Series by number. A number is never given twice; nothing is forgotten.

    Attributes
    ----------
    table
        Numbers of series by the hashes of their labels.
    sum_series
        Number of the series that each sum is told under.
    """

    def __init__(self) -> None:
        self.table = Hashed()
        self.sum_series: list[int] = []
        self._count = 0
        self._numbers = {name: np.full(1 << 10, _NULL, np.int32) for name in _NUMBERS}
        self._scales = np.ones(1 << 10)
        self._words: dict[str, dict[str, int]] = {name: {} for name in _WORDS}
        self._dictionaries = {name: pa.array([], pa.string()) for name in _TEXTS}
        self._sums: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return self._count

    def of(self, name: str, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a column of some series: ``kind``, ``cluster``, or ``sum`` (that of a part)."""
        return self._numbers[name][rows]

    def scales(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return what the values of some series are multiplied with."""
        return self._scales[rows]

    def clusters(self, rows: NDArray[np.int32]) -> dict[int, str | None]:
        """Return which clusters the labels of some series name, by the code in ``cluster``.

        Null, which comes first, stands for series whose labels name none.
        """
        names = (*self._words[_CLUSTER], None)  # the code of null is -1
        return {code: names[code] for code in np.unique(self.of(_CLUSTER, rows)).tolist()}

    def add(self, found: Sequence[NewSeries]) -> NDArray[np.int32]:
        """Take new series and return their numbers."""
        made: list[tuple[int, ...]] = []
        scales: list[float] = []
        numbers = np.empty(len(found), np.int32)
        for place, (named, told, cluster) in enumerate(found):
            codes, of_sum, scale, kind = _NOTHING, _NULL, 1.0, UNKNOWN
            if named is not None:
                codes, scale, kind = self._codes(named, cluster), named.scale, told
                if named.is_summed:
                    if codes not in self._sums:
                        self._sums[codes] = len(self.sum_series)
                        self.sum_series.append(self._count + len(made))
                        made.append((*codes, _NULL, PLAIN))
                        scales.append(1.0)
                    of_sum, kind = self._sums[codes], PART
            numbers[place] = self._count + len(made)
            made.append((*codes, of_sum, kind))
            scales.append(scale)
        self._extend(made, scales)
        return numbers

    def batch(self, rows: NDArray[np.int32]) -> pa.RecordBatch:
        """Return some series as those of a `SampleBatch`."""
        columns = []
        for field in SERIES_SCHEMA:
            codes = self._numbers[field.name][rows]
            found = pa.array(codes, mask=codes == _NULL)
            if field.name in self._words:
                found = pa.DictionaryArray.from_arrays(found, self._dictionary(field.name))
            columns.append(found)
        return pa.RecordBatch.from_arrays(columns, schema=SERIES_SCHEMA)

    def _codes(self, named: NamedSeries, cluster: str | None) -> tuple[int, ...]:
        """What a series is of, in numbers, as `_NUMBERS` begins."""
        place = named.series
        texts = (place.metric, place.node, place.gpu, None, place.device)
        codes = (self._word(name, text) for name, text in zip(_TEXTS, texts, strict=True))
        rank = _NULL if named.rank is None else named.rank
        return (*codes, rank, self._word(_CLUSTER, cluster))

    def _extend(self, made: Sequence[tuple[int, ...]], scales: Sequence[float]) -> None:
        if not made:
            return
        first, self._count = self._count, self._count + len(made)
        if self._count > len(self._scales):
            self._grow(max(self._count, 2 * len(self._scales)))
        self._scales[first : self._count] = scales
        for name, column in zip(_NUMBERS, np.array(made, np.int32).T, strict=True):
            self._numbers[name][first : self._count] = column

    def _word(self, name: str, text: str | None) -> int:
        known = self._words[name]
        return _NULL if text is None else known.setdefault(text, len(known))

    def _dictionary(self, name: str) -> pa.Array:
        words = self._words[name]
        if len(self._dictionaries[name]) != len(words):
            self._dictionaries[name] = pa.array(list(words), pa.string())
        return self._dictionaries[name]

    def _grow(self, size: int) -> None:
        more = size - len(self._scales)
        self._scales = np.concatenate([self._scales, np.ones(more)])
        for name, column in self._numbers.items():
            self._numbers[name] = np.concatenate([column, np.full(more, _NULL, np.int32)])
