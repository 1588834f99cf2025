"""Where the lines of a failure are: who printed them, whom they name, and what the map adds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from relume.errors import RelumeError
from relume.models.diagnosis.episode import Episode
from relume.models.ranks.mapping import RankMap
from relume.models.signatures.hit import Hit
from relume.slurm.hostlists import expand
from relume.slurm.nodes import short_name
from relume.verdict import JOB_STREAMS, Locator

MAX_RANKS_ON_NODE = 16
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z|[0-9a-fA-F]*:[0-9a-fA-F:]+\Z")
_HOSTLIST_LIMIT = 4096
MAX_WORDS = 400
_HOST_WORD = re.compile(r"[A-Za-z0-9][\w.-]{1,252}")
_DIFFERING = re.compile(r"0[xX][0-9a-fA-F]+|[\w.-]*\d[\w.-]*")
"""Words with a digit: numbers, addresses, hosts, paths' parts."""


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
    if ADDRESS.match(text):
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


def printed_at(episode: Episode, hit: Hit) -> Locator:
    """Where the printing process of a line is, by the line itself and by what else is known."""
    return placed(episode, printer(hit, episode.ranks))


def of_one_node(common: Locator, places: Sequence[Locator], ranks: RankMap) -> Locator:
    """Take the one node that is known of neighbouring ranks, at most as many as a node has."""
    nodes = {short_name(where.node): where.node for where in places if where.node is not None}
    numbers = [where.rank for where in places if where.rank is not None]
    if common.node is not None or len(nodes) != 1 or len(numbers) < len(places):
        return common
    has_size = ranks.world_size is not None and len(ranks.nodes) > 1
    most = (ranks.world_size or 0) // len(ranks.nodes) if has_size else MAX_RANKS_ON_NODE
    is_block = max(numbers) - min(numbers) < len(numbers) <= most
    return replace(common, node=next(iter(nodes.values()))) if is_block else common


def nodes_known(episode: Episode) -> tuple[str, ...]:
    """Return the attempt's nodes, or, where nobody lists them, those of which there are lines."""
    listed = episode.scheduler.nodes or episode.ranks.nodes
    if listed:
        return tuple(listed)
    printers = (hit.line.node for hit in episode.all_hits() if hit.line.stream in JOB_STREAMS)
    return tuple(dict.fromkeys((*episode.ranks.known_nodes, *filter(None, printers))))


def words_of(hit: Hit) -> str:
    """Return the message of a line without what differs between processes: names and numbers."""
    return _DIFFERING.sub("0", hit.line.message[:MAX_WORDS])


def host_words(text: str) -> set[str]:
    """Return the words of a text that may be names of hosts, short."""
    return {short_name(word.rstrip(".")) for word in _HOST_WORD.findall(text)}


def _numbers(text: str | None) -> list[int]:
    return [int(n) for n in re.findall(r"\d+", text or "")]


def _first_number(text: str | None) -> int | None:
    numbers = _numbers(text)
    return numbers[0] if numbers else None
