"""Who left out its part of a send and a receive: two ranks that wait for each other elsewhere.

One is in a send or a receive, the other in a collective: either the first is a step ahead (it left
the collective out), or the other went on without its part of the pair. Or both are in sends to each
other, and one of them should have received first. Ranks in the same place of other groups of that
purpose tell: how many sends and receives they have called by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median_low

from relume.models.collectives.graph import OpenWork
from relume.models.collectives.state import GroupKey, State


def who_left_out(state: State, works: Iterable[OpenWork]) -> int | None:
    """Return the rank that went another way, null where no two ranks wait for each other so.

    Without other groups to compare with, of a pair and a collective it is the one that did not come
    to the pair, unless the other is ahead in both directions.
    """
    for work in works:
        if not work.is_pair or len(work.waiting) != 1 or len(work.absent) != 1:
            continue
        [(rank, own)], [other] = work.waiting.items(), work.absent
        heads = state.open.get(rank, []), state.open.get(other, [])
        if not all(heads) or heads[0][0].order != own.order:
            continue
        peer = heads[1][0].peer
        if peer not in {None, rank}:
            continue
        for is_odd in (_differs, _is_behind):
            odd = [one for one in (rank, other) if is_odd(state, work.key, one)]
            if len(odd) == 1:
                return odd[0]
        if peer is None:
            return rank if _is_ahead(state, work.key, rank, other) else other
    return None


def _differs(state: State, key: GroupKey, rank: int) -> bool:
    """Whether a send or a receive of `rank` is another than that of most ranks in its place."""
    own = _uncut(_calls(state, key, rank))
    others = [_uncut(_calls(state, *sibling)) for sibling in _siblings(state, key, rank)]
    for number, calls in own.items():
        told = [other[number] for other in others if number in other]
        if sum(calls != other for other in told) * 2 > len(told):
            return True
    return False


def _uncut(calls: dict[int, frozenset[str]]) -> dict[int, frozenset[str]]:
    """Without the oldest call, of which a ring may have lost a part, unless it is the first."""
    oldest = min(calls, default=1)
    return {number: names for number, names in calls.items() if number > oldest or number == 1}


def _is_behind(state: State, key: GroupKey, rank: int) -> bool:
    """Whether `rank` has called fewer sends and receives than ranks in its place have."""
    usual = [_count(state, *sibling) for sibling in _siblings(state, key, rank)]
    return bool(usual) and _count(state, key, rank) < median_low(usual)


def _is_ahead(state: State, key: GroupKey, rank: int, other: int) -> bool:
    """Whether `rank` has called more than it should: than its like, or in both directions."""
    usual = [_count(state, *sibling) for sibling in _siblings(state, key, rank)]
    if usual:
        return _count(state, key, rank) > median_low(usual)
    return len({work.is_send for work in state.open[rank] if work.peer == other}) > 1


def _siblings(state: State, key: GroupKey, rank: int) -> Sequence[tuple[GroupKey, int]]:
    """The ranks in the same place of such groups, with their groups."""
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
    return [(other, other.ranks[place]) for other in alike if other.ranks[place] in state.dumps]


def _calls(state: State, key: GroupKey, rank: int) -> dict[int, frozenset[str]]:
    """Names of the sends and receives of a rank by number; they tell places, not ranks."""
    calls: dict[int, frozenset[str]] = {}
    for collective in state.dumps[rank].collectives:
        if collective.is_p2p and collective.group == key.name:
            number = collective.sequence_number
            calls[number] = calls.get(number, frozenset()) | {collective.operation}
    return calls


def _count(state: State, key: GroupKey, rank: int) -> int:
    """Number of the last send or receive that `rank` has called in a group."""
    return max(_calls(state, key, rank), default=0)
