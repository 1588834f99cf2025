"""Name who holds up a hung job, from the flight recorders of its ranks.

In the order of judgement: ranks that called another collective than the others; ranks on which a
collective is open that is over for its other ranks; ranks that did not come and wait for nobody;
ranks on which a kernel never started; circles; ranks that came late. Where all came and nothing
tells one from another, nobody is named. A rank without a dump is named when only that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from relume.dumps import RankDump
from relume.models.collectives.clocks import Clocks, compare_clocks
from relume.models.collectives.finding import CollectiveFinding, Pattern, Waited
from relume.models.collectives.graph import OpenWork, Sink, WaitGraph, build_graph
from relume.models.collectives.lateness import late_ranks
from relume.models.collectives.matching import ends_together
from relume.models.collectives.mismatch import find_mismatch
from relume.models.collectives.state import State, build_state, ranks_text

MOST = 0.5
"""When a larger share of the ranks is said to be at fault, what keeps them is nobody's own."""
MANY_WAITING = 3
FAR_MORE = 2.0
"""In a circle, who keeps so many times more ranks waiting than the next is the one."""
FEW_DUMPS = 0.5
"""Below this share of dumps, what is missing says nothing."""
RANKS_OF_A_NODE = 4
"""Fewer that follow each other may be chance."""
MAX_SHOWN = 4
"""Steps of who waits for whom that are told."""

_CONFIDENCE = {
    Pattern.MISMATCH: 0.95,
    Pattern.LEFT_BEHIND: 0.9,
    Pattern.NEVER_JOINED: 0.93,
    Pattern.NOT_STARTED: 0.9,
    Pattern.CYCLE: 0.75,
    Pattern.LATE: 0.8,
    Pattern.ALL_STARTED: 0.8,
    Pattern.NO_DUMP: 0.75,
    Pattern.GAVE_UP: 0.6,
    Pattern.MANY_ABSENT: 0.7,
}
"""How sure each pattern is; set by hand where bench `dumps` put them."""


@dataclass(frozen=True, slots=True)
class _Case:
    """Everything that a judgement looks at."""

    state: State
    graph: WaitGraph
    clocks: Clocks
    sinks: Sequence[Sink]

    def stuck(self) -> list[OpenWork]:
        """Works that wait for nobody, and are open all the same."""
        return [self.graph.works[-1 - node] for node in self._alone() if node < 0]

    def ranks(self) -> list[int]:
        """Ranks that others wait for and that wait for nobody."""
        return [node for node in self._alone() if node >= 0]

    def _alone(self) -> list[int]:
        return [node for sink in self.sinks if len(sink.nodes) == 1 for node in sink.nodes]

    def works_in(self, nodes: Iterable[int]) -> list[OpenWork]:
        """The works of a part of the graph."""
        return [self.graph.works[-1 - node] for node in nodes if node < 0]

    def first_wait(self, rank: int) -> float:
        """When the first of those that wait for `rank` began to, on the common clock."""
        return min((self.began(work) for work in self.kept_by(rank)), default=float("inf"))

    def kept_by(self, rank: int) -> list[OpenWork]:
        """The works that `rank` keeps, those of a whole group first, the first called first."""
        kept = [work for work in self.graph.works if rank in work.absent or rank in work.missing]
        kept = kept or [work for work in self.graph.works if rank in work.unclear]
        return sorted(kept, key=lambda work: (work.is_pair, self.began(work)))

    def began(self, work: OpenWork) -> float:
        """When the first of those that wait in `work` called it, on the common clock."""
        times = [
            self.clocks.common(rank, one.enqueued_time)
            for rank, one in work.waiting.items()
            if one.enqueued_time is not None
        ]
        return min(times, default=float("inf"))

    def entered(self, rank: int) -> float:
        """When `rank` called the first of what it has open, on the common clock."""
        times = (work.enqueued_time for work in self.state.open.get(rank, ()))
        time = next((time for time in times if time is not None), None)
        return self.last_call(rank) if time is None else self.clocks.common(rank, time)

    def last_call(self, rank: int) -> float:
        """When `rank` called its last collective, on the common clock; before all when unknown."""
        time = self.state.last_call.get(rank)
        return float("-inf") if time is None else self.clocks.common(rank, time)


def judge(dumps: Iterable[RankDump]) -> CollectiveFinding | None:
    """Say who holds up the job; null when the dumps show nothing open.

    Cost is linear in the collectives that the dumps still hold, and in the sizes of their groups.

    Examples
    --------
    >>> from relume.events import Collective, ProcessGroup
    >>> def dump(rank, number, state):
    ...     group = ProcessGroup(name="0", ranks=(0, 1, 2))
    ...     work = Collective(
    ...         group="0", sequence_number=number, operation="nccl:barrier", state=state
    ...     )
    ...     return RankDump(rank=rank, file=str(rank), groups=(group,), collectives=(work,))
    >>> finding = judge([dump(0, 8, "started"), dump(1, 7, "completed"), dump(2, 8, "started")])
    >>> finding.pattern.value, finding.culprits
    ('never_joined', (1,))
    """
    kept = list(dumps)
    state = build_state(kept)
    graph = build_graph(state)
    clocks = compare_clocks(kept)
    strict = _Case(state, graph, clocks, graph.sinks())
    trusting = replace(strict, sinks=graph.sinks(trusting=True)) if state.missing else strict
    looks = [(look, case) for case in (strict, trusting) for look in _LOOKS]
    looks += [(_all_started, strict), (_no_dump, strict), (_all_started, trusting)]
    looks.append((_gave_up, strict))
    found = next(filter(None, (look(case) for look, case in looks)), None)
    if found is None:
        return None
    confidence = found.confidence or _CONFIDENCE[found.pattern]
    if len(state.dumps) < FEW_DUMPS * len(state.world):
        confidence *= 0.8
    return replace(
        found,
        confidence=confidence,
        waits=_waits(strict, found.culprits),
        dumped=len(state.dumps),
        missing=state.missing,
        last_time=state.last_time,
    )


# --- the looks, in the order of judgement ------------------------------------------------------


def _mismatch(case: _Case) -> CollectiveFinding | None:
    found = find_mismatch(case.state, case.graph.works, case.began)
    if found is None:
        return None
    return CollectiveFinding(
        Pattern.MISMATCH,
        0.0,
        culprits=found.odd,
        work=_waited(case, found.work),
        why=(found.why,),
    )


def _left_behind(case: _Case) -> CollectiveFinding | None:
    behind: dict[int, OpenWork] = {}
    for work in sorted(case.stuck(), key=case.began):
        few = len(work.waiting) <= len(work.done)
        if work.done and few and _ends_together(work):
            for rank in work.waiting:
                behind.setdefault(rank, work)
    if not behind or len(behind) > MOST * len(case.state.dumps):
        return None
    work = next(iter(behind.values()))
    done = sorted({rank for one in behind.values() for rank in one.done})
    why = (
        f"{ranks_text(tuple(behind))} came to it and did not get through, "
        f"{ranks_text(done)} did: it is held up there, not by who did not come"
    )
    culprits = sorted(behind, key=lambda rank: case.began(behind[rank]))
    return CollectiveFinding(
        Pattern.LEFT_BEHIND, 0.0, tuple(culprits), work=_waited(case, work), why=(why,)
    )


def _never_joined(case: _Case) -> CollectiveFinding | None:
    absent = [rank for rank in case.ranks() if rank in case.state.dumps]
    if not absent:
        return None
    culprits = sorted(absent, key=lambda rank: (case.first_wait(rank), case.last_call(rank), rank))
    work = case.kept_by(culprits[0])[0]
    if len(absent) > 1 and len(absent) > MOST * len(case.state.dumps):
        why = f"{ranks_text(absent)} did not come: what keeps so many is no rank's own"
        return CollectiveFinding(
            Pattern.MANY_ABSENT, 0.0, suspects=tuple(culprits), work=_waited(case, work), why=(why,)
        )
    why = f"{ranks_text(absent)} never called it, and waited for nobody"
    return CollectiveFinding(
        Pattern.NEVER_JOINED, 0.0, tuple(culprits), work=_waited(case, work), why=(why,)
    )


def _kept_a_send(case: _Case) -> CollectiveFinding | None:
    """One rank alone has not come to what is sent to it, and all that came to the rest is stuck.

    Where starts are not noted, it can't be told whether a send holds up what its rank calls next.
    """
    for sink in case.sinks:
        is_work = len(sink.nodes) == 1 and min(sink.nodes) < 0
        if not is_work or sink.nodes == sink.circle:
            continue
        [stuck] = case.works_in(sink.nodes)
        absent = {rank for work in case.works_in(sink.circle) for rank in work.absent}
        if len(absent) == 1 and set(stuck.held) - set(stuck.held_firmly) and not stuck.done:
            [rank] = absent
            work = case.kept_by(rank)[0]
            why = f"rank {rank} alone has not called what is sent to it, which holds up the rest"
            return CollectiveFinding(
                Pattern.NEVER_JOINED, 0.75, (rank,), work=_waited(case, work), why=(why,)
            )
    return None


def _not_started(case: _Case) -> CollectiveFinding | None:
    if not case.state.timed:
        return None
    for work in sorted(case.stuck(), key=case.began):
        idle = [rank for rank, one in work.waiting.items() if not one.is_started]
        if work.done or not idle or len(idle) > MOST * len(work.waiting):
            continue
        others = sorted(work.waiting.keys() - idle)
        why = (
            f"all came, and its kernel runs on {ranks_text(others)}; on {ranks_text(idle)} it "
            "never started: what the GPU does before it does not end"
        )
        return CollectiveFinding(
            Pattern.NOT_STARTED, 0.0, tuple(idle), work=_waited(case, work), why=(why,)
        )
    return None


def _circle(case: _Case) -> CollectiveFinding | None:
    circles = [sink.nodes for sink in case.sinks if len(sink.nodes) > 1]
    if not circles:
        return None
    part = max(circles, key=len)
    ranks = sorted(node for node in part if node >= 0)
    works = case.works_in(part)
    first, how = _first_of_circle(case, ranks, works)
    why = f"{ranks_text(ranks)} wait for each other in a circle; {how}"
    work = min(works, key=lambda one: (first not in one.waiting, case.began(one)))
    return CollectiveFinding(
        Pattern.CYCLE, 0.0, (first,), tuple(ranks), work=_waited(case, work), why=(why,)
    )


def _first_of_circle(
    case: _Case, ranks: Sequence[int], works: Sequence[OpenWork]
) -> tuple[int, str]:
    """Which rank of a circle broke it, in words: who goes another way than all the others."""
    kept = {rank: _kept_waiting(case, rank) for rank in ranks}
    most = sorted(ranks, key=lambda rank: -kept[rank])
    second = kept[most[1]] if len(most) > 1 else 0
    of_all = any(not work.is_pair for work in works)
    if of_all and kept[most[0]] >= MANY_WAITING and kept[most[0]] >= FAR_MORE * second:
        return most[0], f"{kept[most[0]]} ranks wait for rank {most[0]}, more than for any other"
    absent = {rank for work in works for rank in work.absent}
    if len(absent) == 1:
        [rank] = absent
        return rank, f"rank {rank} alone has not called what the others are in"
    rank = min(ranks, key=lambda rank: (case.entered(rank), rank))
    return rank, f"rank {rank} was the first to wait"


def _kept_waiting(case: _Case, rank: int) -> int:
    """How many ranks wait for `rank` right now, in the first of what they have open."""
    return len(
        {
            waiting
            for work in case.graph.works
            if rank in work.blockers(firmly=True)
            for waiting, one in work.waiting.items()
            if waiting != rank and one.order == case.state.open[waiting][0].order
        }
    )


def _late(case: _Case) -> CollectiveFinding | None:
    for work in sorted(case.stuck(), key=case.began):
        late = late_ranks(case.state, case.clocks, work)
        if late:
            worst = max(late.values()) / 1e6
            why = (
                f"{ranks_text(tuple(late))} came {worst:.1f} s after the others, clocks compared, "
                "and then nobody got through"
            )
            culprits = sorted(late, key=lambda rank: -late[rank])
            return CollectiveFinding(
                Pattern.LATE, 0.0, tuple(culprits), work=_waited(case, work), why=(why,)
            )
    return None


def _all_started(case: _Case) -> CollectiveFinding | None:
    stuck = sorted(case.stuck(), key=case.began)
    if not stuck:
        return None
    work = stuck[0]
    some = f", {ranks_text(sorted(work.done))} got through" if work.done else ""
    why = (
        f"all that take part came to it, {ranks_text(sorted(work.waiting))} did not get "
        f"through{some}: the network or a device of any of them can be at fault, so nobody is named"
    )
    return CollectiveFinding(Pattern.ALL_STARTED, 0.0, work=_waited(case, work), why=(why,))


def _no_dump(case: _Case) -> CollectiveFinding | None:
    gone = [rank for rank in case.ranks() if rank not in case.state.dumps]
    if not gone:
        return None
    if _is_node(case.state.missing) and set(gone) == set(case.state.missing):
        work = case.kept_by(gone[0])[0]
        why = f"{ranks_text(gone)} left no dump, all others did: a whole node, as it seems"
        return CollectiveFinding(
            Pattern.NO_DUMP, 0.0, tuple(sorted(gone)), work=_waited(case, work), why=(why,)
        )
    alone = {rank: _alone_in(case, rank) for rank in gone}
    told = [rank for rank in gone if alone[rank]]
    first = min(told or gone, key=lambda rank: (case.first_wait(rank), rank))
    work = (alone[first] or case.kept_by(first))[0]
    few = len(case.state.dumps) < FEW_DUMPS * len(case.state.world)
    if few or (not told and len(gone) > 1):
        why = f"{ranks_text(gone)} left no dump, and others wait for one of them"
        return CollectiveFinding(
            Pattern.NO_DUMP, 0.6, suspects=tuple(sorted(gone)), work=_waited(case, work), why=(why,)
        )
    why = f"rank {first} left no dump, and the others of its group wait for it alone"
    sure = 0.6 if len(case.state.missing) > 1 else 0.0  # its dump may be lost as theirs are
    return CollectiveFinding(
        Pattern.NO_DUMP, sure, (first,), tuple(sorted(gone)), work=_waited(case, work), why=(why,)
    )


def _is_node(ranks: Sequence[int]) -> bool:
    """Whether several ranks follow each other as those of one node do."""
    count = len(ranks)
    follow = count >= RANKS_OF_A_NODE and ranks[-1] - ranks[0] == count - 1
    return follow and ranks[0] % count == 0


def _alone_in(case: _Case, rank: int) -> list[OpenWork]:
    """The works that `rank` alone keeps."""
    return [work for work in case.kept_by(rank) if len(set(work.blockers())) == 1]


def _gave_up(case: _Case) -> CollectiveFinding | None:
    """Gloo calls a work over when it gives it up: who never came is behind those who did."""
    for group in case.state.groups.values():
        through = {
            rank: m.completed for rank, m in group.members.items() if m.completed is not None
        }
        most = max(through.values(), default=0)
        behind = [
            rank
            for rank, m in group.members.items()
            if m.enqueued is not None and m.enqueued < most
        ]
        is_gloo = any(
            c.operation.startswith("gloo:")
            for rank in through
            for c in case.state.dumps[rank].collectives[-1:]
        )
        if is_gloo and behind and len(behind) <= MOST * len(through):
            why = f"{ranks_text(behind)} never called number {most}, which the others gave up"
            work = Waited(group.label, most, "gloo", tuple(sorted(through.keys() - behind)))
            return CollectiveFinding(
                Pattern.GAVE_UP, 0.0, tuple(sorted(behind)), work=work, why=(why,)
            )
    return None


_LOOKS: tuple[Callable[[_Case], CollectiveFinding | None], ...] = (
    _mismatch,
    _left_behind,
    _never_joined,
    _kept_a_send,
    _not_started,
    _circle,
    _late,
)
"""What names somebody by the dumps that are there; first strictly, then taking it that those that
left none have come to everything."""


# --- words -------------------------------------------------------------------------------------


def _ends_together(work: OpenWork) -> bool:
    return not work.is_pair and all(
        ends_together(part) for one in work.waiting.values() for part in one.parts
    )


def _waited(case: _Case, work: OpenWork) -> Waited:
    group = case.state.groups[work.key]
    return Waited(
        group=group.label,
        sequence=work.sequence,
        operation=work.operation,
        waiting=tuple(sorted(work.waiting)),
        absent=tuple(sorted({*work.absent, *work.missing})),
    )


def _waits(case: _Case, culprits: Sequence[int]) -> tuple[str, ...]:
    """Say who waits for the culprits, who for those, and so on back to the first."""
    steps: list[str] = []
    told, blamed = set(culprits), set(culprits)
    while blamed and len(steps) < MAX_SHOWN:
        works = [w for w in case.graph.works if blamed & {*w.absent, *w.missing}]
        waiting = {rank for work in works for rank in work.waiting} - told
        if not waiting:
            break
        first = min(works, key=lambda work: (not waiting & work.waiting.keys(), case.began(work)))
        keeping = blamed & {*first.absent, *first.missing}
        group = case.state.groups[first.key].label
        steps.append(
            f"{ranks_text(tuple(waiting))} wait for {ranks_text(tuple(blamed))}, the first in "
            f"{first.operation} number {first.sequence} of group {group} for "
            f"{ranks_text(tuple(keeping))}"
        )
        told |= waiting
        blamed = waiting
    return tuple(steps)
