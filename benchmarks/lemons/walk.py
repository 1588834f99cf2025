"""Walk forward through a trace of faults with a rule, and count what it did.

A node that is held meets no job, so a fault of it then is *avoided*, and the rule doesn't see it:
neither the fault nor its repair teach it anything. Node-days in repair are out of service and count
on neither side. Where a hold has no end yet, it lasts until the rule lets the node go.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from relume.benchmarks.corpora.infinitehbd import DAY_MICROS, Fault, Trace
from relume.benchmarks.lemons.rules import Held, Rule

REFAULT_DAYS = 60
_FAULT, _RETURN = 0, 1


@dataclass(slots=True)
class Walked:
    """What a rule did from `start` to the end of the trace.

    Attributes
    ----------
    flags
        Times at which a node was held.
    refaults
        Those after whose fault the node had another one within 60 days.
    avoided, faults
        Faults of held nodes; all faults.
    held_days, service_days
        Node-days held; node-days in service, held or not.
    """

    flags: int = 0
    refaults: int = 0
    avoided: int = 0
    faults: int = 0
    held_days: float = 0.0
    service_days: float = 0.0


@dataclass(slots=True)
class _Walk:
    trace: Trace
    start: int
    starts: dict[str, list[int]]
    counts: Walked = field(default_factory=Walked)
    open: dict[str, Held] = field(default_factory=dict)

    def hold(self, held: Held, fault: Fault) -> None:
        if held.node in self.open:
            return
        self.open[held.node] = held
        if fault.start >= self.start:
            self.counts.flags += 1
            self.counts.refaults += self._faults_again(fault)

    def let_go(self, node: str, at: int) -> None:
        held = self.open.pop(node)
        last = round(self.trace.days * DAY_MICROS)
        begin, end = max(held.start, self.start), min(at, last)
        self.counts.held_days += max(0, end - begin) / DAY_MICROS

    def is_held(self, node: str, at: int) -> bool:
        held = self.open.get(node)
        if held is not None and held.end is not None and held.end < at:
            self.let_go(node, held.end)
            return False
        return held is not None and held.start < at

    def _faults_again(self, fault: Fault) -> bool:
        starts = self.starts[fault.node]
        place = bisect_right(starts, fault.start)
        return place < len(starts) and starts[place] <= fault.start + REFAULT_DAYS * DAY_MICROS


def walk(trace: Trace, rule: Rule, *, from_day: float = 0.0) -> Walked:
    """Walk `rule` through the whole trace; count from `from_day` on."""
    starts: dict[str, list[int]] = defaultdict(list)
    for fault in trace.faults:
        starts[fault.node].append(fault.start)
    state = _Walk(trace, round(from_day * DAY_MICROS), starts)
    counts = state.counts
    queue = [(fault.start, _FAULT, number) for number, fault in enumerate(trace.faults)]
    heapq.heapify(queue)
    repair_days, last = 0.0, round(trace.days * DAY_MICROS)
    while queue:
        at, what, number = heapq.heappop(queue)
        fault = trace.faults[number]
        if what == _FAULT:
            counts.faults += at >= state.start
            if state.is_held(fault.node, at):
                counts.avoided += at >= state.start
                continue
            repair_days += max(0, fault.end - max(at, state.start)) / DAY_MICROS
            for held in rule.fault(fault):
                state.hold(held._replace(start=max(held.start, fault.end)), fault)
            if fault.end < last:
                heapq.heappush(queue, (fault.end, _RETURN, number))
        else:
            holds, over = rule.returned(fault)
            for node, end in over:
                state.let_go(node, end)
            for held in holds:
                state.hold(held, fault)
    for node, held in list(state.open.items()):
        state.let_go(node, last if held.end is None else held.end)
    counts.service_days = trace.nodes * (trace.days - from_day) - repair_days
    return counts
