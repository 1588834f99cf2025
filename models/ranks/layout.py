"""How Slurm lays tasks out over the nodes of a job: by blocks or in turns (srun --distribution)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relume.slurm.nodes import short_name

MIN_FITTING_NODES = 3
"""Nodes whose places must be known to tell how many ranks each has."""
MIN_CONFIRMING_NODES = 2
"""Nodes on which known places must agree with a layout before they confirm it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """`count` ranks or tasks over `nodes` in their order; `is_confirmed` by places that were read.

    >>> Layout(("a", "b"), 4, is_cyclic=False, is_confirmed=False).node_of(1)
    'a'
    >>> Layout(("a", "b"), 4, is_cyclic=True, is_confirmed=False).node_of(1)
    'b'
    """

    nodes: tuple[str, ...]
    count: int
    is_cyclic: bool
    is_confirmed: bool

    def node_of(self, number: int) -> str | None:
        """Node of a rank or task; null outside the count."""
        if not 0 <= number < self.count:
            return None
        per_node = self.count // len(self.nodes)
        return self.nodes[number % len(self.nodes) if self.is_cyclic else number // per_node]


def find_layout(
    nodes: Sequence[str],
    count: int | None,
    known: Mapping[int, str],
    *,
    told_cyclic: bool | None = None,
) -> Layout | None:
    """Return the layout that every known place agrees with; null when there is none, or two.

    Blocks are Slurm's default, so they are assumed where nothing speaks against them; turns only
    where the job's environment says so, or known places that blocks can't explain.
    """
    if not nodes or not count or count % len(nodes):
        return None
    block, cyclic = (Layout(tuple(nodes), count, way, is_confirmed=False) for way in (False, True))
    if len(nodes) == count:
        cyclic = block  # one on each node: both are the same
    fitting = [way for way in (block, cyclic) if _agrees(way, known)]
    if told_cyclic is not None:
        fitting = [way for way in fitting if way.is_cyclic == told_cyclic or block is cyclic]
    if not fitting or (
        fitting == [cyclic] and told_cyclic is None and block is not cyclic and not known
    ):
        return None
    chosen = fitting[0]
    confirming = {short_name(node) for node in known.values()}
    is_confirmed = len(confirming) >= min(MIN_CONFIRMING_NODES, len(nodes))
    return Layout(chosen.nodes, count, chosen.is_cyclic, is_confirmed)


def fitted_layout(nodes: Sequence[str], known: Mapping[int, str]) -> Layout | None:
    """Return the blocks of equal size that every known place agrees with, where only one size does.

    For when nobody says how many ranks there are. Places on several nodes must be known.

    >>> fitted_layout(["a1", "a2", "a3", "a4"], {1: "a1", 9: "a3", 15: "a4"}).count
    16
    >>> fitted_layout(["a1", "a2", "a3", "a4"], {0: "a1"}) is None
    True
    """
    places = {number: short_name(node) for number, node in known.items()}
    if len(set(places.values())) < min(MIN_FITTING_NODES, len(nodes)) or not nodes:
        return None
    sizes = range(1, max(places) // max(1, len(set(places.values())) - 1) + 2)
    layouts = (
        Layout(tuple(nodes), size * len(nodes), is_cyclic=False, is_confirmed=True)
        for size in sizes
    )
    fitting = [layout for layout in layouts if _agrees(layout, known)]
    return fitting[0] if len(fitting) == 1 else None


def _agrees(layout: Layout, known: Mapping[int, str]) -> bool:
    return all(
        (node := layout.node_of(number)) is not None and short_name(node) == short_name(other)
        for number, other in known.items()
    )
