"""Name who holds up a hung job, from the flight recorders of its ranks.

In the order of judgement: ranks that called another collective than the others; ranks on which a
collective is open that is over for its other ranks; ranks that did not come and wait for nobody;
ranks on which a kernel never started; circles; ranks that came late; who is the odd one out among
those in its place. Where all came and nothing tells one from another, nobody is named. A rank
without a dump is named when only that is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from relume.dumps import RankDump
from relume.models.collectives.absence import FEW_DUMPS, no_dump
from relume.models.collectives.case import Case, needs_everybody, waited
from relume.models.collectives.circles import circle, open_circle, ring
from relume.models.collectives.clocks import compare_clocks
from relume.models.collectives.finding import CollectiveFinding, Pattern, Waited
from relume.models.collectives.graph import OpenWork, build_graph
from relume.models.collectives.lateness import late_ranks
from relume.models.collectives.mismatch import find_mismatch
from relume.models.collectives.odd import odd_one_out
from relume.models.collectives.pairs import who_left_out
from relume.models.collectives.state import build_state, ranks_text

MOST = 0.5
"""When a larger share of the ranks is said to be at fault, what keeps them is nobody's own."""
MAX_SHOWN = 4
"""Steps of who waits for whom that are told."""

_CONFIDENCE = {
    Pattern.MISMATCH: 0.95,
    Pattern.LEFT_BEHIND: 0.9,
    Pattern.NEVER_JOINED: 0.93,
    Pattern.NOT_STARTED: 0.9,
    Pattern.CYCLE: 0.75,
    Pattern.ODD_ONE_OUT: 0.7,
    Pattern.LATE: 0.8,
    Pattern.ALL_STARTED: 0.8,
    Pattern.NO_DUMP: 0.75,
    Pattern.GAVE_UP: 0.6,
    Pattern.MANY_ABSENT: 0.7,
}
"""How sure each pattern is; set by hand where bench `dumps` put them."""


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
    strict = Case(state, graph, clocks, graph.sinks())
    trusting = replace(strict, sinks=graph.sinks(trusting=True)) if state.missing else strict
    looks = [(look, strict) for look in (*_LOOKS, open_circle, _not_running)]
    looks += [(look, trusting) for look in _LOOKS]
    looks += [(ring, strict), (odd_one_out, strict)]
    looks += [(_all_started, strict), (no_dump, strict), (_all_started, trusting)]
    looks += [(_gave_up, strict), (_rings_too_short, strict)]
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


def _mismatch(case: Case) -> CollectiveFinding | None:
    found = find_mismatch(case.state, case.graph.works, case.began)
    if found is None:
        return None
    return CollectiveFinding(
        Pattern.MISMATCH,
        0.0,
        culprits=found.odd,
        work=waited(case, found.work),
        why=(found.why,),
    )


def _left_behind(case: Case) -> CollectiveFinding | None:
    behind: dict[int, OpenWork] = {}
    for work in sorted(case.stuck(), key=case.began):
        few = len(work.waiting) <= len(work.done)
        if work.done and few and needs_everybody(work):
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
        Pattern.LEFT_BEHIND, 0.0, tuple(culprits), work=waited(case, work), why=(why,)
    )


def _never_joined(case: Case) -> CollectiveFinding | None:
    absent = [rank for rank in case.ranks() if rank in case.state.dumps]
    absent = sorted({_left_out_instead(case, rank) for rank in absent})
    if not absent:
        return None
    culprits = sorted(absent, key=lambda rank: (case.first_wait(rank), case.last_call(rank), rank))
    work = case.kept_by(culprits[0])[0]
    if len(absent) > 1 and len(absent) > MOST * len(case.state.dumps):
        why = f"{ranks_text(absent)} did not come: what keeps so many is no rank's own"
        return CollectiveFinding(
            Pattern.MANY_ABSENT, 0.0, suspects=tuple(culprits), work=waited(case, work), why=(why,)
        )
    why = f"{ranks_text(absent)} never called it, and waited for nobody"
    return CollectiveFinding(
        Pattern.NEVER_JOINED, 0.0, tuple(culprits), work=waited(case, work), why=(why,)
    )


def _left_out_instead(case: Case, rank: int) -> int:
    """Who left a receive out, where `rank` is only held by its send; else `rank`."""
    for sink in case.sinks:
        if rank in sink.nodes and sink.nodes != sink.circle:
            odd = who_left_out(case.state, case.works_in(sink.circle))
            return rank if odd is None else odd
    return rank


def _kept_a_send(case: Case) -> CollectiveFinding | None:
    """One rank alone has not come to what is sent to it, and all that came to the rest is stuck.

    Where starts are not noted, it can't be told whether a send holds up what its rank calls next.
    """
    for sink in case.sinks:
        is_work = len(sink.nodes) == 1 and min(sink.nodes) < 0
        if not is_work or sink.nodes == sink.circle:
            continue
        [stuck] = case.works_in(sink.nodes)
        odd = who_left_out(case.state, case.works_in(sink.circle))
        if odd is not None:
            work = next(iter(case.kept_by(odd)), stuck)
            why = f"rank {odd} went on without its part of a send and a receive"
            return CollectiveFinding(
                Pattern.NEVER_JOINED, 0.75, (odd,), work=waited(case, work), why=(why,)
            )
        absent = {rank for work in case.works_in(sink.circle) for rank in work.absent}
        if len(absent) == 1 and set(stuck.held) - set(stuck.held_firmly) and not stuck.done:
            [rank] = absent
            work = case.kept_by(rank)[0]
            why = f"rank {rank} alone has not called what is sent to it, which holds up the rest"
            return CollectiveFinding(
                Pattern.NEVER_JOINED, 0.75, (rank,), work=waited(case, work), why=(why,)
            )
    return None


def _not_started(case: Case) -> CollectiveFinding | None:
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
            Pattern.NOT_STARTED, 0.0, tuple(idle), work=waited(case, work), why=(why,)
        )
    return None


def _not_running(case: Case) -> CollectiveFinding | None:
    """Ranks whose recorders note starts, and on which what they have open first never started."""
    firsts = {
        rank: [work for work in works if work.order == works[0].order]
        for rank, works in case.state.open.items()
        if works and rank in case.state.timed and rank not in case.state.overrun
    }
    idle = [rank for rank, works in firsts.items() if not any(w.is_started for w in works)]
    if not idle or len(idle) > MOST * len(firsts):
        return None
    culprits = sorted(idle, key=lambda rank: (case.entered(rank), rank))
    first = firsts[culprits[0]][0]
    work = next((w for w in case.graph.works if first in w.waiting.values()), None)
    why = (
        f"on {ranks_text(idle)} the first that is open never started, others' runs: what the GPU "
        "does before it does not end"
    )
    told = None if work is None else waited(case, work)
    return CollectiveFinding(Pattern.NOT_STARTED, 0.8, tuple(culprits), work=told, why=(why,))


def _late(case: Case) -> CollectiveFinding | None:
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
                Pattern.LATE, 0.0, tuple(culprits), work=waited(case, work), why=(why,)
            )
    return None


def _all_started(case: Case) -> CollectiveFinding | None:
    stuck = sorted(case.stuck(), key=case.began)
    if not stuck:
        return None
    work = stuck[0]
    some = f", {ranks_text(sorted(work.done))} got through" if work.done else ""
    why = (
        f"all that take part came to it, {ranks_text(sorted(work.waiting))} did not get "
        f"through{some}: the network or a device of any of them can be at fault, so nobody is named"
    )
    return CollectiveFinding(Pattern.ALL_STARTED, 0.0, work=waited(case, work), why=(why,))


def _rings_too_short(case: Case) -> CollectiveFinding | None:
    """Works are open, and the rings no longer hold what their ranks wait for first."""
    works = [work for work in case.graph.works if case.is_behind_unknown(work)]
    if not works:
        return None
    work = min(works, key=case.began)
    lost = ranks_text(sorted(case.state.overrun))
    why = f"the rings of {lost} no longer hold what they wait for first, so nobody is named"
    return CollectiveFinding(Pattern.ALL_STARTED, 0.6, work=waited(case, work), why=(why,))


def _gave_up(case: Case) -> CollectiveFinding | None:
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


_LOOKS: tuple[Callable[[Case], CollectiveFinding | None], ...] = (
    _mismatch,
    _left_behind,
    _never_joined,
    _kept_a_send,
    _not_started,
    circle,
    _late,
)
"""What names somebody by the dumps that are there; first strictly, then taking it that those that
left none have come to everything."""


# --- words -------------------------------------------------------------------------------------


def _waits(case: Case, culprits: Sequence[int]) -> tuple[str, ...]:
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
