"""Who is to blame, when the lines say so. Naming nobody is a valid answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from relume.errors import RelumeError
from relume.models.diagnosis.citing import cited
from relume.models.diagnosis.consequences import (
    died_by_signal,
    is_forgeable,
    is_system_log,
    is_undated,
)
from relume.models.diagnosis.elastic import Failure, first_failure
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.order import Root
from relume.models.diagnosis.suspects import Pair, accused, in_common
from relume.models.diagnosis.waves import find_laggard
from relume.models.ranks.facts import Source
from relume.models.ranks.mapping import RankMap
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Exclude, Implicates, Role, Tier
from relume.reasons import Cited, Reason, ReasonCode
from relume.slurm.hostlists import expand
from relume.slurm.nodes import short_name
from relume.verdict import Domain, Kind, Locator

MAX_RANKS_ON_NODE = 16
STUCK_CAUSE = "watchdog_stuck"
"""Cause of a process that hangs by itself: where one alone says so, it is the one."""
_SHARED_BY_ALL = frozenset({Domain.WORKLOAD, Domain.NETWORK})
"""Domains in which nobody is to blame for what processes of several nodes print alike."""
_EARLIEST_IS_ITS_OWN = frozenset({Domain.HARDWARE, Domain.UNKNOWN})
"""Domains in which the first to print it is to blame: the others follow from it."""
_OF_PEERS = frozenset({"container", "launcher", "nccl", "rendezvous", "torch_nccl"})
"""Families of lines whose peer is another process of the job, not a server of files."""
_TOLD = {
    Source.NCCL_INIT: "NCCL's line of its start",
    Source.LAUNCHER: "the launcher's books",
    Source.SRUN: "srun names its task there",
    Source.ENVIRONMENT: "its process says so",
    Source.PREFIX: "the prefix of its lines",
    Source.LAYOUT: "the node list, and other ranks that confirm its order",
    Source.ASSUMED: "the node list in Slurm's usual order, which no line confirms",
}
_IP = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z|[0-9a-fA-F]*:[0-9a-fA-F:]+\Z")
_HOSTLIST_LIMIT = 4096


@dataclass(frozen=True, slots=True)
class Blame:
    """The culprit (empty when nobody is named), a better root line if one was found, and why.

    `is_sure` is false where the node follows from what is usual only: nothing excludes it then.
    """

    where: Locator = Locator()
    hit: Hit | None = None
    reasons: tuple[Reason, ...] = ()
    is_sure: bool = True


def find_culprit(episode: Episode, root: Root, own: Collection[str] = ()) -> Blame:
    """Name the culprit of `root`, or nobody.

    `own` are the short names of the attempt's nodes, empty while nobody knows them: what a job
    prints never makes a suspect of another node.
    """
    return _explained(episode, root, _within(own, episode, _blame(episode, root)))


def _explained(episode: Episode, root: Root, blame: Blame) -> Blame:
    """Say where the node of the culprit was read, where the lines of the cause don't name it."""
    where = blame.where
    if where.node is None or where.node in _printed_nodes(episode, blame.hit or root.hit):
        return blame
    ranks = episode.ranks
    rank = where.rank if where.rank is not None else next(iter(ranks.ranks_on(where.node)), None)
    origin = ranks.place(rank).origin
    if origin is None:
        return blame
    told = () if origin.file is None else (Cited(None, origin.file, origin.line or 0),)
    reason = Reason(
        ReasonCode.PLACED, told, detail=f"rank {rank} runs on {where.node}: {_TOLD[origin.source]}"
    )
    is_sure = blame.is_sure and origin.source is not Source.ASSUMED
    return replace(blame, reasons=(*blame.reasons, reason), is_sure=is_sure)


def _printed_nodes(episode: Episode, hit: Hit) -> set[str]:
    """Nodes that the lines of the cause name themselves."""
    group = episode.hits[hit.signature.id].first
    nodes = {node for h in group for node in named_nodes(h)}
    return nodes | {h.line.node for h in group if h.line.node is not None}


def _blame(episode: Episode, root: Root) -> Blame:
    hit = root.hit
    if hit.signature.tier is Tier.POINTER:
        return _blame_of_pointer(episode, root)
    if hit.signature.tier is Tier.TIMEOUT and hit.signature.kind is Kind.HANG:
        blame = _blame_of_wave(episode, hit)
        if blame is not None:
            return blame
    peer = _blame_of_peers(episode, hit) if hit.signature.role is Role.ROOT else None
    if peer is not None:
        return peer
    if hit.signature.implicates is Implicates.NOBODY:
        is_stepds = hit.line.message.startswith("slurmstepd: ")
        return _with_pointer(episode, hit, Blame()) if is_stepds else Blame()
    if hit.signature.implicates is Implicates.NAMED:
        blame = Blame(placed(episode, named(hit, episode.ranks)))
    else:
        blame = _blame_of_printer(episode, hit)
    if not (blame.where or blame.reasons):
        blame = _blame_of_same_cause(episode, root)
    return blame if blame.where.node or blame.reasons else _with_pointer(episode, hit, blame)


def _blame_of_pointer(episode: Episode, root: Root) -> Blame:
    """Name whom the launcher names first, unless it is one of those who only lost others."""
    hit, failure = root.hit, first_failure(episode)
    if failure is not None:
        blame = _blame_of_failure(episode, failure)
    elif hit.signature.implicates is Implicates.NAMED:
        blame = Blame(placed(episode, named(hit, episode.ranks)))
    elif hit.signature.implicates is Implicates.PRINTER:
        blame = _blame_of_printer(episode, hit)
    else:
        return Blame()
    if not blame.where:
        return _blame_of_same_cause(episode, root)
    if died_by_signal(blame.hit or hit) or not _is_victim(episode, blame.where.rank):
        return blame
    who = f"rank {blame.where.rank}"
    return Blame(hit=blame.hit, reasons=(Reason(ReasonCode.VICTIM, detail=who),))


def _is_victim(episode: Episode, rank: int | None) -> bool:
    """Whether a rank printed that it had lost others."""
    return rank is not None and any(
        rank in {printer.rank, printer.task}
        for group in episode.hits.values()
        if group.first[0].signature.role is Role.CASCADE
        and group.first[0].signature.tier is not Tier.TEARDOWN
        for printer in group.printers
    )


def _with_pointer(episode: Episode, hit: Hit, blame: Blame) -> Blame:
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


def _differ(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one != other


def _within(own: Collection[str], episode: Episode, blame: Blame) -> Blame:
    """Take a node back that is not the attempt's; an address is that of a node, where lines say so.

    A rank or a GPU stays without its node, unless the node was all that said whose it is.
    """
    node = blame.where.node
    if node is None:
        return blame
    told = episode.ranks.addresses.get(node)
    if told is not None:
        return replace(blame, where=placed(episode, replace(blame.where, node=told)))
    if not own or _IP.match(node) or short_name(node) in own:
        return blame
    reason = Reason(ReasonCode.NOT_OF_THE_ATTEMPT, detail=node)
    where = replace(blame.where, node=None, gpu=None, nic=None)
    return Blame(where, blame.hit, (*blame.reasons, reason))


def _blame_of_same_cause(episode: Episode, root: Root) -> Blame:
    """Name whom another line of the same cause names: srun tells whose task was oom-killed."""
    cause = root.hit.signature.cause
    alike = [h for h in root.contenders if h.signature.cause == cause]
    told = [named(h, episode.ranks) for h in alike if h.signature.implicates is Implicates.NAMED]
    places = {where for where in told if where}
    return Blame(placed(episode, places.pop())) if len(places) == 1 else Blame()


def exclusions(
    blame: Blame, root: Root, own: Collection[str] = (), *, alone: bool = False
) -> tuple[str, ...]:
    """Nodes to leave out of the next attempt: only on hardware-grade evidence against a host.

    `own` are the short names of the attempt's nodes, empty when unknown: log text never gets
    another one excluded, nor does a line that a process of the job printed in the name of the
    kernel or of Slurm, nor one of a system log that doesn't tell when it was. `alone` says that the
    node is the only one of the attempt that failed so: then its own nodes must be known.
    """
    node, signature = blame.where.node, root.hit.signature
    if node is None or _IP.match(node) or not blame.is_sure:
        return ()
    if alone:
        return (node,) if short_name(node) in own and not is_forgeable(root.hit) else ()
    if signature.domain is Domain.WORKLOAD:
        return ()
    if is_forgeable(root.hit) or is_undated(root.hit) or (own and short_name(node) not in own):
        return ()
    return (node,) if signature.exclude is Exclude.YES else ()


def named(hit: Hit, ranks: RankMap) -> Locator:
    """What the captures of one line name: a single node, the first rank, a GPU, a NIC."""
    captures = hit.captures
    nodes = named_nodes(hit)
    rank = _first_number(captures.get("rank"))
    task = _first_number(captures.get("task"))
    if rank is None and len(_numbers(captures.get("ranks"))) == 1:
        rank = _first_number(captures.get("ranks"))
    if task is None and len(_numbers(captures.get("tasks"))) == 1:
        task = _first_number(captures.get("tasks"))
    if rank is None and ranks.tasks_are_ranks is not False:
        rank = task
    return Locator(
        node=nodes[0] if len(nodes) == 1 else None,
        rank=rank if len(nodes) <= 1 else None,
        local_rank=_first_number(captures.get("local_rank")),
        gpu=captures.get("gpu"),
        nic=captures.get("nic"),
    )


def named_nodes(hit: Hit) -> Sequence[str]:
    """Every node that the captures name; a hostlist is expanded, a broken one names nobody."""
    text = hit.captures.get("node") or hit.captures.get("nodes") or hit.captures.get("peer")
    if text is None:
        return ()
    if _IP.match(text):
        return (text,)
    try:
        return expand(text.rstrip(".,:"), limit=_HOSTLIST_LIMIT)
    except RelumeError:
        return ()


def printer(hit: Hit, ranks: RankMap) -> Locator:
    """Where the printing process is, by its prefix and by what it says of itself.

    A task of srun is a rank unless it is known to be a launcher that starts the ranks.
    """
    line, captures = hit.line, hit.captures
    rank, node = line.rank, line.node or captures.get("node")
    if rank is None:
        rank = _first_number(captures.get("rank"))
    if rank is None and line.task is not None:
        rank = None if ranks.tasks_are_ranks is False else line.task
        node = node or ranks.tasks.get(line.task)
    return Locator(
        node=node,
        rank=rank,
        local_rank=line.local_rank,
        gpu=captures.get("gpu") or line.gpu,
        nic=captures.get("nic"),
    )


def _blame_of_printer(episode: Episode, hit: Hit) -> Blame:
    """Name the one rank that prints it, else the one node on which all do."""
    alike = [h for h in episode.hits[hit.signature.id].first if not episode.recovered(h)] or [hit]
    told = (placed(episode, printer(h, episode.ranks)) for h in alike)
    places = list(dict.fromkeys(where for where in told if where))
    if len(places) <= 1:
        return Blame(placed(episode, printer(hit, episode.ranks)))
    common = of_one_node(in_common(places), places)
    if common.rank is not None:
        return Blame(common)
    shared = Reason(ReasonCode.SHARED_ERROR, cited([hit]), len(places))
    if common.node is not None and _others(episode, common.node):
        one = Reason(ReasonCode.ONE_NODE, cited([hit]), len(places), detail=common.node)
        return Blame(common, reasons=(one,))
    if hit.signature.domain in _SHARED_BY_ALL or hit.signature.cause == STUCK_CAUSE:
        return Blame(reasons=(shared,))
    if common.node is None and hit.signature.domain in _EARLIEST_IS_ITS_OWN:
        return Blame(placed(episode, printer(hit, episode.ranks)))
    return Blame(common)


def of_one_node(common: Locator, places: Sequence[Locator]) -> Locator:
    """Take the one node that is known of neighbouring ranks, as many as a node has, for all."""
    nodes = {short_name(where.node): where.node for where in places if where.node is not None}
    ranks = [where.rank for where in places if where.rank is not None]
    if common.node is not None or len(nodes) != 1 or len(ranks) < len(places):
        return common
    is_block = max(ranks) - min(ranks) < len(ranks) <= MAX_RANKS_ON_NODE
    return replace(common, node=next(iter(nodes.values()))) if is_block else common


def _others(episode: Episode, node: str) -> bool:
    """Whether the attempt is known to have other nodes too, which don't print the same."""
    known = episode.scheduler.nodes or episode.ranks.nodes or episode.ranks.known_nodes
    return any(short_name(other) != short_name(node) for other in known)


def _blame_of_peers(episode: Episode, hit: Hit) -> Blame | None:
    """Name the node that all could not reach, or that could reach nobody; null without one."""
    if not _names_a_peer(hit):
        return None
    alike = [h for h in episode.all_hits() if _names_a_peer(h) and not episode.recovered(h)]
    pairs = [pair for h in alike if (pair := _pair(episode, h)) is not None]
    name = accused(pairs)
    if name is None:
        return None
    node = episode.ranks.name_of(name) or name
    reason = Reason(ReasonCode.NAMED_BY_PEERS, cited(alike), len(alike), detail=node)
    return Blame(Locator(node=node), reasons=(reason,))


def _names_a_peer(hit: Hit) -> bool:
    """Whether the line names another process of the job that could not be reached."""
    signature = hit.signature
    return "peer" in hit.captures and signature.category in _OF_PEERS


def _pair(episode: Episode, hit: Hit) -> Pair | None:
    ranks, peer = episode.ranks, hit.captures["peer"]
    node = placed(episode, printer(hit, ranks)).node
    peer = ranks.addresses.get(peer, peer)
    return Pair(None if node is None else short_name(node), short_name(peer))


def _blame_of_wave(episode: Episode, hit: Hit) -> Blame | None:
    if hit.signature.implicates is Implicates.NAMED and named(hit, episode.ranks):
        return Blame(placed(episode, named(hit, episode.ranks)))
    laggard = find_laggard(episode)
    if laggard is not None:
        where = placed(episode, Locator(node=laggard.node, rank=laggard.rank))
        return Blame(where, laggard.hit, (laggard.reason,))
    if hit.signature.cause != STUCK_CAUSE:
        return None
    blame = _blame_of_printer(episode, hit)
    return blame if blame.where else None


def _blame_of_failure(episode: Episode, failure: Failure) -> Blame:
    where = Locator(node=failure.node, rank=failure.rank, local_rank=failure.local_rank)
    told = cited([failure.hit]) if failure.hit is not None else ()
    reason = Reason(ReasonCode.FIRST_FAILURE, told)
    return Blame(placed(episode, where), failure.hit, (reason,))


def placed(episode: Episode, where: Locator) -> Locator:
    """Add what is known of a place: of a rank its node, local rank and GPU; of a GPU its rank."""
    ranks = episode.ranks
    if where.rank is None and where.node is not None and where.gpu is not None:
        found = ranks.rank_at(where.node, gpu=where.gpu)
        where = replace(where, rank=found)
    place = ranks.place(where.rank)
    node, known = where.node, place.node
    if node is not None and known is not None and short_name(node) != short_name(known):
        return where  # two nodes: what the line itself says stands, without the other's devices
    return replace(
        where,
        node=known if node is None else node,
        local_rank=place.local_rank if where.local_rank is None else where.local_rank,
        gpu=place.gpu if where.gpu is None else where.gpu,
    )


def _numbers(text: str | None) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text or "")]


def _first_number(text: str | None) -> int | None:
    numbers = _numbers(text)
    return numbers[0] if numbers else None
