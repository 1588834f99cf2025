"""How many ranks a job has, where no line says it: from the ranks that were seen and the nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

MAX_PER_NODE = 128
MIN_SEEN_SHARE = 0.5
"""Of the ranks that a guess needs, so many must have been seen: one line says little of a world."""


def infer_world_size(
    seen: Iterable[int],
    nodes: int,
    *,
    per_node: int | None = None,
    local_ranks: Mapping[int, int] | None = None,
) -> int | None:
    """Return the smallest number of ranks that fills `nodes` evenly and holds all that were seen.

    Null without nodes, where too few ranks were seen, and where the local ranks that lines tell
    (`local_ranks`, by rank) speak against every such number. `per_node` is what lines say of it.

    >>> infer_world_size(range(63), 8), infer_world_size([3, 9], 8)
    (64, None)
    >>> infer_world_size([1, 3, 5, 7], 2, local_ranks={5: 1})
    8
    """
    ranks = set(seen)
    if not ranks or nodes <= 0:
        return None
    if per_node is not None:
        return per_node * nodes if max(ranks) < per_node * nodes else None
    least = max(ranks) // nodes + 1
    for count in range(least, min(2 * least, MAX_PER_NODE) + 1):
        if len(ranks) < MIN_SEEN_SHARE * count * nodes:
            return None
        if all(rank % count == local for rank, local in (local_ranks or {}).items()):
            return count * nodes
    return None
