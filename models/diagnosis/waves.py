"""Collective time-outs: one wave is one incident, and the counters say who is out of step.

Every waiting rank prints the time-out, so the printers are victims. Time-outs are one wave where
they are of one process group; the waves of an episode have one culprit, since groups wait for one
another. It is the rank whose counters lag, or the one (or the one node) that prints nothing while
all others wait (signature reference, facts 1-3).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from relume.models.diagnosis.episode import Episode
from relume.models.ranks.mapping import RankMap
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Tier
from relume.reasons import Reason, ReasonCode

QUEUE_GAP_RATIO = 0.9
"""A rank's queue counts as short below this share of the next shortest."""
QUEUE_GAP_WORKS = 5
"""... and by at least so many works: queues of healthy ranks differ by a few."""
SEQUENCE_GAP_RATIO = 0.9
"""A timed-out sequence number counts as behind below this share of the next lowest: ranks of one
wave that time out on neighbouring numbers are still one wave."""
SEQUENCE_GAP_WORKS = 2
"""... or by so many works, where all the others, and many, time out on one and the same number."""
MIN_COMPARED = 2
"""One rank's counter says nothing."""
MIN_WORLD = 3
"""In a smaller world the silence of one rank is not told from a short log."""

MIN_SAID = 7
"""So many ranks without a gap but one show a world whose size no line tells."""


@dataclass(slots=True)
class RankCounters:
    """What one rank said of its progress through collectives; null where it said nothing."""

    enqueued: int | None = None
    sequence: int | None = None
    queued: int | None = None
    completed: int | None = None
    first_hit: Hit | None = None


@dataclass(frozen=True, slots=True)
class Laggard:
    """Whom the others wait for: one rank, or several of one node (then `rank` is null).

    `hit` is the line that shows it, null where silence does.
    """

    rank: int | None
    node: str | None
    hit: Hit | None
    reason: Reason


def find_laggard(episode: Episode) -> Laggard | None:
    """Name the rank or node out of step, or null when the counters are equal or too few to tell."""
    waves = _waves(_by_rank(_timeouts(episode), episode.ranks))
    told = {pg: read_counters(wave) for pg, wave in waves.items()}
    largest = max(told, key=lambda pg: len(told[pg]), default=None)
    counters = told.get(largest, {})
    found = _lowest_enqueued(counters, episode.ranks) or _short_queue(counters)
    found = found or _not_begun(counters)
    if found is None and _one_kind_of_work(waves.get(largest, ())):
        found = _behind(counters)
    if found is not None:
        return found
    found = _silent(set().union(*told.values()), episode.ranks)
    if found is None or found.rank is None:
        return found
    group = _group_of(found.rank, told)
    if group is None:
        return found
    first = min(waves[group], key=episode.position)
    return replace(found, hit=first)


def _timeouts(episode: Episode) -> list[Hit]:
    return [
        h
        for h in episode.all_hits()
        if h.signature.tier is Tier.TIMEOUT and not episode.recovered(h)
    ]


def _by_rank(hits: Sequence[Hit], ranks: RankMap) -> Iterator[Hit]:
    """Yield the hits with the rank of their printer, where only its task is told.

    Tasks are ranks where all who tell both tell the same, or nothing shows that they aren't.
    """
    both = [h.line for h in hits if h.line.rank is not None and h.line.task is not None]
    agree = all(line.rank == line.task for line in both)
    are_ranks = agree if both else ranks.tasks_are_ranks is not False
    for hit in hits:
        line = hit.line
        is_told = line.rank is not None or "rank" in hit.captures
        is_task = are_ranks and not is_told and line.task is not None
        yield replace(hit, line=replace(line, rank=line.task)) if is_task else hit


def _group_of(silent: int, told: Mapping[str | None, Collection[int]]) -> str | None:
    """The process group of a silent rank: the one whose neighbouring ranks leave a gap for it."""
    fitting = {
        pg: len(ranks)
        for pg, ranks in told.items()
        if pg is not None and _is_block({*ranks, silent}) and len(told) > 1
    }
    return min(fitting, key=lambda pg: fitting[pg], default=None)


def _is_block(ranks: set[int]) -> bool:
    return max(ranks) - min(ranks) + 1 == len(ranks)


def _waves(hits: Iterable[Hit]) -> dict[str | None, list[Hit]]:
    """The time-outs by process group: counters compare only within a group."""
    groups: dict[str | None, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.captures.get("pg"), []).append(hit)
    named = [pg for pg in groups if pg is not None]
    if len(named) == 1 and None in groups:  # who doesn't name the group means the only one
        groups[named[0]] += groups.pop(None)
    return groups


def _one_kind_of_work(hits: Iterable[Hit]) -> bool:
    """Whether all time-outs can be of one group: lines without a group number may mix several."""
    return len({h.captures["op"] for h in hits if "op" in h.captures}) <= 1


def read_counters(hits: Iterable[Hit]) -> dict[int, RankCounters]:
    """Collect each rank's lowest counters."""
    counters: dict[int, RankCounters] = {}
    for hit in hits:
        rank = hit.line.rank if hit.line.rank is not None else _number(hit, "rank")
        if rank is None:
            continue
        held = counters.setdefault(rank, RankCounters())
        enqueued = _lower(held.enqueued, _number(hit, "enqueued"))
        if held.first_hit is None or enqueued != held.enqueued:
            held.first_hit = hit
        held.enqueued = enqueued
        held.sequence = _lower(held.sequence, _number(hit, "seq"))
        held.queued = _lower(held.queued, _number(hit, "queued"))
        held.completed = _lower(held.completed, _number(hit, "completed"))
    return counters


def _lowest_enqueued(counters: Mapping[int, RankCounters], ranks: RankMap) -> Laggard | None:
    known = {rank: c.enqueued for rank, c in counters.items() if c.enqueued is not None}
    if len(known) < MIN_COMPARED:
        return None
    least = min(known.values())
    late = [rank for rank, enqueued in known.items() if enqueued == least]
    following = min((n for n in known.values() if n > least), default=None)
    where = _one_place(late, ranks, len(known))
    if following is None or where is None:
        return None
    others = [c.completed for rank, c in counters.items() if rank not in late]
    first, who = counters[late[0]].first_hit, _called(late, where[1])
    if all(done is not None and done > least for done in others):
        why = f"{who} had enqueued {least}, which all others had completed"
        return Laggard(*where, first, Reason(ReasonCode.LAST_TO_COME, detail=why))
    told = {rank: c.sequence for rank, c in counters.items() if c.sequence is not None}
    waiting = [sequence for rank, sequence in told.items() if rank not in late]
    stuck = min(waiting or told.values(), default=None)
    joined = least >= stuck if stuck is not None else following - least <= 1
    if joined:
        return None  # in the collective that timed out, or within the jitter of one work
    why = f"{who} had enqueued {least} collectives, every other rank at least {following}"
    return Laggard(*where, first, Reason(ReasonCode.LAST_TO_COME, detail=why))


def _short_queue(counters: Mapping[int, RankCounters]) -> Laggard | None:
    known = sorted((c.queued, rank) for rank, c in counters.items() if c.queued is not None)
    if len(known) < MIN_COMPARED:
        return None
    (low, rank), (following, _) = known[0], known[1]
    if low >= QUEUE_GAP_RATIO * following or following - low < QUEUE_GAP_WORKS:
        return None
    why = f"rank {rank} had {low} works queued, every other rank at least {following}"
    reason = Reason(ReasonCode.SHORT_QUEUE, detail=why)
    return Laggard(rank, None, counters[rank].first_hit, reason)


def _not_begun(counters: Mapping[int, RankCounters]) -> Laggard | None:
    """The one that tells, asked by others, that it had not begun what all of these wait for."""
    told = [(rank, c) for rank, c in counters.items() if c.sequence is None]
    waiting = [c.sequence for c in counters.values() if c.sequence is not None]
    if len(told) != 1 or len(waiting) < MIN_COMPARED or told[0][1].enqueued is None:
        return None
    (rank, own), stuck = told[0], min(waiting)
    if own.enqueued is None or own.enqueued >= stuck:
        return None
    why = f"rank {rank} had enqueued {own.enqueued}, all others wait for {stuck} or later"
    return Laggard(rank, None, own.first_hit, Reason(ReasonCode.LAST_TO_COME, detail=why))


def _behind(counters: Mapping[int, RankCounters]) -> Laggard | None:
    known = sorted((c.sequence, rank) for rank, c in counters.items() if c.sequence is not None)
    if len(known) < MIN_COMPARED:
        return None
    (least, _), (following, _), (most, _) = known[0], known[1], known[-1]
    is_far = least < SEQUENCE_GAP_RATIO * following
    is_alone = len(known) > MIN_SAID and following == most and most - least >= SEQUENCE_GAP_WORKS
    if not is_far and not is_alone:
        return None
    sequence, rank = known[0]
    why = f"rank {rank} timed out at collective {sequence}, every other at {known[1][0]} or later"
    reason = Reason(ReasonCode.EARLIER_COLLECTIVE, detail=why)
    return Laggard(rank, None, counters[rank].first_hit, reason)


def _silent(said: set[int], ranks: RankMap) -> Laggard | None:
    """Whoever says nothing while all others time out: one rank, or all the ranks of one node."""
    world = ranks.world_size
    if world is None and len(said) >= MIN_SAID:
        world = max(said) + 1  # the last ranks may be silent too: then more than one is
    if world is None or world < MIN_WORLD or not said or max(said) >= world:
        return None
    silent = [rank for rank in range(world) if rank not in said]
    where = _one_place(silent, ranks, world) if silent else None
    if where is None:
        return None
    others = world - len(silent)
    why = f"all {others} other ranks timed out, {_called(silent, where[1])} said nothing"
    return Laggard(*where, None, Reason(ReasonCode.SAID_NOTHING, detail=why))


def _one_place(late: list[int], ranks: RankMap, of: int) -> tuple[int | None, str | None] | None:
    """Rank and node of those that are late: one rank, or all the ranks of one node of several."""
    if len(late) == 1:
        return late[0], None
    nodes = ranks.nodes_of(late)
    if nodes is None or len(nodes) != 1 or len(late) == of:
        return None
    return (None, nodes[0]) if set(ranks.ranks_on(nodes[0])) == set(late) else None


def _called(late: list[int], node: str | None) -> str:
    return f"rank {late[0]}" if node is None else f"all ranks of {node}"


def _number(hit: Hit, name: str) -> int | None:
    text = hit.captures.get(name)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def _lower(held: int | None, new: int | None) -> int | None:
    if held is None or new is None:
        return new if held is None else held
    return min(held, new)
