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
_NUMBERS = (*_TEXTS, "rank", "sum", "kind")
_Place = tuple[str, str | None, str | None, str | None, int | None]


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
        self._words: dict[str, dict[str, int]] = {name: {} for name in _TEXTS}
        self._dictionaries = {name: pa.array([], pa.string()) for name in _TEXTS}
        self._sums: dict[_Place, int] = {}

    def __len__(self) -> int:
        return self._count

    def of(self, name: str, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return a column of some series: ``kind``, or ``sum`` (the number of a part's sum)."""
        return self._numbers[name][rows]

    def scales(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return what the values of some series are multiplied with."""
        return self._scales[rows]

    def add(self, named: NamedSeries | None, kind: int = PLAIN) -> int:
        """Take a new series, null for one that is nothing; return its number."""
        if named is None:
            return self._row(None, UNKNOWN, 1.0, _NULL)
        place = named.series
        key = (place.metric, place.node, place.gpu, place.device, named.rank)
        if not named.is_summed:
            return self._row(key, kind, named.scale, _NULL)
        if key not in self._sums:
            self._sums[key] = len(self.sum_series)
            self.sum_series.append(self._row(key, PLAIN, 1.0, _NULL))
        return self._row(key, PART, named.scale, self._sums[key])

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

    def _row(self, place: _Place | None, kind: int, scale: float, of_sum: int) -> int:
        row = self._count
        if row == len(self._scales):
            self._grow(2 * row)
        self._count += 1
        self._scales[row] = scale
        self._numbers["kind"][row], self._numbers["sum"][row] = kind, of_sum
        if place is not None:
            metric, node, gpu, device, rank = place
            texts: Sequence[str | None] = (metric, node, gpu, None, device)
            for name, text in zip(_TEXTS, texts, strict=True):
                self._numbers[name][row] = self._word(name, text)
            self._numbers["rank"][row] = _NULL if rank is None else rank
        return row

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
