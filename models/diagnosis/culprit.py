"""Who is to blame, when the lines say so. Naming nobody is a valid answer."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from relume.models.diagnosis.blame import Blame
from relume.models.diagnosis.citing import cited
from relume.models.diagnosis.consequences import PEER_CATEGORIES, is_generic, is_system_log
from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.locating import (
    ADDRESS,
    host_words,
    named,
    named_nodes,
    nodes_known,
    of_one_node,
    placed,
    printed_at,
    words_of,
)
from relume.models.diagnosis.order import Root
from relume.models.diagnosis.pointers import blame_of_pointer, with_pointer
from relume.models.diagnosis.suspects import MIN_WITNESSES, Pair, accused, in_common
from relume.models.diagnosis.waves import find_laggard
from relume.models.ranks.facts import Source
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Implicates, Role, Tier
from relume.reasons import Cited, Reason, ReasonCode
from relume.slurm.nodes import short_name
from relume.verdict import Domain, Kind, Locator

STUCK_CAUSE = "watchdog_stuck"
"""Cause of a process that hangs by itself: where one alone says so, it is the one."""
_SHARED_BY_ALL = frozenset({Domain.WORKLOAD, Domain.NETWORK})
"""Domains in which nobody is to blame for what processes of several nodes print alike."""
_EARLIEST_IS_ITS_OWN = frozenset({Domain.HARDWARE, Domain.UNKNOWN})
"""Domains in which the first to print it is to blame: the others follow from it."""
_TOLD = {
    Source.NCCL_INIT: "NCCL's line of its start",
    Source.LAUNCHER: "the launcher's books",
    Source.SRUN: "srun names its task there",
    Source.ENVIRONMENT: "its process says so",
    Source.PREFIX: "the prefix of its lines",
    Source.LAYOUT: "the node list, and other ranks that confirm its order",
    Source.ASSUMED: "the node list in Slurm's usual order, which no line confirms",
}


def find_culprit(episode: Episode, root: Root, own: Collection[str] = ()) -> Blame:
    """Name the culprit of `root`, or nobody.

    `own` are the short names of the attempt's nodes, empty while nobody knows them: what a job
    prints never makes a suspect of another node.
    """
    return _explained(episode, root, _within(own, episode, _blame(episode, root)))


def _explained(episode: Episode, root: Root, blame: Blame) -> Blame:
    """Say where the node of the culprit was read, where the lines of the cause don't name it."""
    where = blame.where
    if where.node is None and where.rank is not None:
        return replace(blame, reasons=(*blame.reasons, *_contradicted(episode, where.rank)))
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


def _only_node(episode: Episode, hit: Hit) -> Blame:
    """Name the node whose system alone says it: what the systems of several say is nobody's."""
    alike = [h for h in episode.all_hits() if h.signature.cause == hit.signature.cause]
    common = in_common(Locator(node=h.line.node) for h in alike)
    if common.node is None or not _others(episode, common.node):
        return Blame()
    one = Reason(ReasonCode.ONE_NODE, cited([hit]), len(alike), detail=common.node)
    return Blame(common, reasons=(one,))


def _contradicted(episode: Episode, rank: int) -> Iterator[Reason]:
    """Say that lines put a rank on several nodes, where they do."""
    for found in episode.ranks.contradictions:
        if found.rank == rank:
            told = tuple(Cited(None, o.file, o.line or 0) for o in found.origins if o.file)
            nodes = " and on ".join(found.nodes)
            detail = f"rank {rank} is said to run on {nodes}: its node stays unknown"
            yield Reason(ReasonCode.PLACES_CONTRADICT, told, detail=detail)


def _printed_nodes(episode: Episode, hit: Hit) -> set[str]:
    """Nodes that the lines of the cause name themselves."""
    group = episode.hits[hit.signature.id].first
    nodes = {node for h in group for node in named_nodes(h)}
    return nodes | {h.line.node for h in group if h.line.node is not None}


def _blame(episode: Episode, root: Root) -> Blame:
    """Ask in turn those who can tell: the launcher, the counters, the peers, the lines."""
    for tell in (_of_pointer, _of_wave, _of_peers):
        blame = tell(episode, root)
        if blame is not None:
            return blame
    hit = root.hit
    if hit.signature.implicates is Implicates.NOBODY:
        return _of_nobody(episode, hit)
    if hit.signature.implicates is Implicates.NAMED:
        blame = Blame(placed(episode, named(hit, episode.ranks)))
    else:
        blame = _blame_of_printer(episode, hit)
    if not (blame.where or blame.reasons):
        blame = _blame_of_same_cause(episode, root)
    return blame if blame.where.node or blame.reasons else with_pointer(episode, hit, blame)


def _of_pointer(episode: Episode, root: Root) -> Blame | None:
    if root.hit.signature.tier is not Tier.POINTER:
        return None
    pointed = blame_of_pointer(episode, root)
    return pointed if pointed.where or pointed.reasons else None


def _of_wave(episode: Episode, root: Root) -> Blame | None:
    signature = root.hit.signature
    is_wave = signature.tier is Tier.TIMEOUT and signature.kind is Kind.HANG
    return _blame_of_wave(episode, root.hit) if is_wave else None


def _of_peers(episode: Episode, root: Root) -> Blame | None:
    if root.hit.signature.role is not Role.ROOT:
        return None
    return _blame_of_peers(episode, root.hit) or _named_in_words(episode, root.hit)


def _of_nobody(episode: Episode, hit: Hit) -> Blame:
    """Name where a line was printed that accuses nobody: the one system, slurmstepd's node."""
    if is_system_log(hit):
        return _only_node(episode, hit)
    is_stepds = hit.line.message.startswith("slurmstepd: ")
    return with_pointer(episode, hit, Blame()) if is_stepds else Blame()


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
    if not own or ADDRESS.match(node) or short_name(node) in own:
        return blame
    reason = Reason(ReasonCode.NOT_OF_THE_ATTEMPT, detail=node)
    where = replace(blame.where, node=None, gpu=None, nic=None)
    return Blame(where, blame.hit, (*blame.reasons, reason))


def _blame_of_printer(episode: Episode, hit: Hit) -> Blame:
    """Name the one rank that prints it, else the one node on which all do."""
    alike = _alike(episode, hit)
    told = (printed_at(episode, h) for h in alike)
    places = list(dict.fromkeys(where for where in told if where))
    if len(places) <= 1:
        return Blame(printed_at(episode, hit))
    common = of_one_node(in_common(places), places, episode.ranks)
    if common.rank is not None:
        return Blame(common)
    shared = Reason(ReasonCode.SHARED_ERROR, cited([hit]), len(places))
    if common.node is not None and _others(episode, common.node):
        one = Reason(ReasonCode.ONE_NODE, cited([hit]), len(places), detail=common.node)
        return Blame(common, reasons=(one,))
    if hit.signature.domain in _SHARED_BY_ALL or hit.signature.cause == STUCK_CAUSE:
        return Blame(reasons=(shared,))
    if common.node is None and hit.signature.domain in _EARLIEST_IS_ITS_OWN:
        return Blame(printed_at(episode, hit))
    return Blame(common)


def _alike(episode: Episode, hit: Hit) -> list[Hit]:
    """Lines that say the same: of one rule, and in the same words where the rule is unspecific."""
    alike = [h for h in episode.hits[hit.signature.id].first if not episode.recovered(h)]
    if is_generic(hit):
        words = words_of(hit)
        alike = [h for h in alike if words_of(h) == words]
    return alike or [hit]


def _others(episode: Episode, node: str) -> bool:
    """Whether the attempt is known to have other nodes too, which don't print the same."""
    return any(short_name(other) != short_name(node) for other in nodes_known(episode))


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


def _named_in_words(episode: Episode, hit: Hit) -> Blame | None:
    """Name the one node of the attempt that processes of other nodes speak of in their error."""
    own = {short_name(node): node for node in episode.scheduler.nodes or episode.ranks.nodes}
    if not own or not is_generic(hit):
        return None
    alike = [h for h in episode.hits[hit.signature.id].first if not episode.recovered(h)]
    told: dict[str, set[str | None]] = {}
    for other in alike:
        printed = printed_at(episode, other).node
        for name in host_words(other.line.message) & own.keys():
            told.setdefault(name, set()).add(printed)
    if len(told) != 1:
        return None
    name, printers = next(iter(told.items()))
    others = {short_name(node) for node in printers if node is not None} - {name}
    if len(others) < MIN_WITNESSES:
        return None
    reason = Reason(ReasonCode.NAMED_BY_PEERS, cited(alike), len(alike), detail=own[name])
    return Blame(Locator(node=own[name]), reasons=(reason,))


def _names_a_peer(hit: Hit) -> bool:
    """Whether the line names another process of the job that could not be reached."""
    signature = hit.signature
    return "peer" in hit.captures and signature.category in PEER_CATEGORIES


def _pair(episode: Episode, hit: Hit) -> Pair | None:
    node, peer = printed_at(episode, hit).node, hit.captures["peer"]
    peer = episode.ranks.addresses.get(peer, peer)
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


def _blame_of_same_cause(episode: Episode, root: Root) -> Blame:
    """Name whom another line of the same cause names: srun tells whose task was oom-killed."""
    cause = root.hit.signature.cause
    alike = [h for h in root.contenders if h.signature.cause == cause]
    told = [named(h, episode.ranks) for h in alike if h.signature.implicates is Implicates.NAMED]
    places = {where for where in told if where}
    return Blame(placed(episode, places.pop())) if len(places) == 1 else Blame()
