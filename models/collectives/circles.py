"""Circles: ranks that wait for each other, and which of them broke it."""

from __future__ import annotations

from collections.abc import Sequence

from relume.models.collectives.case import Case, waited
from relume.models.collectives.finding import CollectiveFinding, Pattern
from relume.models.collectives.graph import OpenWork
from relume.models.collectives.odd import odd_ranks
from relume.models.collectives.pairs import who_left_out
from relume.models.collectives.state import Group, Work, ranks_text

MANY_WAITING = 3
FAR_MORE = 2.0
"""In a circle, who keeps so many times more ranks waiting than the next is the one."""
LEAST_IN_RING = 3
"""Two ranks that send to each other look like any two steps of a pipeline."""
SURE_OF_RING = 0.75


def circle(case: Case) -> CollectiveFinding | None:
    """Name who broke a circle that waits for nobody outside."""
    return _largest(case, [sink.nodes for sink in case.sinks if len(sink.nodes) > 1])


def open_circle(case: Case) -> CollectiveFinding | None:
    """Name who broke a circle that waits for others, too: whatever they do, it stays closed."""
    circles = case.graph.circles()
    return _largest(case, [part for part in circles if sum(node >= 0 for node in part) > 1])


def _largest(case: Case, circles: Sequence[frozenset[int]]) -> CollectiveFinding | None:
    if not circles:
        return None
    part = max(circles, key=len)
    ranks = sorted(node for node in part if node >= 0)
    works = case.works_in(part)
    first, how = _first_of_circle(case, ranks, works)
    why = f"{ranks_text(ranks)} wait for each other in a circle; {how}"
    work = min(works, key=lambda one: (first not in one.waiting, case.began(one)))
    culprits = () if first is None else (first,)
    return CollectiveFinding(
        Pattern.CYCLE, 0.0, culprits, tuple(ranks), work=waited(case, work), why=(why,)
    )


def _first_of_circle(
    case: Case, ranks: Sequence[int], works: Sequence[OpenWork]
) -> tuple[int | None, str]:
    """Which rank of a circle broke it, in words: who goes another way than all the others.

    Null where only the first to wait would tell, and nobody can know who that was.
    """
    odd = {rank: one for rank, one in odd_ranks(case.state).items() if rank in ranks}
    if len(odd) == 1:
        [(rank, one)] = odd.items()
        return rank, f"rank {rank} {one.words}"
    kept = {rank: _kept_waiting(case, rank) for rank in ranks}
    most = sorted(ranks, key=lambda rank: -kept[rank])
    second = kept[most[1]] if len(most) > 1 else 0
    left = who_left_out(case.state, works)
    if left is not None:
        return left, f"rank {left} alone went on without a send or a receive that its peer is in"
    of_all = any(not work.is_pair for work in works)
    if of_all and kept[most[0]] >= MANY_WAITING and kept[most[0]] >= FAR_MORE * second:
        return most[0], f"{kept[most[0]]} ranks wait for rank {most[0]}, more than for any other"
    absent = {rank for work in works for rank in work.absent}
    if len(absent) == 1:
        [rank] = absent
        return rank, f"rank {rank} alone has not called what the others are in"
    if not case.tells_first(ranks):
        return None, "who waited first is not known"
    rank = min(ranks, key=lambda rank: (case.entered(rank), rank))
    return rank, f"rank {rank} was the first to wait"


def _kept_waiting(case: Case, rank: int) -> int:
    """How many ranks wait for `rank` right now, in the first of what they have open."""
    return len(
        {
            waiting
            for work in case.graph.works
            if rank in work.blockers(firmly=True)
            for waiting, one in work.waiting.items()
            if waiting != rank and one.order == case.state.open[waiting][0].order
        }
    )


def ring(case: Case) -> CollectiveFinding | None:
    """Name the first to wait in a ring of receives of which some ranks left no dump.

    Each of a group's ranks that are there receives from the one so many places before it, and what
    it sends on to those without a dump is held by that. If these do the same, it is a circle.
    """
    for group in case.state.groups.values():
        here = [rank for rank in group.ranks if rank in case.state.dumps]
        gone = [rank for rank in group.ranks if rank in case.state.missing]
        if len(group.ranks) < LEAST_IN_RING or len(here) < len(group.ranks) / 2 or not gone:
            continue
        firsts = {rank: _first_receive(case, group, rank) for rank in here}
        steps = {_step(group, rank, one.peer) for rank, one in firsts.items() if one is not None}
        if None in firsts.values() or len(steps) != 1 or not _closes(case, group, gone, *steps):
            continue
        if not case.tells_first(here):
            continue
        first = min(here, key=lambda rank: (case.entered(rank), rank))
        work = next(work for work in case.graph.works if firsts[first] in work.waiting.values())
        why = (
            f"{ranks_text(here)} of group {group.label} receive in a ring, each from one as far "
            f"off, and {ranks_text(gone)} left no dump; rank {first} was the first to wait"
        )
        sure = SURE_OF_RING * len(here) / len(group.ranks)
        return CollectiveFinding(
            Pattern.CYCLE, sure, (first,), group.ranks, work=waited(case, work), why=(why,)
        )
    return None


def _first_receive(case: Case, group: Group, rank: int) -> Work | None:
    """What a rank has open first, where that is a receive of the group."""
    opened = case.state.open[rank] if rank not in case.state.overrun else []
    first = next(iter(opened), None)
    is_receive = first is not None and first.peer in group.ranks and not first.is_send
    return first if is_receive and first is not None and first.key == group.key else None


def _step(group: Group, rank: int, peer: int | None) -> int:
    """How many places after `rank` its peer is, around the group; before it where that is less."""
    count = len(group.ranks)
    after = (group.ranks.index(rank if peer is None else peer) - group.ranks.index(rank)) % count
    return after if after <= count // 2 else after - count


def _closes(case: Case, group: Group, gone: Sequence[int], step: int) -> bool:
    """Whether who is `gone` would close the ring: it is sent to by the one it would wait for.

    One that is there must show that the ring goes around, from the group's end to its start.
    """
    around = False
    for place, rank in enumerate(group.ranks):
        before = group.ranks[(place + step) % len(group.ranks)]
        if rank in gone and before in gone:
            continue
        sends = (w for w in case.state.open.get(before, ()) if w.is_send and w.peer == rank)
        if rank in gone and not any(w.key == group.key for w in sends):
            return False
        around |= not 0 <= place + step < len(group.ranks)
    return around
