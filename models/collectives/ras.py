"""Reports of NCCL's RAS: ranks that launched fewer operations than the others, or don't answer.

RAS counts the ranks of a communicator, so only those of one as large as the job are global ranks;
node and GPU hold for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.dumps import RasCommunicator, RasPlace, RasReport

FEW = 0.5
"""Ranks that are behind are fewer than this share of the communicator."""
MAX_NAMED = 16


@dataclass(frozen=True, slots=True)
class RasFinding:
    """Who lags or doesn't answer, the most suspicious first, each once.

    `is_dead` when RAS can't reach them at all.
    """

    places: tuple[RasPlace, ...]
    is_dead: bool
    confidence: float
    why: tuple[str, ...]


def judge_ras(reports: Iterable[RasReport], world: int | None = None) -> RasFinding | None:
    """Name who lags by RAS; null when all ranks have launched as much, and all answer.

    `world` is the number of ranks of the job, where known: else the largest communicator is taken
    for it.

    Examples
    --------
    >>> from relume.dumps import RasLaunched
    >>> few = RasLaunched(number=11, ranks=1, places=(RasPlace(rank=3, node="10.0.0.1", gpu="3"),))
    >>> counts = {"AllReduce": (few, RasLaunched(number=12, ranks=7))}
    >>> report = RasReport(
    ...     file="ras", communicators=(RasCommunicator(name="a", size=8, launched=counts),)
    ... )
    >>> judge_ras([report]).places
    (RasPlace(rank=3, node='10.0.0.1', gpu='3'),)
    """
    told = list(reports)
    sizes = [c.size for report in told for c in report.communicators if c.size is not None]
    world = world or max(sizes, default=None)
    dead: dict[RasPlace, str] = {}
    behind: dict[RasPlace, str] = {}
    for report in told:
        for place in report.dead:
            dead.setdefault(place, f"RAS: {_where(place)} is considered dead")
        for comm in report.communicators:
            for place in comm.unresponsive:
                named = _global(place, comm, world)
                dead.setdefault(named, f"RAS: {_where(named)} doesn't answer")
            behind |= {p: why for p, why in _lagging(comm, world) if p not in behind}
    found = dead or behind
    if not found:
        return None
    places = sorted(found, key=lambda p: (p.rank is None, p.rank or 0, p.node or "", p.gpu or ""))
    return RasFinding(
        places=tuple(places[:MAX_NAMED]),
        is_dead=bool(dead),
        confidence=0.85 if len(found) == 1 else 0.75,
        why=tuple(found[place] for place in places[:MAX_NAMED]),
    )


def _lagging(comm: RasCommunicator, world: int | None) -> Iterable[tuple[RasPlace, str]]:
    for operation, counts in comm.launched.items():
        total = sum(count.ranks for count in counts)
        usual = max(counts, key=lambda count: count.ranks, default=None)
        if usual is None or usual.ranks <= FEW * total:
            continue
        for count in counts:
            if count.number >= usual.number:
                continue
            for place in count.places:
                named = _global(place, comm, world)
                launched = f"{count.number} {operation}, {usual.ranks} others {usual.number}"
                yield named, f"RAS: {_where(named)} has launched {launched}"


def _global(place: RasPlace, comm: RasCommunicator, world: int | None) -> RasPlace:
    """Leave out the rank where it counts within a part of the job."""
    if comm.size is not None and comm.size == world:
        return place
    return RasPlace(node=place.node, gpu=place.gpu) if place.node is not None else place


def _where(place: RasPlace) -> str:
    named = [
        None if place.rank is None else f"rank {place.rank}",
        None if place.node is None else f"node {place.node}",
        None if place.gpu is None else f"GPU {place.gpu}",
    ]
    return ", ".join(part for part in named if part is not None) or "a process"
