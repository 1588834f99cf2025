"""Clocks of hosts differ: what of a difference in time is the clock, and what is lateness.

A collective ends on all ranks together. So ends that several ranks saw tell how their clocks
differ, and with that taken off, the times of the calls tell who came late.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median

from relume.dumps import RankDump
from relume.events import Collective
from relume.models.collectives.matching import ends_together
from relume.models.collectives.state import COMPLETED, GroupKey

COMPARED: int = 8
"""Collectives of each group and rank whose times are compared, the last ones."""
ROUNDS: int = 12
"""Clocks that meet only through other ranks' groups settle after a few rounds."""
LOOKED_AT: float = 150_000.0
"""Microseconds by which an end may be seen later than it was."""
SETTLED: float = 1000.0
"""Microseconds: recorders look for ends ten times a second at best."""

_Key = tuple[GroupKey, int]


class Clocks:
    """How far the clock of each rank is ahead of the others', in microseconds.

    A rank is unknown while none of its dumped collectives was seen to end by another rank.
    """

    def __init__(self, ahead: Mapping[int, float]) -> None:
        self._ahead = dict(ahead)

    def knows(self, rank: int) -> bool:
        """Whether the clock of `rank` could be compared."""
        return rank in self._ahead

    def common(self, rank: int, time: int) -> float:
        """Return `time` of a rank's clock on the common clock; as it is where that is unknown."""
        return time - self._ahead.get(rank, 0.0)


def compare_clocks(dumps: Iterable[RankDump]) -> Clocks:
    """Compare the clocks of all ranks by the collectives that ended on several of them.

    Ends are seen when a watchdog looks, ten times a second or less. Calls are noted as they are
    made, but those of a rank that is always late are off by its lateness. So calls count where
    they agree with the ends, or where no ends are told.
    """
    ends: dict[_Key, dict[int, int]] = {}
    calls: dict[_Key, dict[int, int]] = {}
    for dump in dumps:
        keys = {told.name: GroupKey(told.name, told.ranks) for told in dump.groups}
        for collective in _last_complete(dump.collectives):
            group = keys.get(collective.group) or GroupKey(collective.group, ())
            key = group, collective.sequence_number
            if collective.completed_time is not None:
                ends.setdefault(key, {})[dump.rank] = collective.completed_time
            if collective.enqueued_time is not None:
                calls.setdefault(key, {})[dump.rank] = collective.enqueued_time
    by_ends, by_calls = _differences(ends), _differences(calls)
    close = {
        rank: ahead
        for rank, ahead in by_calls.items()
        if abs(ahead - by_ends.get(rank, ahead)) <= LOOKED_AT
    }
    return Clocks(by_ends | close)


def _last_complete(collectives: tuple[Collective, ...]) -> Iterable[Collective]:
    kept: dict[str, int] = {}
    for collective in reversed(collectives):
        if collective.is_p2p or collective.state != COMPLETED or not ends_together(collective):
            continue
        kept[collective.group] = kept.get(collective.group, 0) + 1
        if kept[collective.group] <= COMPARED:
            yield collective


def _differences(times: Mapping[_Key, Mapping[int, int]]) -> dict[int, float]:
    """Solve for the clocks: each is ahead by the middle of its distances from what is common."""
    shared = [by_rank for by_rank in times.values() if len(by_rank) > 1]
    seen: dict[int, list[Mapping[int, int]]] = {}
    for by_rank in shared:
        for rank in by_rank:
            seen.setdefault(rank, []).append(by_rank)
    ahead = dict.fromkeys(seen, 0.0)
    for _ in range(ROUNDS):
        middles = {
            id(by_rank): median(time - ahead[rank] for rank, time in by_rank.items())
            for by_rank in shared
        }
        moved = 0.0
        for rank, by_ranks in seen.items():
            new = median(by_rank[rank] - middles[id(by_rank)] for by_rank in by_ranks)
            moved = max(moved, abs(new - ahead[rank]))
            ahead[rank] = new
        if moved < SETTLED:
            break
    return ahead
