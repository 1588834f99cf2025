"""Collective time-outs: one wave is one incident, and the counters say who is out of step.

Every waiting rank prints the time-out, so the printers are victims. The culprit is the rank whose
counters lag, or the one rank of a known world that prints nothing (signature reference, facts 1-3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.models.diagnosis.episode import Episode
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


MIN_COMPARED = 2
"""One rank's counter says nothing."""
MIN_WORLD = 3
"""In a smaller world the silence of one rank is not told from a short log."""


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
    """The rank that the others wait for, the line that shows it, and how it was found."""

    rank: int
    hit: Hit | None
    reason: Reason


def find_laggard(episode: Episode) -> Laggard | None:
    """Name the rank out of step, or null when the counters are equal or too few to tell."""
    hits = [
        h
        for h in episode.all_hits()
        if h.signature.tier is Tier.TIMEOUT and not episode.recovered(h)
    ]
    counters = read_counters(_largest_group(hits))
    found = _lowest_enqueued(counters) or _short_queue(counters)
    if found is None and _one_kind_of_work(hits):
        found = _behind(counters)
    return found or _silent(counters, episode.ranks.world_size)


def _largest_group(hits: Iterable[Hit]) -> list[Hit]:
    """The hits of the process group most ranks speak of: counters compare only within a group."""
    groups: dict[str | None, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.captures.get("pg"), []).append(hit)
    return max(groups.values(), key=lambda g: len(read_counters(g)), default=[])


def _one_kind_of_work(hits: Iterable[Hit]) -> bool:
    """Whether all time-outs can be of one group: lines without a group number may mix several."""
    told = list(hits)
    groups = {h.captures["pg"] for h in told if "pg" in h.captures}
    operations = {h.captures["op"] for h in told if "op" in h.captures}
    return len(groups) <= 1 and len(operations) <= 1


def read_counters(hits: Iterable[Hit]) -> dict[int, RankCounters]:
    """Collect each rank's lowest counters."""
    counters: dict[int, RankCounters] = {}
    for hit in hits:
        rank = hit.line.rank if hit.line.rank is not None else _number(hit, "rank")
        if rank is None:
            continue
        held = counters.setdefault(rank, RankCounters(first_hit=hit))
        held.enqueued = _lower(held.enqueued, _number(hit, "enqueued"))
        held.sequence = _lower(held.sequence, _number(hit, "seq"))
        held.queued = _lower(held.queued, _number(hit, "queued"))
        held.completed = _lower(held.completed, _number(hit, "completed"))
    return counters


def _lowest_enqueued(counters: dict[int, RankCounters]) -> Laggard | None:
    known = sorted((c.enqueued, rank) for rank, c in counters.items() if c.enqueued is not None)
    if len(known) < MIN_COMPARED or known[0][0] >= known[1][0]:
        return None
    enqueued, rank = known[0]
    others = [c.completed for other, c in counters.items() if other != rank]
    if all(done is not None and done > enqueued for done in others):
        return Laggard(
            rank,
            counters[rank].first_hit,
            Reason(
                ReasonCode.LAST_TO_COME,
                detail=f"rank {rank} had enqueued {enqueued}, which all others had completed",
            ),
        )
    stuck = min((c.sequence for c in counters.values() if c.sequence is not None), default=None)
    joined = enqueued >= stuck if stuck is not None else known[1][0] - enqueued <= 1
    if joined:
        return None  # in the collective that timed out, or within the jitter of one work
    why = (
        f"rank {rank} had enqueued {enqueued} collectives, every other rank at least {known[1][0]}"
    )
    return Laggard(rank, counters[rank].first_hit, Reason(ReasonCode.LAST_TO_COME, detail=why))


def _short_queue(counters: dict[int, RankCounters]) -> Laggard | None:
    known = sorted((c.queued, rank) for rank, c in counters.items() if c.queued is not None)
    if len(known) < MIN_COMPARED:
        return None
    (low, rank), (following, _) = known[0], known[1]
    if low >= QUEUE_GAP_RATIO * following or following - low < QUEUE_GAP_WORKS:
        return None
    why = f"rank {rank} had {low} works queued, every other rank at least {following}"
    return Laggard(rank, counters[rank].first_hit, Reason(ReasonCode.SHORT_QUEUE, detail=why))


def _behind(counters: dict[int, RankCounters]) -> Laggard | None:
    known = sorted((c.sequence, rank) for rank, c in counters.items() if c.sequence is not None)
    if len(known) < MIN_COMPARED or known[0][0] >= SEQUENCE_GAP_RATIO * known[1][0]:
        return None
    sequence, rank = known[0]
    why = f"rank {rank} timed out at collective {sequence}, every other at {known[1][0]} or later"
    reason = Reason(ReasonCode.EARLIER_COLLECTIVE, detail=why)
    return Laggard(rank, counters[rank].first_hit, reason)


def _silent(counters: dict[int, RankCounters], world_size: int | None) -> Laggard | None:
    """The one rank of a known world that says nothing while all others time out."""
    if world_size is None or world_size < MIN_WORLD or len(counters) != world_size - 1:
        return None
    missing = set(range(world_size)) - set(counters)
    if len(missing) != 1:
        return None
    rank = missing.pop()
    why = f"all {world_size - 1} other ranks timed out, rank {rank} said nothing"
    return Laggard(rank, None, Reason(ReasonCode.SAID_NOTHING, detail=why))


def _number(hit: Hit, name: str) -> int | None:
    text = hit.captures.get(name)
    return int(text) if text is not None and text.lstrip("-").isdigit() else None


def _lower(held: int | None, new: int | None) -> int | None:
    if held is None or new is None:
        return new if held is None else held
    return min(held, new)
