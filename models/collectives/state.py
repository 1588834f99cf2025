"""Where every rank stands in every group, put together from the dumps of all ranks.

Dumps differ in what they still hold: each is a ring of its rank's last works, taken at a time of
its own. So a position is known, known from a counter only, or not known; nothing is taken for zero
unless a ring holds everything since the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from relume.dumps import RankDump
from relume.events import Collective, ProcessGroup
from relume.models.collectives.matching import ends_together
from relume.models.ranks.reading import MAX_WORLD

COMPLETED = "completed"
STARTED = "started"
DEFAULT_GROUP = "default_pg"
MOST_OLDER = 0.34
"""When a larger share of the dumps is older than the others, nobody knows which are of the hang."""
_PEER = re.compile(r"(?P<verb>send|recv) (?P<own>\d{1,7})(?:->|<-)(?P<peer>\d{1,7})$")


class GroupKey(NamedTuple):
    """A group: names are unique on one rank only, `ranks` tell those of one name apart."""

    name: str
    ranks: tuple[int, ...]


class Pair(NamedTuple):
    """One direction between two ranks of a group."""

    group: GroupKey
    source: int
    target: int


@dataclass(slots=True)
class Work:
    """One work of one rank that is not complete there.

    `order` counts the rank's works that are open; works of one coalesced batch share one. A work
    between two ranks has the `peer` and whether it is a send. `parts` are the collectives of a
    coalesced batch, or the one.
    """

    rank: int
    order: int
    key: GroupKey
    sequence: int
    parts: list[Collective]
    peer: int | None = None
    is_send: bool = False

    @property
    def operation(self) -> str:
        """Name of the collective, as recorded."""
        return self.parts[-1].operation

    @property
    def enqueued_time(self) -> int | None:
        """When the rank called it, by its own clock (microseconds)."""
        return self.parts[0].enqueued_time

    @property
    def is_started(self) -> bool:
        """Whether its kernel is known to run."""
        return any(p.state == STARTED or p.started_time is not None for p in self.parts)


@dataclass(slots=True)
class Member:
    """Where one rank stands in one group: its last collective called and completed, null unknown.

    `open` holds the collectives called and not complete, by number.
    """

    enqueued: int | None = None
    completed: int | None = None
    open: dict[int, Work] = field(default_factory=dict)


@dataclass(slots=True)
class Group:
    """One group with the members that have dumps; `ranks` are all of its ranks, as far as known."""

    key: GroupKey
    description: str | None
    ranks: tuple[int, ...] = ()
    members: dict[int, Member] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Name with description, as shown."""
        told = self.description not in {None, "", "undefined"}
        return f"{self.key.name} ({self.description})" if told else self.key.name


@dataclass(slots=True)
class State:
    """All that the dumps say of who stands where.

    `open` has every rank's open works in the order of its calls; `last_call` the time of its last
    call by its own clock. `timed` are the ranks whose recorders note what has started, `overrun`
    those whose rings may have lost what they wait for first, `older` those whose dumps are from
    before the hang and left out.
    """

    dumps: dict[int, RankDump]
    world: frozenset[int]
    groups: dict[GroupKey, Group]
    open: dict[int, list[Work]]
    last_call: dict[int, int]
    timed: set[int] = field(default_factory=set)
    overrun: set[int] = field(default_factory=set)
    older: tuple[int, ...] = ()

    @property
    def missing(self) -> tuple[int, ...]:
        """Ranks of the job that left no dump of the hang."""
        return tuple(sorted(self.world - self.dumps.keys()))

    @property
    def last_time(self) -> int | None:
        """The last time in any dump."""
        return max(self.last_call.values(), default=None)


def build_state(dumps: Iterable[RankDump]) -> State:
    """Put the dumps of one attempt together; cost is linear in what they hold.

    A dump from before the hang says nothing of it: it is left out, as if it were missing.
    """
    by_rank = {dump.rank: dump for dump in dumps}
    state = _build(by_rank)
    older = _older(state)
    if not older or len(older) > MOST_OLDER * len(by_rank):
        return state
    return replace(_build({r: d for r, d in by_rank.items() if r not in older}), older=older)


def _older(state: State) -> tuple[int, ...]:
    """Ranks whose dumps are from before others': they have come to more since.

    All ranks of a group have called what one of them is through with; who had not when its dump was
    written wrote it earlier. Gloo is through with what it gives up, too.
    """
    older: set[int] = set()
    for group in state.groups.values():
        through = _through(state, group)
        older |= {
            rank
            for rank, member in group.members.items()
            if member.enqueued is not None and member.enqueued < through
        }
    return tuple(sorted(older))


def _through(state: State, group: Group) -> int:
    """Number of the last collective that a rank is through with and that needs all ranks."""
    return max(
        (
            collective.sequence_number
            for rank in group.members
            for collective in state.dumps[rank].collectives
            if collective.group == group.key.name
            and collective.state == COMPLETED
            and not collective.is_p2p
            and not collective.operation.startswith("gloo:")
            and ends_together(collective)
        ),
        default=0,
    )


def _build(by_rank: dict[int, RankDump]) -> State:
    groups: dict[GroupKey, Group] = {}
    named = {rank: dict(_join(dump, groups)) for rank, dump in by_rank.items()}
    state = State(by_rank, _world(by_rank, groups), groups, {}, {})
    for rank, dump in by_rank.items():
        _place(state, rank, dump, named[rank])
    if not any(c.state == COMPLETED for dump in by_rank.values() for c in dump.collectives):
        state.overrun.clear()  # a recorder can be asked for what is active only: nothing is lost
    peers = {w.peer for works in state.open.values() for w in works if w.peer is not None}
    state.world |= {peer for peer in peers if peer >= 0}
    paired = {c.key for works in state.open.values() for c in works if c.peer is not None}
    for rank, dump in by_rank.items():
        for told in dump.groups:
            key = named[rank][told.name]
            _count(state, key, rank, told, has_pairs=key in paired)
    _drop_complete(state)
    _complete_ranks(state)
    return state


def _join(dump: RankDump, groups: dict[GroupKey, Group]) -> Iterator[tuple[str, GroupKey]]:
    for told in dump.groups:
        key = GroupKey(told.name, told.ranks)
        group = groups.setdefault(key, Group(key, told.description, told.ranks))
        group.description = group.description or told.description
        yield told.name, key


def _world(dumps: dict[int, RankDump], groups: dict[GroupKey, Group]) -> frozenset[int]:
    """All ranks that any group names; where none does, those up to the highest with a dump.

    A dump that is said to be of a rank that no job has doesn't make up all those below it.
    """
    named = {rank for group in groups.values() for rank in group.ranks}
    highest = max(dumps, default=-1)
    if named or highest >= MAX_WORLD:
        return frozenset(named | dumps.keys())
    return frozenset(range(highest + 1))


def _place(state: State, rank: int, dump: RankDump, named: dict[str, GroupKey]) -> None:
    """Take the works of one rank in the order of its calls."""
    works: list[Work] = []
    if dump.collectives and dump.collectives[0].state != COMPLETED and not dump.is_whole:
        state.overrun.add(rank)
    for collective in dump.collectives:
        key = named.get(collective.group) or GroupKey(collective.group, ())
        group = state.groups.setdefault(key, Group(key, None))
        member = group.members.setdefault(rank, Member())
        called = collective.enqueued_time
        if called is not None:
            state.last_call[rank] = max(called, state.last_call.get(rank, called))
        if collective.started_time is not None or collective.state == STARTED:
            state.timed.add(rank)
        if not collective.is_p2p:
            member.enqueued = _higher(member.enqueued, collective.sequence_number)
        if collective.state != COMPLETED:
            _open(group, member, works, collective, rank)
        elif not collective.is_p2p:
            member.completed = _higher(member.completed, collective.sequence_number)
    state.open[rank] = works


def _open(
    group: Group, member: Member, works: list[Work], collective: Collective, rank: int
) -> None:
    sequence = collective.sequence_number
    last = works[-1] if works else None
    same = last is not None and (last.key, last.sequence) == (group.key, sequence)
    if not collective.is_p2p:
        known = member.open.get(sequence)
        if known is not None:
            known.parts.append(collective)
            return
        work = Work(rank, _next(last), group.key, sequence, [collective])
        member.open[sequence] = work
    else:
        peer, is_send = _peer(collective, group)
        is_batch = same and last is not None and last.peer is not None
        order = last.order if is_batch and last is not None else _next(last)
        work = Work(rank, order, group.key, sequence, [collective], peer, is_send)
    works.append(work)


def _next(last: Work | None) -> int:
    return 0 if last is None else last.order + 1


def _peer(collective: Collective, group: Group) -> tuple[int, bool]:
    """The other rank of a work between two, and whether this one sends; -1 where it isn't told."""
    found = _PEER.search(collective.operation)
    if found is None:
        return -1, False
    place = int(found["peer"])
    ranks = group.ranks
    of_all = not ranks and group.description == DEFAULT_GROUP  # there a place is a rank
    peer = ranks[place] if place < len(ranks) else place if of_all else -1
    return peer, found["verb"] == "send"


def _count(state: State, key: GroupKey, rank: int, told: ProcessGroup, *, has_pairs: bool) -> None:
    """Take a recorder's own counters where its ring has no collective of the group.

    With works between two ranks in a group the counters are not those of its collectives.
    """
    member = state.groups[key].members.setdefault(rank, Member())
    if member.enqueued is None:
        if state.dumps[rank].is_whole:
            member.enqueued = member.completed = 0
        elif told.last_enqueued is not None and not has_pairs:
            member.enqueued = max(told.last_enqueued, 0)
            member.completed = max(told.last_completed or 0, 0)
    if member.open:
        below = min(member.open) - 1  # works of one group complete in order
        member.completed = below if member.completed is None else max(member.completed, below)
        member.open = {n: work for n, work in member.open.items() if n > member.completed}
    elif member.completed is None:
        member.completed = member.enqueued
    if (told.last_started or -1) > 0:
        state.timed.add(rank)


def _drop_complete(state: State) -> None:
    """Take out what its own group is shown to be through with."""
    for rank, works in state.open.items():
        state.open[rank] = [
            work
            for work in works
            if work.peer is not None or work.sequence in state.groups[work.key].members[rank].open
        ]


def _complete_ranks(state: State) -> None:
    """Give the groups that name no ranks those that have been seen in them; the first has all."""
    for group in state.groups.values():
        if not group.ranks:
            whole = group.description == DEFAULT_GROUP
            group.ranks = tuple(sorted(state.world if whole else group.members))


def _higher(held: int | None, new: int) -> int:
    return new if held is None else max(held, new)


def ranks_text(ranks: Sequence[int], limit: int = 8) -> str:
    """Ranks as words.

    >>> ranks_text((3,)), ranks_text((0, 1, 2, 3, 7))
    ('rank 3', 'ranks 0-3, 7')
    """
    pieces: list[list[int]] = []
    for rank in sorted(ranks):
        if pieces and rank == pieces[-1][-1] + 1:
            pieces[-1].append(rank)
        else:
            pieces.append([rank])
    shown = [f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in pieces[:limit]]
    more = sum(len(p) for p in pieces[limit:])
    text = ", ".join(shown) + (f" and {more} more" if more else "")
    return f"rank {text}" if len(ranks) == 1 else f"ranks {text}"
