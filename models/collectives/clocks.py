"""Clocks of hosts differ: what of a difference in time is the clock, and what is lateness.

A collective ends on all ranks together. So ends that several ranks saw tell how their clocks
differ, and with that taken off, the times of the calls tell who came late. Two ranks may meet only
through the groups of others: all times are put together in one least-squares solution.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from relume.dumps import RankDump
from relume.events import Collective
from relume.models.collectives.matching import ends_together
from relume.models.collectives.state import COMPLETED, GroupKey

COMPARED: int = 8
"""Collectives of each group and rank whose times are compared, the last ones."""
LOOKED_AT: float = 150_000.0
"""Microseconds by which an end may be seen later than it was: a watchdog looks now and then."""

_Key = tuple[GroupKey, int]


class Clocks:
    """How far the clock of each rank is ahead, in microseconds, and with whose it was compared.

    `part` numbers the ranks whose clocks hang together; those of two parts, and of ranks without
    one, can't be compared.
    """

    def __init__(self, ahead: Mapping[int, float], part: Mapping[int, int]) -> None:
        self._ahead, self._part = dict(ahead), dict(part)

    def compare(self, ranks: Collection[int]) -> bool:
        """Whether the clocks of all `ranks` could be compared with each other."""
        return len({self._part.get(rank, -1 - rank) for rank in ranks}) <= 1

    def common(self, rank: int, time: int) -> float:
        """Return `time` of a rank's clock on the common clock; as it is where that is unknown."""
        return time - self._ahead.get(rank, 0.0)


def compare_clocks(dumps: Iterable[RankDump]) -> Clocks:
    """Compare the clocks of all ranks by the collectives that ended on several of them.

    Ends are noted when a watchdog looks, ten times a second or less. Calls are noted as they are
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
    by_ends, end_part = _solve(ends)
    by_calls, call_part = _solve(calls)
    if not by_ends or end_part != call_part:
        return Clocks(by_ends or by_calls, end_part or call_part)
    close = {r: ahead for r, ahead in by_calls.items() if abs(ahead - by_ends[r]) <= LOOKED_AT}
    return Clocks(by_ends | close, end_part)


def _last_complete(collectives: tuple[Collective, ...]) -> Iterable[Collective]:
    kept: dict[str, int] = {}
    for collective in reversed(collectives):
        if collective.is_p2p or collective.state != COMPLETED or not ends_together(collective):
            continue
        kept[collective.group] = kept.get(collective.group, 0) + 1
        if kept[collective.group] <= COMPARED:
            yield collective


def _solve(times: Mapping[_Key, Mapping[int, int]]) -> tuple[dict[int, float], dict[int, int]]:
    """Solve ``time = clock of the rank + true time of the collective``, part by part."""
    from scipy.sparse import coo_matrix  # noqa: PLC0415 - as long to load as numpy, rarely needed
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415
    from scipy.sparse.linalg import lsqr  # noqa: PLC0415

    shared = [by_rank for by_rank in times.values() if len(by_rank) > 1]
    ranks = sorted({rank for by_rank in shared for rank in by_rank})
    if not ranks:
        return {}, {}
    place = {rank: i for i, rank in enumerate(ranks)}
    columns = np.array([place[rank] for by_rank in shared for rank in by_rank])
    works = np.array([i for i, by_rank in enumerate(shared) for _ in by_rank]) + len(ranks)
    told = np.array([time for by_rank in shared for time in by_rank.values()], dtype=np.int64)
    rows, size = np.arange(len(told)), len(ranks) + len(shared)
    ones = np.ones(len(told))
    links = coo_matrix((ones, (columns, works)), shape=(size, size))
    _, parts = connected_components(links, directed=False)
    both = coo_matrix(
        (np.tile(ones, 2), (np.tile(rows, 2), np.concatenate([columns, works]))),
        shape=(len(told), size),
    ).tocsr()
    solution = lsqr(both, (told - told.min()).astype(float), atol=1e-12, btol=1e-12)[0]
    ahead = {rank: float(solution[i]) for rank, i in place.items()}
    return ahead, {rank: int(parts[i]) for rank, i in place.items()}
