"""Whom launchers name: torchrun's agents, srun and the like say whose process ended first.

That is a pointer and not a cause: the first to end may be one of those who only lost others.
"""

from __future__ import annotations

from dataclasses import replace

from relume.models.diagnosis.blame import Blame
from relume.models.diagnosis.citing import cited
from relume.models.diagnosis.consequences import SYSTEM_CATEGORIES, died_by_signal, is_system_log
from relume.models.diagnosis.elastic import Failure, first_failure
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.locating import named, placed
from relume.models.diagnosis.order import Root
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Implicates, Role, Tier
from relume.reasons import Reason, ReasonCode
from relume.verdict import Locator


def blame_of_pointer(episode: Episode, root: Root) -> Blame:
    """Name whom the launcher names first, unless it is one of those who only lost others.

    Empty, without a reason, where it names nobody.
    """
    hit, failure = root.hit, first_failure(episode)
    if failure is not None:
        blame = _blame_of_failure(episode, failure)
    elif hit.signature.implicates is Implicates.NAMED:
        blame = Blame(placed(episode, named(hit, episode.ranks)))
    else:
        return Blame()
    rank = blame.where.rank
    if died_by_signal(blame.hit or hit) or rank is None or not _is_victim(episode, rank):
        return blame
    return Blame(hit=blame.hit, reasons=(Reason(ReasonCode.VICTIM, detail=f"rank {rank}"),))


def with_pointer(episode: Episode, hit: Hit, blame: Blame) -> Blame:
    """Take the node from the launcher, which says whose process ended first.

    Only for one line that no other process printed too, and only if the launcher doesn't name
    another process than the line does.
    """
    if episode.hits[hit.signature.id].count > 1 or is_system_log(hit):
        return blame
    failure, where = first_failure(episode), blame.where
    told = Locator()
    if failure is not None:
        told = Locator(failure.node, failure.rank, failure.local_rank)
    if told.node is None:
        told = _first_ended(episode)
    if told.node is None or _differ(where.rank, told.rank):
        return blame
    if failure is not None and _differ(where.local_rank, failure.local_rank):
        return blame
    rank = told.rank if where.rank is None else where.rank
    found = placed(episode, replace(where, node=told.node, rank=rank))
    return Blame(found, blame.hit, (Reason(ReasonCode.FIRST_FAILURE),), is_sure=False)


def _first_ended(episode: Episode) -> Locator:
    """The node, and rank, of the task that srun names first."""
    pointers = [
        h
        for h in episode.all_hits()
        if h.signature.category == "slurm"
        and h.signature.tier is Tier.POINTER
        and h.signature.implicates is Implicates.NAMED
        and not episode.recovered(h)
    ]
    first = min(pointers, key=episode.position, default=None)
    return Locator() if first is None else named(first, episode.ranks)


def _is_victim(episode: Episode, rank: int) -> bool:
    """Whether a rank printed that it had lost others."""
    return any(
        group.first[0].signature.role is Role.CASCADE
        and group.first[0].signature.category not in SYSTEM_CATEGORIES
        and group.is_printed_by(rank)
        for group in episode.hits.values()
    )


def _blame_of_failure(episode: Episode, failure: Failure) -> Blame:
    where = Locator(node=failure.node, rank=failure.rank, local_rank=failure.local_rank)
    told = cited([failure.hit]) if failure.hit is not None else ()
    reason = Reason(ReasonCode.FIRST_FAILURE, told)
    return Blame(placed(episode, where), failure.hit, (reason,))


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other
