"""The nodes of a simulated cluster: who runs on which, which are broken, which are out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relume.benchmarks.simulator.runs import NO_FAULT, Run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_FREE, _BUSY, _OUT = 0, 1, 2


class Nodes:
    """So many nodes, all of them free and sound at first.

    Examples
    --------
    >>> nodes = Nodes(4)
    >>> nodes.take_out(0), nodes.free, nodes.find(3).tolist(), nodes.find(4)
    (True, 3, [1, 2, 3], None)
    """

    def __init__(self, count: int) -> None:
        self._state = np.zeros(count, np.int8)
        self._fault = np.full(count, NO_FAULT, np.int64)
        self._leaves = np.zeros(count, np.bool_)
        self._owners: list[Run | None] = [None] * count

    def __len__(self) -> int:
        return len(self._state)

    @property
    def free(self) -> int:
        """How many nobody runs on."""
        return int(np.count_nonzero(self._state == _FREE))

    def find(self, count: int) -> NDArray[np.int64] | None:
        """Return `count` free nodes, the first ones as Slurm takes them; null without so many."""
        free = np.flatnonzero(self._state == _FREE)
        return free[:count] if len(free) >= count else None

    def give(self, nodes: NDArray[np.int64], run: Run) -> None:
        """Give free nodes to a run."""
        self._state[nodes] = _BUSY
        for node in nodes.tolist():
            self._owners[node] = run

    def release(self, nodes: NDArray[np.int64]) -> list[int]:
        """Free the nodes of a run; return those that have to be taken out now."""
        self._state[nodes] = _FREE
        for node in nodes.tolist():
            self._owners[node] = None
        return nodes[self._leaves[nodes]].tolist()  # type: ignore[no-any-return]

    def owner(self, node: int) -> Run | None:
        """Return who runs on a node."""
        return self._owners[node]

    def breaks(self, node: int, fault: int) -> None:
        """Whoever runs on the node fails by `fault`, until it is taken out."""
        self._fault[node] = fault

    def leaves(self, node: int) -> None:
        """Take the node out as soon as nobody runs on it."""
        self._leaves[node] = True

    def fault_of(self, node: int) -> int:
        """Return by which fault it is broken, or `NO_FAULT`."""
        return int(self._fault[node])

    def broken(self, nodes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Walk through those that are broken, with their faults."""
        for node in nodes[self._fault[nodes] != NO_FAULT].tolist():
            yield node, self.fault_of(node)

    def take_out(self, node: int) -> bool:
        """Take a free node out to be mended; false where somebody runs on it, or it is out."""
        if self._state[node] != _FREE:
            return False
        self._state[node], self._fault[node], self._leaves[node] = _OUT, NO_FAULT, False
        return True

    def bring_back(self, node: int) -> None:
        """Put a node back into service."""
        self._state[node] = _FREE
