"""The map from rank to node, local rank, GPU and process, and back; what contradicts is unknown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from relume.models.ranks.collecting import RankCollector
from relume.models.ranks.facts import Origin, RankFact, Source
from relume.models.ranks.layout import Layout, find_layout, fitted_layout
from relume.models.ranks.pci import normal_pci
from relume.models.ranks.worldsize import infer_world_size
from relume.slurm.nodes import short_name

Value = TypeVar("Value")

MAX_CONTRADICTIONS = 64
"""Contradictions that are told one by one."""


@dataclass(frozen=True, slots=True)
class RankPlace:
    """Where a rank runs; null where nobody knows, or where those who say it contradict each other.

    `gpu` is the index of its device on the node, `pci` the normalised PCI id of that device, `pid`
    its process, `origin` who told the node (null where nobody did).
    """

    node: str | None = None
    gpu: str | None = None
    local_rank: int | None = None
    pci: str | None = None
    pid: int | None = None
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two lines that put one rank on two nodes, so that its node is unknown."""

    rank: int
    nodes: tuple[str, ...]
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True)
class RankMap:
    """Places of the ranks that something is known of.

    `world_size` is the number of ranks of the job, null while unknown. `tasks` holds the nodes of
    srun's tasks; `tasks_are_ranks` whether those are the ranks (null: nobody knows), or launchers
    that start the ranks. `nodes` are the job's own, in its order, empty while unknown; `addresses`
    the nodes by their IP.

    >>> places = {0: RankPlace("a01", "0", pci="0000:4e:00"), 1: RankPlace("a01", "1")}
    >>> known = RankMap(places, world_size=2)
    >>> known.rank_at("a01", gpu="PCI:0000:4e:00"), known.rank_at("a01", gpu="1")
    (0, 1)
    >>> known.rank_at("a01"), known.nodes_of([0, 1])
    (None, ('a01',))
    """

    places: Mapping[int, RankPlace] = field(default_factory=dict)
    world_size: int | None = None
    tasks: Mapping[int, str] = field(default_factory=dict)
    tasks_are_ranks: bool | None = None
    nodes: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)

    def place(self, rank: int | None) -> RankPlace:
        """Return where a rank runs; a place of nulls when nothing is known."""
        found = self.places.get(rank) if rank is not None else None
        return found or _NOWHERE

    def rank_at(
        self, node: str | None, *, gpu: str | None = None, pid: int | None = None
    ) -> int | None:
        """Return the one rank on `node` with this GPU (index or PCI id) or process, else null.

        Without GPU and process: the only rank on the node, if there is one only.
        """
        if node is None:
            return None
        pci, name = normal_pci(gpu), short_name(node)
        found = [
            rank
            for rank, place in self.places.items()
            if place.node is not None
            and short_name(place.node) == name
            and (pid is None or place.pid == pid)
            and (gpu is None or (place.pci == pci if pci is not None else place.gpu == gpu))
        ]
        return found[0] if len(found) == 1 else None

    def nodes_of(self, ranks: Iterable[int]) -> tuple[str, ...] | None:
        """Return the nodes of `ranks`, each once; null when the node of any is unknown."""
        nodes = [self.place(rank).node for rank in ranks]
        known = [node for node in nodes if node is not None]
        return tuple(dict.fromkeys(known)) if len(known) == len(nodes) else None

    def ranks_on(self, node: str) -> tuple[int, ...]:
        """Return the ranks known to run on `node`, in order."""
        name = short_name(node)
        on = (
            r for r, place in self.places.items() if place.node and short_name(place.node) == name
        )
        return tuple(sorted(on))

    @property
    def known_nodes(self) -> tuple[str, ...]:
        """Every node that a rank is known to run on, each once."""
        named = (place.node for place in self.places.values() if place.node is not None)
        return tuple(dict.fromkeys(named))

    def name_of(self, short: str) -> str | None:
        """Return a node's name as it is known, from its short one; null where it isn't."""
        known = (*self.nodes, *self.known_nodes)
        return next((node for node in known if short_name(node) == short), None)

    @property
    def is_complete(self) -> bool:
        """Whether the node of every rank of the job is known."""
        return self.world_size is not None and all(
            self.place(rank).node is not None for rank in range(self.world_size)
        )


_NOWHERE = RankPlace()


def resolve(
    collected: RankCollector,
    facts: Iterable[RankFact] = (),
    nodes: Sequence[str] = (),
    *,
    by_launchers: bool = False,
    seen: Iterable[str] = (),
) -> RankMap:
    """Make the map of all that was collected, and of further `facts`.

    Parameters
    ----------
    by_launchers
        Whether something shows that srun's tasks start the ranks, rather than being them.
    seen
        Nodes of which there are logs: of several jobs that a controller started, the attempt is the
        one job that has them.
    nodes
        The nodes of the attempt by the scheduler, in its order: a host outside is nobody's place,
        whatever lines say. Empty: the job's environment may tell them.
    """
    facts = list(facts)
    listed = tuple(nodes or collected.nodes or _allocated(collected, facts, seen))
    own = {short_name(node): node for node in listed}
    told = [_checked(fact, listed, own) for fact in (*collected.facts(), *facts)]
    world = collected.world_size or collected.largest_size
    told = [fact for fact in told if fact.size is None or fact.size == world]
    are_ranks = _tasks_are_ranks(told)
    if are_ranks is None:
        are_ranks = False if by_launchers else _are_more_than_nodes(collected, told, listed)
    tasks = _task_nodes(collected, told, listed, are_ranks=are_ranks)
    by_rank = _by_rank(told, tasks, tasks_are_ranks=are_ranks)
    places, contradictions = _direct(by_rank)
    if world is None:
        world = infer_world_size(
            by_rank,
            len(listed),
            per_node=collected.ranks_per_node,
            local_ranks={r: p.local_rank for r, p in places.items() if p.local_rank is not None},
        )
    layout = _layout_of_ranks(collected, world, places, listed)
    if layout is not None:
        _fill(places, layout, contradictions)
    _fill_devices(places)
    return RankMap(
        places=dict(sorted(places.items())),
        world_size=world,
        tasks=tasks,
        tasks_are_ranks=are_ranks,
        nodes=listed,
        contradictions=tuple(contradictions.values()),
        addresses=_addresses(collected, own),
    )


def _addresses(collected: RankCollector, own: Mapping[str, str]) -> dict[str, str]:
    """Addresses of nodes, as the scheduler writes these; those of other nodes are nobody's."""
    known = {ip: node for ip, node in collected.addresses.items() if node is not None}
    if not own:
        return known
    return {ip: own[name] for ip, node in known.items() if (name := short_name(node)) in own}


def _allocated(
    collected: RankCollector, facts: Iterable[RankFact], seen: Iterable[str]
) -> tuple[str, ...]:
    """Nodes of the one job, among those that a controller started, that has every node seen."""
    known = {short_name(node) for node in seen}
    known |= {short_name(f.node) for f in (*facts, *collected.facts()) if f.node is not None}
    fitting = {
        nodes
        for nodes in collected.allocations.values()
        if known and known <= set(map(short_name, nodes))
    }
    return fitting.pop() if len(fitting) == 1 else ()


def _checked(fact: RankFact, listed: Sequence[str], own: Mapping[str, str]) -> RankFact:
    """Return the fact with its node as the scheduler writes it; a foreign node is none."""
    node = fact.node
    if node is None and fact.node_index is not None and fact.node_index < len(listed):
        return replace(fact, node=listed[fact.node_index])
    if node is None or not own:
        return fact
    return replace(fact, node=own.get(short_name(node)))


def _tasks_are_ranks(facts: Iterable[RankFact]) -> bool | None:
    """Whether every line that tells both of a process has the same number twice."""
    pairs = [(f.rank, f.task) for f in facts if f.rank is not None and f.task is not None]
    return all(rank == task for rank, task in pairs) if pairs else None


def _are_more_than_nodes(
    collected: RankCollector, facts: Iterable[RankFact], nodes: Sequence[str]
) -> bool | None:
    """Whether there are more tasks than nodes, as where each is a rank; null where nobody knows."""
    tasks = [fact.task for fact in facts if fact.task is not None]
    count = max(collected.tasks or 0, max(tasks, default=-1) + 1)
    return True if nodes and count > len(nodes) else None


def _task_nodes(
    collected: RankCollector,
    facts: Iterable[RankFact],
    nodes: Sequence[str],
    *,
    are_ranks: bool | None,
) -> dict[int, str]:
    """Nodes of srun's tasks: as lines tell, and by the layout that these agree with.

    Tasks that start ranks are one on each node, whatever number the job asked for.
    """
    told: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for fact in facts:
        if fact.task is not None and fact.node is not None:
            told[fact.task].setdefault(short_name(fact.node), fact.node)
    known = {task: next(iter(found.values())) for task, found in told.items() if len(found) == 1}
    count = len(nodes) if are_ranks is False else collected.tasks
    layout = find_layout(nodes, count, known, told_cyclic=collected.is_cyclic)
    if layout is None:
        return known
    laid = {task: node for task in range(layout.count) if (node := layout.node_of(task))}
    return laid | known


def _by_rank(
    facts: Iterable[RankFact], tasks: Mapping[int, str], *, tasks_are_ranks: bool | None
) -> dict[int, list[RankFact]]:
    """The facts of each rank; a task's node is that of the rank which it is, or which it starts."""
    found: defaultdict[int, list[RankFact]] = defaultdict(list)
    for fact in facts:
        are_ranks = tasks_are_ranks is not False
        rank = fact.task if fact.rank is None and are_ranks else fact.rank
        if rank is None:
            continue
        if fact.node is None and fact.task is not None:
            found[rank].append(replace(fact, node=tasks.get(fact.task)))
        else:
            found[rank].append(fact)
    return found


def _direct(
    by_rank: Mapping[int, Sequence[RankFact]],
) -> tuple[dict[int, RankPlace], dict[int, Contradiction]]:
    places: dict[int, RankPlace] = {}
    contradictions: dict[int, Contradiction] = {}
    for rank, facts in by_rank.items():
        nodes = {short_name(f.node): f for f in facts if f.node is not None}
        if len(nodes) > 1:
            found = tuple(nodes.values())
            if len(contradictions) < MAX_CONTRADICTIONS:
                names = tuple(f.node for f in found if f.node is not None)
                told = tuple(f.origin for f in found)
                contradictions[rank] = Contradiction(rank, names, told)
            places[rank] = _NOWHERE
            continue
        source = next((f for f in facts if f.node is not None), None)
        places[rank] = RankPlace(
            node=source.node if source else None,
            gpu=_agreed(f.gpu for f in facts),
            local_rank=_agreed(f.local_rank for f in facts),
            pci=_agreed(f.pci for f in facts),
            pid=_agreed(f.pid for f in facts),
            origin=source.origin if source else None,
        )
    return places, contradictions


def _agreed(values: Iterable[Value | None]) -> Value | None:
    """Return the value that all who give one agree on, else null."""
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 else None


def _layout_of_ranks(
    collected: RankCollector,
    world: int | None,
    places: Mapping[int, RankPlace],
    nodes: Sequence[str],
) -> Layout | None:
    """The layout of the ranks; null where the number on a node, as lines tell it, is another."""
    known = {rank: place.node for rank, place in places.items() if place.node is not None}
    per_node = collected.ranks_per_node
    layout = find_layout(nodes, world, known, told_cyclic=collected.is_cyclic)
    if world is None and not collected.is_cyclic:
        layout = fitted_layout(nodes, known)
        world = None if layout is None else layout.count
    told_other = per_node is not None and per_node * len(nodes) != world
    return None if told_other else layout


def _fill(
    places: dict[int, RankPlace], layout: Layout, contradictions: Mapping[int, Contradiction]
) -> None:
    origin = Origin(Source.LAYOUT if layout.is_confirmed else Source.ASSUMED)
    for rank in range(layout.count):
        held = places.get(rank, _NOWHERE)
        if held.node is None and rank not in contradictions:
            places[rank] = replace(held, node=layout.node_of(rank), origin=origin)


def _fill_devices(places: dict[int, RankPlace]) -> None:
    """Drop device indices that several ranks of a node share: each process sees one device only."""
    seen: dict[tuple[str | None, str | None], set[str | None]] = defaultdict(set)
    for place in places.values():
        seen[place.node, place.gpu].add(place.pci)
    for rank, place in places.items():
        if place.gpu is not None and len(seen[place.node, place.gpu]) > 1:
            places[rank] = replace(place, gpu=None)
