"""What is commonly done with recorders by hand: the rank with the lowest counter is the one."""

from __future__ import annotations

from collections.abc import Iterable

from relume.dumps import RankDump


def lowest_counter(dumps: Iterable[RankDump]) -> int | None:
    """Return the rank that has enqueued fewest in the largest group, null when several have."""
    counters: dict[tuple[str, tuple[int, ...]], dict[int, int]] = {}
    for dump in dumps:
        for group in dump.groups:
            if group.last_enqueued is not None:
                of_group = counters.setdefault((group.name, group.ranks), {})
                of_group[dump.rank] = group.last_enqueued
    for _, of_group in sorted(counters.items(), key=lambda one: -len(one[1])):
        lowest = min(of_group.values())
        behind = [rank for rank, number in of_group.items() if number == lowest]
        if len(behind) == 1 and len(of_group) > 1:
            return behind[0]
        if lowest < max(of_group.values()):
            return None
    return None
