"""Series that were pushed before, and what each is to Relume: their labels are read once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from relume.ingest.lake.samplebatches import SERIES_SCHEMA
from relume.ingest.push.hashed import Hashed

if TYPE_CHECKING:
    from collections.abc import Sequence

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
_SHAPE = ("metric", "gpu", "device", "rank", _CLUSTER, "kind", "total")
"""All that series of one shape have in common, in numbers; `total` is the shape of their sum."""
_NOTHING = (_NULL,) * 5

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
        self._shapes = _Rows(*_SHAPE)
        self._scales: list[float] = []
        self._series = _Rows("shape", "node", "sum")
        texts = [field.name for field in SERIES_SCHEMA if field.name != "rank"]
        self._words: dict[str, dict[str, int]] = {name: {} for name in (*texts, _CLUSTER)}
        self._dictionaries = {name: pa.array([], pa.string()) for name in texts}
        self._totals: dict[tuple[int, ...], int] = {}
        self._sums: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return self._series.count

    def of(self, name: str, rows: _Numbers) -> _Numbers:
        """Return a column of some series: ``kind``, ``cluster``, or ``sum`` (that of a part)."""
        if name in _SHAPE:
            return self._shapes.columns[name][self._series.columns["shape"][rows]]
        return self._series.columns[name][rows]

    def scales(self, rows: _Numbers) -> NDArray[np.float64]:
        """Return what the values of some series are multiplied with."""
        return np.array(self._scales)[self._series.columns["shape"][rows]]

    def clusters(self, rows: _Numbers) -> dict[int, str | None]:
        """Return which clusters the labels of some series name, by the code in ``cluster``.

        Null, which comes first, stands for series whose labels name none.
        """
        names = (*self._words[_CLUSTER], None)  # the code of null is -1
        return {code: names[code] for code in np.unique(self.of(_CLUSTER, rows)).tolist()}

    def learn(self, named: NamedSeries | None, told: int, cluster: str | None) -> int:
        """Take what series of a new shape are; return the number of the shape."""
        if named is None:
            return self._shape(_NOTHING, UNKNOWN)
        place, rank = named.series, named.rank
        words = [self._word(name, getattr(place, name)) for name in ("metric", "gpu", "device")]
        words += [_NULL if rank is None else rank, self._word(_CLUSTER, cluster)]
        if not named.is_summed:
            return self._shape(words, told, scale=named.scale)
        total = self._totals.get(tuple(words))
        if total is None:
            total = self._totals[tuple(words)] = self._shape(words, PLAIN)
        return self._shape(words, PART, total, scale=named.scale)

    def learn_node(self, name: str) -> int:
        """Return the number of a node."""
        return self._word("node", name)

    def is_known(self, shapes: _Numbers) -> NDArray[np.bool_]:
        """Say which shapes are something to Relume."""
        return np.not_equal(self._shapes.columns["kind"][shapes], UNKNOWN)

    def add(self, shapes: _Numbers, nodes: _Numbers) -> _Numbers:
        """Take new series by the numbers of their shapes and nodes; return their own numbers.

        The node is -1 where nobody says it, and where the shape is nothing.
        """
        sums = np.full(len(shapes), _NULL, np.int32)
        parts = np.flatnonzero(self._shapes.columns["kind"][shapes] == PART)
        if len(parts):
            sums[parts] = self._sums_of(shapes[parts], nodes[parts])
        return self._series.extend(shapes, nodes, sums)

    def batch(self, rows: _Numbers) -> pa.RecordBatch:
        """Return some series as those of a `SampleBatch`."""
        columns = []
        for field in SERIES_SCHEMA:
            codes = np.full(len(rows), _NULL, np.int32)
            if field.name != "attempt":  # no label of a series says it
                codes = self.of(field.name, rows)
            found = pa.array(codes, mask=codes == _NULL)
            if field.name in self._words:
                found = pa.DictionaryArray.from_arrays(found, self._dictionary(field.name))
            columns.append(found)
        return pa.RecordBatch.from_arrays(columns, schema=SERIES_SCHEMA)

    def _sums_of(self, shapes: _Numbers, nodes: _Numbers) -> _Numbers:
        """Return the numbers of the sums of parts; a new sum is a series, too."""
        totals = self._shapes.columns["total"][shapes]
        keys = list(zip(totals.tolist(), nodes.tolist(), strict=True))
        new = list(dict.fromkeys(key for key in keys if key not in self._sums))
        self._sums |= {key: len(self._sums) + at for at, key in enumerate(new)}
        of_sums, of_nodes = np.array(new, np.int32).reshape(-1, 2).T
        none = np.full(len(new), _NULL, np.int32)
        self.sum_series += self._series.extend(of_sums, of_nodes, none).tolist()
        return np.array([self._sums[key] for key in keys], np.int32)

    def _shape(
        self, words: Sequence[int], kind: int, total: int = _NULL, *, scale: float = 1.0
    ) -> int:
        self._scales.append(scale)
        values = (*words, kind, total)
        return int(self._shapes.extend(*(np.array([value], np.int32) for value in values))[0])

    def _word(self, name: str, text: str | None) -> int:
        known = self._words[name]
        return _NULL if text is None else known.setdefault(text, len(known))

    def _dictionary(self, name: str) -> pa.Array:
        words = self._words[name]
        if len(self._dictionaries[name]) != len(words):
            self._dictionaries[name] = pa.array(list(words), pa.string())
        return self._dictionaries[name]


class _Rows:
    """Numbers in columns of these names, which grow."""

    def __init__(self, *names: str) -> None:
        self.count = 0
        self.columns = {name: np.full(1 << 10, _NULL, np.int32) for name in names}

    def extend(self, *columns: _Numbers) -> _Numbers:
        """Add rows; return their numbers."""
        first, self.count = self.count, self.count + len(columns[0])
        for name, column in zip(self.columns, columns, strict=True):
            if (short := self.count - len(self.columns[name])) > 0:
                more = np.full(max(short, len(self.columns[name])), _NULL, np.int32)
                self.columns[name] = np.concatenate([self.columns[name], more])
            self.columns[name][first : self.count] = column
        return np.arange(first, self.count, dtype=np.int32)
