"""A table from hashes of 128 bits to numbers of rows, for millions of them: 27 to 53 bytes each.

That two of n keys are taken for one is as likely as n² / 2¹²⁹. What the keys are hashes of isn't
kept, so they must begin with numbers that nobody can guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relume.ingest.push.wire import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALLEST = 1 << 10
_NONE = -1


class Hashed:
    """The table.

    Examples
    --------
    >>> table, keys = Hashed(), np.array([[1, 2], [3, 4]])
    >>> table.put(keys[:, :1], np.array([7], np.int32))
    >>> table.find(keys).tolist(), len(table)
    ([7, -1], 1)
    """

    def __init__(self) -> None:
        self._count = 0
        self._keys = np.zeros((_SMALLEST, 2), np.int64)
        self._rows = np.full(_SMALLEST, _NONE, np.int32)

    def __len__(self) -> int:
        return self._count

    def find(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return of each key (a column of two numbers) the row, -1 where it isn't known."""
        return _find(self._keys, self._rows, keys)

    def put(self, keys: NDArray[np.int64], rows: NDArray[np.int32]) -> None:
        """Take keys that aren't known yet, each once."""
        size = len(self._rows)
        while 4 * (self._count + len(rows)) > 3 * size:
            size *= 2
        if size > len(self._rows):
            old = np.flatnonzero(self._rows != _NONE)
            before, of = np.ascontiguousarray(self._keys[old].T), self._rows[old]
            self._keys = np.zeros((size, 2), np.int64)
            self._rows = np.full(size, _NONE, np.int32)
            _put(self._keys, self._rows, before, of)
        _put(self._keys, self._rows, keys, rows)
        self._count += len(rows)


@compiled
def _find(
    known: NDArray[np.int64], rows: NDArray[np.int32], keys: NDArray[np.int64]
) -> NDArray[np.int32]:
    count, mask = keys.shape[1], len(rows) - 1
    found = np.full(count, -1, np.int32)
    for key in range(count):
        one, two = keys[0, key], keys[1, key]
        at = (one ^ (two >> 7)) & mask
        while rows[at] >= 0:
            if known[at, 0] == one and known[at, 1] == two:
                found[key] = rows[at]
                break
            at = (at + 1) & mask
    return found


@compiled
def _put(
    known: NDArray[np.int64],
    rows: NDArray[np.int32],
    keys: NDArray[np.int64],
    given: NDArray[np.int32],
) -> None:
    mask = len(rows) - 1
    for key in range(len(given)):
        one, two = keys[0, key], keys[1, key]
        at = (one ^ (two >> 7)) & mask
        while rows[at] >= 0:
            at = (at + 1) & mask
        known[at, 0], known[at, 1], rows[at] = one, two, given[key]
