"""What new series are: found out once for all that differ in nothing but their node.

A node that is scraped for the first time brings hundreds of series, and a fleet millions, but they
are of a few hundred shapes: the same name, GPU and device on each node. So names and labels are
read for the first series of a shape; of the others only their node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from relume.ingest.metrics.raw import NAME
from relume.ingest.push.wire import TEXT_1, TEXT_2, compiled, field, mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from relume.ingest.metrics.raw import Naming
    from relume.ingest.push.hashed import Hashed

_COUNTS, _IS_NODE = 1, 2
_ASCII: Final = 128


class Read(NamedTuple):
    """What labels of series say; a column for each series.

    Attributes
    ----------
    shapes, nodes
        Two hashes each: of all labels that what it is depends on, and of its node as it is said.
    spans
        Where that node's text begins and ends in the body, equal where nobody says it.
    counts
        How many labels there are; negative where they can't be read: `wire.WRONG`.
    sizes
        From the begin of the series to the end of its last label, in bytes.
    is_ascii
        Whether all of that is.
    """

    shapes: NDArray[np.int64]
    nodes: NDArray[np.int64]
    spans: NDArray[np.int64]
    counts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    is_ascii: NDArray[np.bool_]


class LabelReader:
    """Reads labels of series by what counts to `naming`, and some others; see `Read`.

    `seed` has two numbers that hashes begin with.
    """

    def __init__(self, naming: Naming, others: Iterable[str], seed: NDArray[np.int64]) -> None:
        names = dict.fromkeys(naming.node_labels, _IS_NODE)
        for name in (NAME, *others, *naming.other_labels):
            names[name] = names.get(name, 0) | _COUNTS
        rows = [(*_hash(name.encode(), seed), role) for name, role in names.items()]
        self._names = np.array(rows, np.int64)
        self._seed = seed

    def read(
        self, body: NDArray[np.uint8], starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> Read:
        """Return what the labels of series say that stand there in the body."""
        found = np.zeros((9, len(starts)), np.int64)
        _read(body, np.stack([starts, stops]), self._names, self._seed, found)
        return Read(found[:2], found[2:4], found[4:6], found[6], found[7], found[8] > 0)


def numbered(
    table: Hashed,
    keys: NDArray[np.int64],
    learn: Callable[[NDArray[np.int64]], Sequence[int] | NDArray[np.int32]],
) -> NDArray[np.int32]:
    """Return the numbers of keys; `learn` is given where each new one first comes, and gives some.

    It may raise: then nothing is remembered.
    """
    rows = table.find(keys)
    new = np.flatnonzero(rows < 0)
    if not len(new):
        return rows
    firsts = np.unique(keys[:, new], axis=1, return_index=True)[1]
    new = new[np.sort(firsts)]
    table.put(np.ascontiguousarray(keys[:, new]), np.array(learn(new), np.int32))
    return table.find(keys)


def _hash(name: bytes, seed: NDArray[np.int64]) -> tuple[int, int]:
    one, two = mixed(np.frombuffer(name, np.uint8), 0, len(name), seed[0], seed[1])
    return int(one), int(two)


@compiled
def _read(
    data: NDArray[np.uint8],
    bounds: NDArray[np.int64],
    names: NDArray[np.int64],
    seed: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Fill the columns of `Read`, in their order, for series between these bounds."""
    spots = np.zeros((len(names), 2), np.int64)
    pair = np.zeros(4, np.int64)
    for row in range(bounds.shape[1]):
        at, stop, last, count = bounds[0, row], bounds[1, row], bounds[0, row], 0
        one, two = seed[0], seed[1]
        spots[:] = 0
        while at < stop:
            at, wrong = _label(data, at, stop, pair)
            if wrong < 0:
                count = wrong
                break
            if pair[1] == 0:
                continue  # something else, such as a sample
            count += 1
            last = max(last, pair[1], pair[3])
            name = _place(data, pair, names, seed)
            if name >= 0 and names[name, 2] & _COUNTS:
                one, two = mixed(data, pair[2], pair[3], one ^ (name + 1), two + (name + 1))
            if name >= 0 and names[name, 2] & _IS_NODE:
                spots[name, 0], spots[name, 1] = pair[2], pair[3]
        found[0, row], found[1, row] = one, two
        found[6, row], found[7, row] = count, last - bounds[0, row]
        found[8, row] = _is_ascii(data, bounds[0, row], last)
        _node(data, spots, seed, found[2:6, row])


@compiled
def _label(data: NDArray[np.uint8], at: int, end: int, pair: NDArray[np.int64]) -> tuple[int, int]:
    """Read a field; of a label find start and stop of its name and its value, zero for none.

    Returns where the next field begins, and what is negative for one that is WRONG.
    """
    pair[:] = 0
    tag, begin, stop, at = field(data, at, end)
    if stop < 0:
        return at, stop
    if tag != TEXT_1:
        return at, 0
    pair[0] = pair[1] = begin  # one without a name is a label, too
    while begin < stop:
        tag, start, rest, begin = field(data, begin, stop)
        if rest < 0:
            return at, rest
        if tag == TEXT_1:
            pair[0], pair[1] = start, rest
        elif tag == TEXT_2:
            pair[2], pair[3] = start, rest
    return at, 0


@compiled
def _place(
    data: NDArray[np.uint8],
    name: NDArray[np.int64],
    names: NDArray[np.int64],
    seed: NDArray[np.int64],
) -> int:
    """Which of some names that is, by its hashes; -1 for none."""
    one, two = mixed(data, name[0], name[1], seed[0], seed[1])
    for place in range(len(names)):
        if names[place, 0] == one and names[place, 1] == two:
            return place
    return -1


@compiled
def _node(
    data: NDArray[np.uint8],
    spots: NDArray[np.int64],
    seed: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Take the first text of a node that isn't empty: its hashes, and where it stands."""
    for place in range(len(spots)):
        start, stop = spots[place, 0], spots[place, 1]
        if stop > start:
            found[0], found[1] = mixed(data, start, stop, seed[1], seed[0])
            found[2], found[3] = start, stop
            return


@compiled
def _is_ascii(data: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Whether all bytes there are."""
    merged = np.uint8(0)
    for place in range(start, stop):
        merged |= data[place]
    return bool(merged < _ASCII)
