"""Who left out its part of a send and a receive: two ranks wait for each other in different works.

One is in a send or a receive, the other in a collective. Either the first is a step ahead (it left the
collective out), or the other went on without its part of the pair. Ranks in the same place of other
groups of that purpose tell: how many sends and receives they have called by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median_low

from relume.models.collectives.graph import OpenWork
from relume.models.collectives.state import GroupKey, State


def who_left_out(state: State, works: Iterable[OpenWork]) -> int | None:
    """Return the rank that went another way, null where no two ranks wait for each other so.

    Without other groups to compare with it is the one that did not come to the pair.
    """
    for work in works:
        if not work.is_pair or len(work.waiting) != 1 or len(work.absent) != 1:
            continue
        [(rank, own)], [other] = work.waiting.items(), work.absent
        heads = state.open.get(rank, []), state.open.get(other, [])
        is_now = bool(heads[0]) and heads[0][0].order == own.order
        in_collective = bool(heads[1]) and heads[1][0].peer is None
        if is_now and in_collective:
            return _of_two(state, work.key, rank, other)
    return None


def _of_two(state: State, key: GroupKey, waiting: int, absent: int) -> int:
    usual, own = _siblings(state, key, waiting), _count(state, key, waiting)
    expected, called = _siblings(state, key, absent), _count(state, key, absent)
    fewer = bool(expected) and called < median_low(expected)
    return waiting if usual and own > median_low(usual) and not fewer else absent


def _siblings(state: State, key: GroupKey, rank: int) -> Sequence[int]:
    """How many sends and receives the ranks in the same place of such groups have called."""
    if rank not in key.ranks:
        return ()
    place, description = key.ranks.index(rank), state.groups[key].description
    alike = [
        other
        for other, group in state.groups.items()
        if other != key
        and group.description == description
        and description is not None
        and len(other.ranks) == len(key.ranks)
    ]
    counts = [(other, other.ranks[place]) for other in alike if other.ranks[place] in state.dumps]
    return [_count(state, other, sibling) for other, sibling in counts]


def _count(state: State, key: GroupKey, rank: int) -> int:
    """Number of the last send or receive that `rank` has called in a group."""
    return max(
        (
            collective.sequence_number
            for collective in state.dumps[rank].collectives
            if collective.is_p2p and collective.group == key.name
        ),
        default=0,
    )
