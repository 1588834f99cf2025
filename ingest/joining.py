"""Which attempts a line of a node's log concerns: those that were on the node at that time.

Kernels and daemons log for everybody: a line belongs to no attempt by itself. The slack is that of
the diagnosis (`relume.models.diagnosis.own`), which looks at each attempt alone and sets aside what
this would not have joined.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import LogLine
from relume.slurm.nodes import END_SLACK_SECONDS, START_SLACK_SECONDS, short_name

__all__ = ["NodeTimes", "Stay", "short_name"]

_START_SLACK = START_SLACK_SECONDS * MICROSECONDS_PER_SECOND
_END_SLACK = END_SLACK_SECONDS * MICROSECONDS_PER_SECOND
_STILL_THERE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Stay:
    """An attempt on its nodes, from `start` to `end` (UTC microseconds).

    An `end` of null is one that hasn't come; with a `start` of null nobody knows when it was, and
    no line is joined to it.
    """

    attempt: str
    nodes: tuple[str, ...]
    start: int | None
    end: int | None = None


@dataclass(slots=True)
class _Stays:
    """The stays on one node, by start; `latest[i]` is the latest end among the first i + 1."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    attempts: list[str] = field(default_factory=list)
    latest: list[int] = field(default_factory=list)


class NodeTimes:
    """Who was on which node at what time.

    Names of nodes count as `short_name` has them. Building takes O(n log n) time and some 100 bytes
    for each attempt and node; a question O(log n), and a step for each attempt that shares the
    node.

    Examples
    --------
    >>> times = NodeTimes([Stay("a", ("n1", "n2"), 0, 100_000_000), Stay("b", ("n2",), 50_000_000)])
    >>> times.at("n2.cluster", 99_000_000), times.at("n1", 170_000_000)
    (('a', 'b'), ())
    """

    def __init__(self, stays: Iterable[Stay]) -> None:
        found: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for stay in stays:
            if stay.start is None:
                continue
            end = _STILL_THERE if stay.end is None else stay.end
            for node in {short_name(node) for node in stay.nodes}:
                found[node].append((stay.start, end, stay.attempt))
        self._nodes = {node: _sorted(known) for node, known in found.items()}

    def at(self, node: str | None, event_time: int | None) -> tuple[str, ...]:
        """Return the attempts that were on `node` at that time, the first to start first.

        Empty when node or time isn't known: what can't be told concerns nobody.
        """
        known = self._nodes.get(short_name(node)) if node is not None else None
        if known is None or event_time is None:
            return ()
        earliest_end = event_time - _END_SLACK
        last = bisect_right(known.starts, event_time + _START_SLACK)
        found = []
        for index in range(last - 1, -1, -1):
            if known.latest[index] < earliest_end:
                break  # and so has everything before
            if known.ends[index] >= earliest_end:
                found.append(known.attempts[index])
        return tuple(reversed(found))

    def join(self, lines: Iterable[LogLine]) -> Iterator[tuple[str, LogLine]]:
        """Yield each line with each attempt that it concerns, in the order of the lines."""
        for line in lines:
            for attempt in self.at(line.node, line.event_time):
                yield attempt, line

    @property
    def nodes(self) -> frozenset[str]:
        """The short names of the nodes that anybody was on."""
        return frozenset(self._nodes)


def _sorted(found: list[tuple[int, int, str]]) -> _Stays:
    found.sort()
    starts, ends, attempts = (list(column) for column in zip(*found, strict=True))
    return _Stays(starts, ends, attempts, list(accumulate(ends, max)))
