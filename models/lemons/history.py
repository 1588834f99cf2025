"""What is known of a node when it comes back from a repair, as features for a model. Pure.

Only what was seen by then: faults of the node and of its fleet, and its repairs.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final

from relume.models.lemons.quarantine import DAY

FEATURES: Final = (
    "faults_7_days",
    "faults_30_days",
    "faults_90_days",
    "faults",
    "kinds",
    "same_kind",
    "days_since_fault_before",
    "days_since_first_fault",
    "repair_days",
    "mean_repair_days",
    "longest_repair_days",
    "fleet_faults_30_days",
)
"""What each place of a vector is. Counts and days are as ``log(1 + x)``: they span decades."""
MAX_FAULTS: Final = 64
"""Faults remembered of a node, the newest ones."""
MAX_FLEET_FAULTS: Final = 10_000
_WINDOWS: Final = (7, 30, 90)


@dataclass(slots=True)
class _Node:
    starts: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    repairs: list[float] = field(default_factory=list)
    first: int | None = None


@dataclass(slots=True)
class NodeHistory:
    """Faults and repairs of a fleet, in the order of their times. Bounded a node.

    Parameters
    ----------
    nodes
        Nodes in service.

    Examples
    --------
    >>> history = NodeHistory(nodes=100)
    >>> history.fault("n1", 0, "GPU")
    >>> history.fault("n1", 20 * DAY, "GPU")
    >>> values = history.returned("n1", 21 * DAY, began=20 * DAY)
    >>> [round(math.expm1(value)) for value in values[: FEATURES.index("kinds")]]
    [1, 2, 2, 2]
    """

    nodes: int
    _of: defaultdict[str, _Node] = field(default_factory=lambda: defaultdict(_Node))
    _fleet: list[int] = field(default_factory=list)

    def fault(self, node: str, at: int, kind: str) -> None:
        """Take a fault (UTC microseconds); `kind` is anybody's word for what broke."""
        known = self._of[node]
        known.first = at if known.first is None else known.first
        known.starts.append(at)
        known.kinds.append(kind)
        self._fleet.append(at)
        del known.starts[:-MAX_FAULTS], known.kinds[:-MAX_FAULTS]
        del self._fleet[:-MAX_FLEET_FAULTS]

    def returned(self, node: str, at: int, *, began: int) -> tuple[float, ...] | None:
        """Take that a node is repaired that was out since `began`; return its features.

        Null for one without a fault, whatever it was repaired for.
        """
        known = self._of.get(node)
        if known is None or known.first is None:
            return None
        starts = known.starts[: bisect_right(known.starts, at)] or known.starts[:1]
        last = starts[-1]
        before = starts[-2] if len(starts) > 1 else None
        known.repairs.append(max(0, at - began) / DAY)
        del known.repairs[:-MAX_FAULTS]
        recent = [len(starts) - bisect_left(starts, at - days * DAY) for days in _WINDOWS]
        fleet = len(self._fleet) - bisect_left(self._fleet, at - 30 * DAY)
        values = (
            *recent,
            len(starts),
            len(set(known.kinds)),
            known.kinds.count(known.kinds[-1]),
            _NEVER_DAYS if before is None else (last - before) / DAY,
            (at - known.first) / DAY,
            known.repairs[-1],
            math.fsum(known.repairs) / len(known.repairs),
            max(known.repairs),
            fleet / self.nodes,
        )
        return tuple(math.log1p(max(0.0, value)) for value in values)


_NEVER_DAYS: Final = 365.0
"""Stands for a node that had no fault before."""
