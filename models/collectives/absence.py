"""Ranks that left no dump: when one of them can be named, and when it can't be told which."""

from __future__ import annotations

from collections.abc import Sequence

from relume.models.collectives.case import Case, waited
from relume.models.collectives.finding import CollectiveFinding, Pattern
from relume.models.collectives.graph import OpenWork
from relume.models.collectives.state import State, ranks_text

FEW_DUMPS = 0.5
"""Below this share of dumps, what is missing says nothing."""
NODE_SIZES = (16, 8, 4)
CHANCE = 0.01
"""How likely dumps that are lost one by one may look like those of a node."""
SURE_OF_ONE_OF_MANY = 0.65
"""Its dump may be lost as others are, and the network at fault: the dumps would be the same."""


def no_dump(case: Case) -> CollectiveFinding | None:
    """Name a rank without a dump, where others wait for it and nothing else is left.

    It is named when no other rank without a dump is waited for alone, or as one of a whole node.
    """
    gone = [rank for rank in case.ranks() if rank not in case.state.dumps]
    if not gone:
        return None
    older = set(case.state.older)
    if older.issuperset(gone):
        why = f"others wait for {ranks_text(gone)}, whose dumps are from before the hang"
        return _cannot_tell(case, gone, why)
    gone = [rank for rank in gone if rank not in older]
    node = _node(case.state)
    if node.intersection(gone):
        work = case.kept_by(min(node.intersection(gone)))[0]
        why = f"{ranks_text(sorted(node))} left no dump: a whole node, as it seems"
        return CollectiveFinding(
            Pattern.NO_DUMP, 0.0, tuple(sorted(node)), work=waited(case, work), why=(why,)
        )
    alone = {rank: works for rank in gone if (works := _alone_in(case, rank))}
    if not alone and len(gone) == 1:
        alone = {gone[0]: case.kept_by(gone[0])}
    if len(alone) != 1 or len(case.state.dumps) < FEW_DUMPS * len(case.state.world):
        why = f"{ranks_text(gone)} left no dump, and others wait for one of them"
        return _cannot_tell(case, list(alone) or gone, why)
    [(rank, works)] = alone.items()
    why = f"rank {rank} left no dump, and the others of its group wait for it alone"
    sure = SURE_OF_ONE_OF_MANY if len(case.state.missing) > 1 else 0.0
    others = tuple(sorted(gone)) if len(gone) > 1 else ()
    return CollectiveFinding(
        Pattern.NO_DUMP, sure, (rank,), others, work=waited(case, works[0]), why=(why,)
    )


def _cannot_tell(case: Case, suspects: Sequence[int], why: str) -> CollectiveFinding:
    work = min((case.kept_by(rank)[0] for rank in suspects), key=case.began)
    return CollectiveFinding(
        Pattern.NO_DUMP, 0.6, suspects=tuple(sorted(suspects)), work=waited(case, work), why=(why,)
    )


def _node(state: State) -> frozenset[int]:
    """Ranks without a dump that are all of a node's, were nodes as large as most; empty if none.

    So many in a row must be no chance, given how many are missing elsewhere.
    """
    missing, world = set(state.missing), len(state.world)
    for size in NODE_SIZES:
        share = max(0, len(missing) - size) / max(1, world - size)
        for start in range(0, world, size) if size < world else ():
            block = frozenset(range(start, start + size))
            if block <= missing and share**size * world / size < CHANCE:
                return block
    return frozenset()


def _alone_in(case: Case, rank: int) -> list[OpenWork]:
    """The works that `rank` alone keeps."""
    return [work for work in case.kept_by(rank) if len(set(work.blockers())) == 1]
