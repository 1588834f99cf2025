"""Ranks that left no dump: when one of them can be named, and when it can't be told which."""

from __future__ import annotations

from collections.abc import Sequence

from relume.models.collectives.case import Case, waited
from relume.models.collectives.finding import CollectiveFinding, Pattern
from relume.models.collectives.graph import OpenWork
from relume.models.collectives.state import ranks_text

FEW_DUMPS = 0.5
"""Below this share of dumps, what is missing says nothing."""
RANKS_OF_A_NODE = 4
"""Fewer that follow each other may be chance."""


def no_dump(case: Case) -> CollectiveFinding | None:
    """Name a rank without a dump, where others wait for it and nothing else is left."""
    gone = [rank for rank in case.ranks() if rank not in case.state.dumps]
    if not gone:
        return None
    if set(gone) <= set(case.state.older):
        work = min((case.kept_by(rank)[0] for rank in gone), key=case.began)
        why = f"others wait for {ranks_text(gone)}, whose dumps are from before the hang"
        return CollectiveFinding(
            Pattern.NO_DUMP, 0.6, suspects=tuple(sorted(gone)), work=waited(case, work), why=(why,)
        )
    gone = [rank for rank in gone if rank not in case.state.older]
    if _is_node(case.state.missing) and set(gone) == set(case.state.missing):
        work = case.kept_by(gone[0])[0]
        why = f"{ranks_text(gone)} left no dump, all others did: a whole node, as it seems"
        return CollectiveFinding(
            Pattern.NO_DUMP, 0.0, tuple(sorted(gone)), work=waited(case, work), why=(why,)
        )
    alone = {rank: _alone_in(case, rank) for rank in gone}
    told = [rank for rank in gone if alone[rank]]
    first = min(told or gone, key=lambda rank: (case.first_wait(rank), rank))
    work = (alone[first] or case.kept_by(first))[0]
    few = len(case.state.dumps) < FEW_DUMPS * len(case.state.world)
    if few or (not told and len(gone) > 1):
        why = f"{ranks_text(gone)} left no dump, and others wait for one of them"
        return CollectiveFinding(
            Pattern.NO_DUMP, 0.6, suspects=tuple(sorted(gone)), work=waited(case, work), why=(why,)
        )
    why = f"rank {first} left no dump, and the others of its group wait for it alone"
    sure = 0.6 if len(case.state.missing) > 1 else 0.0  # its dump may be lost as theirs are
    return CollectiveFinding(
        Pattern.NO_DUMP, sure, (first,), tuple(sorted(gone)), work=waited(case, work), why=(why,)
    )


def _is_node(ranks: Sequence[int]) -> bool:
    """Whether several ranks follow each other as those of one node do."""
    count = len(ranks)
    follow = count >= RANKS_OF_A_NODE and ranks[-1] - ranks[0] == count - 1
    return follow and ranks[0] % count == 0


def _alone_in(case: Case, rank: int) -> list[OpenWork]:
    """The works that `rank` alone keeps."""
    return [work for work in case.kept_by(rank) if len(set(work.blockers())) == 1]
