"""Who waits for whom: ranks and the works that are open, over all groups and pairs.

A rank points at the works it has open. A work points at the ranks that keep it: those of its
group that have not called it, that left no dump, or that have called it but are held by an earlier
work of theirs. What others wait for and what points at nothing is where a hang comes from.

An edge is *weak* where a rank need not be held by it: a send may run beside what follows, and so
may a receive that is not the first open work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from relume.models.collectives.state import Group, GroupKey, Pair, State, Work


@dataclass(slots=True)
class OpenWork:
    """One work over all its ranks.

    `waiting` are those that have it open, `absent` those that have not called it, `held` those that
    have but are at an earlier one (`held_firmly` without doubt), `missing` those without a dump,
    `unclear` those of which nobody knows, `done` those that are through.
    """

    key: GroupKey
    sequence: int
    waiting: dict[int, Work] = field(default_factory=dict)
    absent: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    held_firmly: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    unclear: list[int] = field(default_factory=list)
    done: list[int] = field(default_factory=list)
    is_pair: bool = False

    @property
    def operation(self) -> str:
        """What the first of its ranks calls it."""
        return next(iter(self.waiting.values())).operation

    @property
    def is_kept(self) -> bool:
        """Whether somebody has not come."""
        return bool(self.absent or self.missing)

    def blockers(self, *, firmly: bool = False) -> Iterator[int]:
        """Ranks that keep it from going on, others than through doubt where `firmly`."""
        yield from self.absent
        yield from self.missing
        yield from self.held_firmly if firmly else self.held
        if not firmly:
            yield from self.unclear


class Hold(NamedTuple):
    """How a rank is held by a work it has open.

    `firmly` when it can't go on without it; `first` when it is among the first that it has open, so
    that it is held by it now.
    """

    work: int
    firmly: bool
    first: bool


class Sink(NamedTuple):
    """A part of the graph: its nodes are ranks as they are, work `n` as ``-1 - n``.

    `circle` is the part with its weak edges: the same where they made no difference.
    """

    nodes: frozenset[int]
    circle: frozenset[int]


@dataclass(slots=True)
class WaitGraph:
    """The open works, and how each rank is held by those it has open."""

    works: list[OpenWork]
    of_rank: dict[int, list[Hold]]

    def sinks(self, *, trusting: bool = False) -> list[Sink]:
        """Parts of the graph that others wait for and that wait for nothing outside.

        Of a part that is a circle, what is left of it without weak edges; of a circle that stays,
        its core: ranks that wait for each other now. `trusting` takes it that ranks without a dump
        have come to everything, and looks at what holds each rank now.
        """
        if trusting:
            works = [replace(work, missing=[]) for work in self.works]
            now = {rank: [h for h in holds if h.first] for rank, holds in self.of_rank.items()}
            return WaitGraph(works, now).sinks()
        sinks = []
        for part in _closed_parts(self._edges(_any, None)):
            inner = _closed_parts(self._edges(_firm, part)) if len(part) > 1 else []
            for nodes in inner or [part]:
                core = _closed_parts(self._edges(_firm_now, nodes)) if len(nodes) > 1 else []
                sinks += [Sink(one, part) for one in core if len(one) > 1] or [Sink(nodes, part)]
        return sinks

    def circles(self) -> list[frozenset[int]]:
        """Parts of the graph that wait for each other now, whether or not for others, too."""
        parts = _strong_parts(self._edges(_firm_now, None), closed=False)
        return [part for part in parts if len(part) > 1]

    def _edges(
        self, counts: Callable[[Hold], bool], within: frozenset[int] | None
    ) -> Iterator[tuple[int, int]]:
        reached = set()
        for rank, holds in self.of_rank.items():
            for hold in holds:
                node = -1 - hold.work
                if counts(hold) and (within is None or {rank, node} <= within):
                    reached.add(hold.work)
                    yield rank, node
        for number in reached:
            node = -1 - number
            blockers = set(self.works[number].blockers(firmly=counts is not _any))
            inside = blockers if within is None else blockers & within
            yield from ((node, rank) for rank in inside)
            if not inside:
                yield node, node


def _any(_: Hold) -> bool:
    return True


def _firm(hold: Hold) -> bool:
    return hold.firmly


def _firm_now(hold: Hold) -> bool:
    return hold.firmly and hold.first


def _closed_parts(edges: Iterable[tuple[int, int]]) -> list[frozenset[int]]:
    """Strongly connected parts that something leads to and nothing leads out of."""
    return _strong_parts(edges, closed=True)


def _strong_parts(edges: Iterable[tuple[int, int]], *, closed: bool) -> list[frozenset[int]]:
    pairs = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    if not len(pairs):
        return []
    from scipy.sparse import coo_matrix  # noqa: PLC0415 - as long to load as numpy, rarely needed
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    nodes, flat = np.unique(pairs, return_inverse=True)
    ends = flat.reshape(-1, 2)
    ones = np.ones(len(ends), dtype=np.int8)
    matrix = coo_matrix((ones, (ends[:, 0], ends[:, 1])), shape=(len(nodes), len(nodes)))
    count, labels = connected_components(matrix, directed=True, connection="strong")
    sources, targets = labels[ends[:, 0]], labels[ends[:, 1]]
    is_closed = np.ones(count, dtype=bool)
    if closed:
        is_closed[sources[sources != targets]] = False
    is_reached = np.zeros(count, dtype=bool)
    is_reached[targets] = True
    wanted = is_closed & is_reached
    return [
        frozenset(int(node) for node in nodes[labels == label]) for label in np.flatnonzero(wanted)
    ]


def build_graph(state: State) -> WaitGraph:
    """Build the graph of everything that is open."""
    works: list[OpenWork] = []
    index: dict[int, int] = {}  # of a rank's work, by identity
    for group in state.groups.values():
        _add_collectives(state, group, works, index)
    _add_pairs(state, works, index)
    graph = WaitGraph(works, {rank: [] for rank in state.dumps})
    for rank, opened in state.open.items():
        _point(state, graph, rank, [work for work in opened if id(work) in index], index)
    return graph


def _point(
    state: State, graph: WaitGraph, rank: int, opened: Sequence[Work], index: Mapping[int, int]
) -> None:
    """Point one rank at what it has open, and note where it is held by what it has open before.

    Where a recorder notes starts, what has started is not held, and what has not is.
    """
    together = Counter(work.order for work in opened if work.peer is not None)
    first = opened[0].order if opened else 0
    is_timed = rank in state.timed
    firm = {
        id(work): work.order
        for work in opened
        if _is_firm(work, first, is_timed=is_timed, is_batch=together[work.order] > 1)
    }
    first_firm = min(firm.values(), default=None)
    kept = {w.order for w in opened if w.peer is not None and graph.works[index[id(w)]].is_kept}
    for work in opened:
        one = graph.works[index[id(work)]]
        is_first = work.is_started or work.order <= (first if first_firm is None else first_firm)
        hold = Hold(index[id(work)], firmly=id(work) in firm, first=is_first)
        graph.of_rank[rank].append(hold)
        held_there = work.order in kept and together[work.order] > 1 and not one.is_kept
        is_behind = work.order > first and not work.is_started
        if is_behind or held_there:
            one.held.append(rank)
        if held_there or (
            is_behind and (is_timed or (first_firm is not None and work.order > first_firm))
        ):
            one.held_firmly.append(rank)


def _is_firm(work: Work, first: int, *, is_timed: bool, is_batch: bool) -> bool:
    """Whether a rank can't go on without `work`.

    A collective, a receive that is its first, a batch, which ends as one; what runs, where that is
    noted.
    """
    if work.peer is None:
        return True
    if is_timed:
        return work.is_started or work.order == first
    return work.order == first and (is_batch or not work.is_send)


def _add_collectives(
    state: State, group: Group, works: list[OpenWork], index: dict[int, int]
) -> None:
    for sequence in sorted({n for member in group.members.values() for n in member.open}):
        one = OpenWork(group.key, sequence)
        for rank in {*group.ranks, *group.members}:
            member = group.members.get(rank)
            if rank not in state.dumps:
                one.missing.append(rank)
            elif member is None:
                (one.absent if _tells_groups(state, rank) else one.unclear).append(rank)
            elif sequence in member.open:
                one.waiting[rank] = member.open[sequence]
                index[id(member.open[sequence])] = len(works)
            elif member.enqueued is None:
                one.unclear.append(rank)
            elif member.enqueued < sequence:
                one.absent.append(rank)
            else:
                one.done.append(rank)
        works.append(one)


def _tells_groups(state: State, rank: int) -> bool:
    """Whether a dump names the ranks of its groups: then a group it doesn't name was never made."""
    return any(told.ranks for told in state.dumps[rank].groups)


def _add_pairs(state: State, works: list[OpenWork], index: dict[int, int]) -> None:
    """Match what is open between two ranks: the first open send is of the first open receive."""
    sent, received = dict[Pair, list[Work]](), dict[Pair, list[Work]]()
    for rank, opened in state.open.items():
        for work in opened:
            if work.peer is None or work.peer < 0:
                continue
            ends = (rank, work.peer) if work.is_send else (work.peer, rank)
            (sent if work.is_send else received).setdefault(Pair(work.key, *ends), []).append(work)
    for pair in sorted({*sent, *received}):
        sends, receives = sent.get(pair, []), received.get(pair, [])
        for place in range(max(len(sends), len(receives))):
            works.append(_pair_work(state, pair, sends[place:], receives[place:]))
            for work in (*sends[place : place + 1], *receives[place : place + 1]):
                index[id(work)] = len(works) - 1


def _pair_work(
    state: State, pair: Pair, sends: Sequence[Work], receives: Sequence[Work]
) -> OpenWork:
    one = OpenWork(pair.group, (sends or receives)[0].sequence, is_pair=True)
    for rank, opened in ((pair.source, sends), (pair.target, receives)):
        if opened:
            one.waiting[rank] = opened[0]
        else:
            (one.absent if rank in state.dumps else one.missing).append(rank)
    return one
