"""Clocks are compared through all groups, however they hang together."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from recorders import SECOND, START, dump, group, work
from relume.dumps import RankDump
from relume.events import ProcessGroup
from relume.models.collectives.clocks import compare_clocks

AHEAD = {0: 0, 1: 0, 2: 7 * SECOND, 3: 7 * SECOND}


def ranks(groups: Mapping[int, list[ProcessGroup]]) -> list[RankDump]:
    """Dumps of ranks 0 and 1 on one host, 2 and 3 on another, whose clock is 7 s ahead."""
    made = []
    for rank, own in groups.items():
        works = [
            work(
                n,
                "completed",
                group=one.name,
                enqueued_time=START + n * SECOND + AHEAD[rank],
                completed_time=START + n * SECOND + 5000 + AHEAD[rank],
            )
            for one in own
            for n in range(1, 5)
        ]
        made.append(dump(rank, *works, groups=own))
    return made


def test_hosts_that_meet_in_few_groups_only_are_compared() -> None:
    first, second, across = group((0, 1), "a"), group((2, 3), "b"), group((1, 2), "c")
    clocks = compare_clocks(
        ranks({0: [first], 1: [first, across], 2: [second, across], 3: [second]})
    )
    assert clocks.compare(AHEAD)
    common = {round(clocks.common(rank, START + AHEAD[rank])) for rank in AHEAD}
    assert max(common) - min(common) < 1000


def test_hosts_that_never_meet_cannot_be_compared() -> None:
    first, second = group((0, 1), "a"), group((2, 3), "b")
    clocks = compare_clocks(ranks({0: [first], 1: [first], 2: [second], 3: [second]}))
    assert clocks.compare([0, 1])
    assert not clocks.compare([1, 2])


@pytest.mark.parametrize("dumps", [[], [dump(0, work(1))], [dump(0, work(1, "completed"))]])
def test_without_a_common_end_nothing_is_known(dumps: list[RankDump]) -> None:
    clocks = compare_clocks(dumps)
    assert not clocks.compare([0, 1])
    assert clocks.common(0, 7) == 7
