"""Ranks that came to a collective long after the others."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median_low

from relume.models.collectives.clocks import Clocks
from relume.models.collectives.graph import OpenWork
from relume.models.collectives.state import COMPLETED, State

LATE_MICROSECONDS = 1_000_000
"""Less is what steps differ by."""
TIMES_USUAL = 8.0
"""... and so many times what the others of the group usually come apart."""
MOST_LATE = 0.25
"""When a larger share is late, it is not theirs."""


def late_ranks(state: State, clocks: Clocks, work: OpenWork) -> dict[int, float]:
    """Return who came late to `work`, and by how many microseconds; empty when it can't be told.

    All of its ranks must have come, and their clocks must be known.
    """
    times = {
        rank: clocks.common(rank, one.enqueued_time)
        for rank, one in work.waiting.items()
        if one.enqueued_time is not None
    }
    complete = len(times) == len(work.waiting) and not work.done
    if work.is_pair or not complete or not clocks.compare(times):
        return {}
    if not times:
        return {}
    middle = median_low(times.values())
    late = {
        rank: time - middle for rank, time in times.items() if time - middle > LATE_MICROSECONDS
    }
    if not late or len(late) > max(1, MOST_LATE * len(times)):
        return {}
    gate = TIMES_USUAL * _usual_spread(state, clocks, work, times.keys() - late.keys())
    return {rank: by for rank, by in late.items() if by > gate}


def _usual_spread(state: State, clocks: Clocks, work: OpenWork, ranks: Iterable[int]) -> float:
    """How far apart other ranks of the group usually come: the median of what is held.

    Without those who are late now: they may be late every time.
    """
    calls: dict[int, list[float]] = {}
    for rank in ranks:
        for collective in state.dumps[rank].collectives:
            called = collective.enqueued_time
            if (
                collective.group == work.key.name
                and collective.state == COMPLETED
                and not collective.is_p2p
                and called is not None
            ):
                calls.setdefault(collective.sequence_number, []).append(clocks.common(rank, called))
    spreads = [max(times) - median_low(times) for times in calls.values() if len(times) > 1]
    return median_low(spreads) if spreads else 0.0
