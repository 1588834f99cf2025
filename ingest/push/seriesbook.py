"""Series that were pushed before, and what each is to Relume: their labels are read once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from relume.ingest.lake.samplebatches import SERIES_SCHEMA
from relume.ingest.push.hashed import Hashed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from relume.ingest.metrics.raw import NamedSeries

    _Numbers = NDArray[np.int32]

UNKNOWN: Final = 0
"""Kind of a series that is nothing to Relume."""
PLAIN: Final = 1
DCGM: Final = 2
"""Its numbers for *no value* are NaN."""
PART: Final = 3
"""It is added up with others."""
_NULL = -1
_CLUSTER = "cluster"
_PLACE = ("metric", "node", "gpu", "attempt", "device", "rank", _CLUSTER)
"""What a series is of; the rest of its columns are the number of its sum, and its kind."""
_COLUMNS = (*_PLACE, "sum", "kind")

NewSeries = tuple["NamedSeries | None", int, "str | None"]
"""What series are, null for nothing; their kind if they aren't added up; the cluster that their
labels name, null for none."""


class SeriesBook:
    """Series by number. A number is never given twice; nothing is forgotten.

    Attributes
    ----------
    table, shapes, nodes
        Numbers of series, of shapes and of nodes by the hashes of `relume.ingest.push.shapes`. A
        series is of a shape (all that it is but its node) and of a node.
    sum_series
        Number of the series that each sum is told under.
    """

    def __init__(self) -> None:
        self.table, self.shapes, self.nodes = Hashed(), Hashed(), Hashed()
        self.sum_series: list[int] = []
        self._shapes, self._series = _Rows(), _Rows()
        texts = [name for name in _PLACE if name != "rank"]
        self._words: dict[str, dict[str, int]] = {name: {} for name in texts}
        self._dictionaries = {name: pa.array([], pa.string()) for name in texts}
        self._sums: dict[tuple[int, ...], int] = {}

    def __len__(self) -> int:
        return self._series.count

    def of(self, name: str, rows: _Numbers) -> _Numbers:
        """Return a column of some series: ``kind``, ``cluster``, or ``sum`` (that of a part)."""
        return self._series.columns[name][rows]

    def scales(self, rows: _Numbers) -> NDArray[np.float64]:
        """Return what the values of some series are multiplied with."""
        return self._series.scales[rows]

    def clusters(self, rows: _Numbers) -> dict[int, str | None]:
        """Return which clusters the labels of some series name, by the code in ``cluster``.

        Null, which comes first, stands for series whose labels name none.
        """
        names = (*self._words[_CLUSTER], None)  # the code of null is -1
        return {code: names[code] for code in np.unique(self.of(_CLUSTER, rows)).tolist()}

    def learn(self, named: NamedSeries | None, told: int, cluster: str | None) -> int:
        """Take what series of a new shape are; return the number of the shape."""
        values, scale = dict.fromkeys(_COLUMNS, _NULL) | {"kind": UNKNOWN}, 1.0
        if named is not None:
            place, rank, scale = named.series, named.rank, named.scale
            values["metric"] = self._word("metric", place.metric)
            values["gpu"] = self._word("gpu", place.gpu)
            values["device"] = self._word("device", place.device)
            values[_CLUSTER] = self._word(_CLUSTER, cluster)
            values["rank"] = _NULL if rank is None else rank
            values["kind"] = PART if named.is_summed else told
        columns = {name: np.array([value], np.int32) for name, value in values.items()}
        return int(self._shapes.extend(columns, np.array([scale]))[0])

    def learn_node(self, name: str) -> int:
        """Return the number of a node."""
        return self._word("node", name)

    def is_known(self, shapes: _Numbers) -> NDArray[np.bool_]:
        """Say which shapes are something to Relume."""
        kinds = self._shapes.columns["kind"][shapes]
        return np.not_equal(kinds, UNKNOWN)

    def add(self, shapes: _Numbers, nodes: _Numbers) -> _Numbers:
        """Take new series by the numbers of their shapes and nodes; return their own numbers.

        The node is -1 where nobody says it, and where the shape is nothing.
        """
        columns = {name: self._shapes.columns[name][shapes] for name in _COLUMNS}
        columns["node"] = nodes
        scales = self._shapes.scales[shapes]
        parts = np.flatnonzero(columns["kind"] == PART)
        if len(parts):
            columns["sum"][parts] = self._sums_of({name: columns[name][parts] for name in _PLACE})
        return self._series.extend(columns, scales)

    def batch(self, rows: _Numbers) -> pa.RecordBatch:
        """Return some series as those of a `SampleBatch`."""
        columns = []
        for field in SERIES_SCHEMA:
            codes = self._series.columns[field.name][rows]
            found = pa.array(codes, mask=codes == _NULL)
            if field.name in self._words:
                found = pa.DictionaryArray.from_arrays(found, self._dictionary(field.name))
            columns.append(found)
        return pa.RecordBatch.from_arrays(columns, schema=SERIES_SCHEMA)

    def _sums_of(self, places: Mapping[str, _Numbers]) -> _Numbers:
        """Return the numbers of the sums of parts; a new sum is a series, too."""
        keys = list(zip(*(places[name].tolist() for name in _PLACE), strict=True))
        new = list(dict.fromkeys(key for key in keys if key not in self._sums))
        self._sums |= {key: len(self._sums) + at for at, key in enumerate(new)}
        self.sum_series += self._new_sums(new).tolist()
        return np.array([self._sums[key] for key in keys], np.int32)

    def _new_sums(self, keys: Sequence[tuple[int, ...]]) -> _Numbers:
        places = np.array(keys, np.int32).reshape(-1, len(_PLACE)).T
        columns = dict(zip(_PLACE, places, strict=True))
        columns["sum"] = np.full(len(keys), _NULL, np.int32)
        columns["kind"] = np.full(len(keys), PLAIN, np.int32)
        return self._series.extend(columns, np.ones(len(keys)))

    def _word(self, name: str, text: str | None) -> int:
        known = self._words[name]
        return _NULL if text is None else known.setdefault(text, len(known))

    def _dictionary(self, name: str) -> pa.Array:
        words = self._words[name]
        if len(self._dictionaries[name]) != len(words):
            self._dictionaries[name] = pa.array(list(words), pa.string())
        return self._dictionaries[name]


class _Rows:
    """Numbers in columns that grow, and a scale for each row."""

    def __init__(self) -> None:
        self.count = 0
        self.columns = {name: np.full(1 << 10, _NULL, np.int32) for name in _COLUMNS}
        self.scales = np.ones(1 << 10)

    def extend(self, columns: Mapping[str, _Numbers], scales: NDArray[np.float64]) -> _Numbers:
        """Add rows; return their numbers."""
        first, self.count = self.count, self.count + len(scales)
        if self.count > len(self.scales):
            self._grow(max(self.count, 2 * len(self.scales)))
        self.scales[first : self.count] = scales
        for name, column in columns.items():
            self.columns[name][first : self.count] = column
        return np.arange(first, self.count, dtype=np.int32)

    def _grow(self, size: int) -> None:
        more = size - len(self.scales)
        self.scales = np.concatenate([self.scales, np.ones(more)])
        for name, column in self.columns.items():
            self.columns[name] = np.concatenate([column, np.full(more, _NULL, np.int32)])
