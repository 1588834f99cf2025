"""Run a cluster event by event: runs start, fail, are looked after, and start again.

One truth for all operators: the faults, and the draws about each, come from the seed alone. What an
operator does decides which of them meet whom. Times are seconds of work and of the clock.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from relume.benchmarks.simulator.faults import DAY, NO_NODE, FaultTable
from relume.benchmarks.simulator.nodes import Nodes
from relume.benchmarks.simulator.operators import Operator
from relume.benchmarks.simulator.parameters import Parameters
from relume.benchmarks.simulator.recording import Ended, Recording, Stay
from relume.benchmarks.simulator.runs import Failure, Pace, Run, RunPlan
from relume.features.goodput.formulas import restart_pays

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DRAWS = 64
"""Draws for each fault; a run that fails more often by the same one takes them again."""


@dataclass(slots=True)
class Counts:
    """What happened, beside what a recording holds.

    `futile`: failures of restarts by the very fault that ended the attempt before.
    """

    failures: int = 0
    futile: int = 0
    wrong_exclusions: int = 0
    false_alarms: int = 0
    stops: int = 0
    preempted: int = 0


@dataclass(slots=True)
class Cluster:
    """A cluster in which `operator` looks after runs.

    Parameters
    ----------
    parameters
        What it is made of.
    nodes
        Its nodes.
    faults
        What will go wrong.
    operator
        Who looks after the runs.
    seed
        Of all draws that aren't in `faults`.
    preempts
        Whether a run that starts again takes nodes from smaller ones that came later.
    """

    parameters: Parameters
    nodes: Nodes
    faults: FaultTable
    operator: Operator
    seed: int
    preempts: bool = False
    counts: Counts = field(default_factory=Counts)
    recording: Recording = field(default_factory=Recording)
    _events: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)
    _planned: int = 0
    _runs: list[Run] = field(default_factory=list)
    _queue: list[Run] = field(default_factory=list)
    _draws: dict[int, list[float]] = field(default_factory=dict)

    def run(self, plans: list[RunPlan], days: float) -> Recording:
        """Run `plans` for `days`; return what was recorded of them."""
        end = days * DAY
        for number, plan in enumerate(plans):
            run = Run(plan, eligible=plan.arrival)
            self._runs.append(run)
            self._plan(plan.arrival, partial(self._enqueue, run))
            self._plan_troubles(run, np.random.default_rng([self.seed, 2, number]), end)
        for number, at in enumerate(self.faults.at.tolist()):
            self._plan(at, partial(self._fault, number))
        while self._events and self._events[0][0] < end:
            now, _, act = heapq.heappop(self._events)
            act(now)
        for run in self._runs:
            if run.is_running:
                run.advance(end)
                self._record(run, end, Ended.RUNNING)
        return self.recording

    def _plan(self, at: float, act: Callable[[float], None]) -> None:
        if math.isfinite(at):
            self._planned += 1
            heapq.heappush(self._events, (at, self._planned, act))

    def _plan_troubles(self, run: Run, rng: np.random.Generator, end: float) -> None:
        """Plan slow times of a run, and false alarms about it, from its arrival to the end."""
        slow, left = self.parameters.stragglers, max(0.0, end - run.plan.arrival)
        for at in rng.uniform(run.plan.arrival, end, rng.poisson(slow.per_job_day * left / DAY)):
            of_node, long = rng.uniform() < slow.node_share, rng.exponential(slow.mean_seconds)
            self._plan(float(at), partial(self._slow, run, float(long), bool(of_node)))
        rate = self.operator.false_alarms_per_job_day
        for at in rng.uniform(run.plan.arrival, end, rng.poisson(rate * left / DAY)):
            self._plan(float(at), partial(self._false_alarm, run))

    # --- attempts ------------------------------------------------------------------------------

    def _enqueue(self, run: Run, now: float) -> None:
        run.eligible = now
        self._queue.append(run)
        self._schedule(now)

    def _schedule(self, now: float) -> None:
        """Start whatever fits, those that wait longest first."""
        waiting = []
        for run in self._queue:
            if self.preempts and run.attempt >= 0:
                self._make_room(run, now)
            nodes = self.nodes.find(run.plan.nodes)
            if nodes is None:
                waiting.append(run)
            else:
                self._start(run, nodes, now)
        self._queue = waiting

    def _make_room(self, run: Run, now: float) -> None:
        """Preempt smaller runs that came later: the second-order loss of a failure."""
        smaller = [
            other
            for other in self._runs
            if other.is_working
            and other.plan.nodes < run.plan.nodes
            and other.plan.arrival > run.plan.arrival
        ]
        if run.plan.nodes > self.nodes.free + sum(other.plan.nodes for other in smaller):
            return
        for other in sorted(smaller, key=lambda other: -other.plan.arrival):
            if run.plan.nodes <= self.nodes.free:
                return
            self.counts.preempted += 1
            self._requeue(other, now, Ended.PREEMPTED)

    def _start(self, run: Run, nodes: NDArray[np.int64], now: float) -> None:
        run.start(nodes, now, self.parameters.run.restart_seconds)
        self.nodes.give(nodes, run)
        self._plan_done(run)
        if now >= run.mended_at:
            run.repeats_at = None
        if run.repeats_at is not None:
            again = partial(self._fail_again, run, run.attempt, NO_NODE, run.last_fault)
            self._plan(run.when(run.repeats_at), again)
        for node, fault in self.nodes.broken(nodes):
            mean = self.parameters.faults.fails_again_mean_seconds
            delay = -math.log1p(-self._draw(fault, run.attempt)) * mean
            again = partial(self._fail_again, run, run.attempt, node, fault)
            self._plan(run.first + delay, again)

    def _plan_done(self, run: Run) -> None:
        self._plan(run.when(run.plan.work), partial(self._done, run, run.attempt))

    def _done(self, run: Run, attempt: int, now: float) -> None:
        if not (run.is_in(attempt) and run.is_working):
            return
        run.advance(now)
        if run.work < run.plan.work - 1e-3:
            return  # planned at another pace
        self._stop(run, now, Ended.DONE)
        self._schedule(now)

    def _requeue(self, run: Run, now: float, how: Ended = Ended.REQUEUED) -> None:
        """End a healthy attempt, and put its run into the queue again."""
        run.advance(now)
        self._stop(run, now, how)
        self._plan(now, partial(self._enqueue, run))

    def _stop(self, run: Run, now: float, how: Ended) -> None:
        self._record(run, now, how)
        nodes = run.end(self.parameters.run.checkpoint_seconds)
        for node in self.nodes.release(nodes):
            self._take_out(node, self._repair(self.nodes.fault_of(node)), now)

    # --- failures ------------------------------------------------------------------------------

    def _fault(self, number: int, now: float) -> None:
        faults, node = self.faults, int(self.faults.node[number])
        if node == NO_NODE:  # it strikes whoever runs on a node drawn at random
            run = self.nodes.owner(int(self._draw(number, -1) * len(self.nodes)))
        else:
            run = self.nodes.owner(node)
            if run is None:
                self.recording.idle.append(Failure(number, node, now))
                self._take_out(node, self._repair(number), now)  # by a health check
                return
            loses_node = self.parameters.causes[int(faults.cause[number])].loses_node
            if faults.is_persistent[number] or loses_node:
                self.nodes.breaks(node, number)
            if loses_node:
                self.nodes.leaves(node)
        if run is None or not run.is_working:
            return
        self._fail(run, node, number, now)
        if faults.repeats[number]:
            run.repeats_at, run.mended_at = run.work, now + self.parameters.kinds.mend_seconds

    def _fail_again(self, run: Run, attempt: int, node: int, fault: int, now: float) -> None:
        is_mended = (
            run.repeats_at is None if node == NO_NODE else self.nodes.fault_of(node) != fault
        )
        if run.is_in(attempt) and run.is_working and not is_mended:
            self.counts.futile += 1
            self._fail(run, node, fault, now)

    def _fail(self, run: Run, node: int, fault: int, now: float) -> None:
        """Stop the run's progress at `now`; its end comes when somebody notices."""
        self.counts.failures += 1
        run.advance(now)
        run.fail(Failure(fault, node, now))
        seconds = self._seconds_to_notice(run, fault)
        self.recording.incidents.append((run.attempt_name, now, now + seconds))
        end = partial(self._end_failed, run, run.attempt, node, fault)
        self._plan(now + seconds + self.operator.act, end)
        if node != NO_NODE and self.nodes.fault_of(node) == fault:
            self._plan(now + self.operator.drains_after, partial(self._drain, node, fault))

    def _seconds_to_notice(self, run: Run, fault: int) -> float:
        operator, tries = self.operator, 3 * run.attempt
        delay = operator.hang if self.faults.is_hang[fault] else operator.crash
        seconds = delay.at(self._draw(fault, tries))
        if self._draw(fault, tries + 1) >= operator.recall:
            seconds = max(seconds, operator.missed_seconds)
        if self.parameters.causes[int(self.faults.cause[fault])].loses_node:
            return min(seconds, self.parameters.run.node_timeout_seconds)
        return seconds

    def _end_failed(self, run: Run, attempt: int, node: int, fault: int, now: float) -> None:
        if not run.is_in(attempt):
            return
        nodes, draw = run.nodes, self._draw(fault, 3 * attempt + 2)
        away = self.parameters.run.check_seconds
        if node != NO_NODE and self.nodes.fault_of(node) == fault:
            away = self._repair(fault)
        self._stop(run, now, Ended.FAILED)
        if node != NO_NODE and draw < self.operator.names_node:
            self._take_out(node, away, now)
        elif nodes is not None and draw >= 1 - self.operator.blames_innocent:
            self.counts.wrong_exclusions += 1
            innocent = int(nodes[0] if nodes[0] != node else nodes[-1])
            self._take_out(innocent, self.parameters.run.check_seconds, now)
        stops_at = self.operator.stops_at
        if run.repeats_at is not None and stops_at is not None and run.repeats >= stops_at:
            self.counts.stops += 1
            self._plan(max(now, run.mended_at), partial(self._enqueue, run))
        else:
            self._enqueue(run, now)

    def _drain(self, node: int, fault: int, now: float) -> None:
        """People take a broken node out; a run on it goes on until it fails by it."""
        if self.nodes.fault_of(node) == fault and not self._take_out(
            node, self._repair(fault), now
        ):
            self.nodes.leaves(node)

    def _take_out(self, node: int, seconds: float, now: float) -> bool:
        is_out = self.nodes.take_out(node)
        if is_out:
            self._plan(now + seconds, partial(self._bring_back, node))
        return is_out

    def _bring_back(self, node: int, now: float) -> None:
        self.nodes.bring_back(node)
        self._schedule(now)

    # --- slow times and false alarms -----------------------------------------------------------

    def _slow(self, run: Run, seconds: float, of_node: bool, now: float) -> None:  # noqa: FBT001 - of a partial
        if not run.is_working or now < run.first or run.factor > 1:
            return
        slow = self.parameters.stragglers
        factor = slow.node_factor if of_node else slow.factor
        unsaved = (run.work_at(now) - run.saved) % self.parameters.run.checkpoint_seconds
        lost = self.parameters.run.restart_seconds + unsaved
        pays = restart_pays(slowdown=factor, left_seconds=seconds, restart_seconds=lost)
        if of_node and self.operator.knows_stragglers and pays:
            self._requeue(run, now)
            return
        self._change_pace(run, Pace(now, factor, of_node))
        self._plan(now + seconds, partial(self._fast_again, run, run.attempt))

    def _fast_again(self, run: Run, attempt: int, now: float) -> None:
        if run.is_in(attempt) and run.is_working:
            self._change_pace(run, Pace(now, 1.0, of_node=False))

    def _change_pace(self, run: Run, pace: Pace) -> None:
        run.advance(pace.at)
        self.recording.steps.append((run.attempt_name, pace.at, run.work))
        run.factor = pace.factor
        run.paces.append(pace)
        self._plan_done(run)

    def _false_alarm(self, run: Run, now: float) -> None:
        if run.is_working and now > run.first:
            self.counts.false_alarms += 1
            self._requeue(run, now)

    # --- what is recorded, and drawn -----------------------------------------------------------

    def _record(self, run: Run, now: float, how: Ended) -> None:
        if run.nodes is None:
            return
        stay = Stay(
            run=run.plan.name,
            number=run.attempt,
            nodes=run.nodes,
            submitted=run.plan.arrival,
            eligible=run.eligible,
            started=run.started,
            first=run.first,
            end=now,
            ended=how,
            saved=run.saved,
            failure=run.failure,
            paces=tuple(run.paces),
        )
        self.recording.stays.append(stay)
        if run.since > run.first:
            self.recording.steps.append((stay.attempt_name, run.first, run.saved))
            self.recording.steps.append((stay.attempt_name, run.since, run.work))

    def _repair(self, fault: int) -> float:
        return float(self.faults.repair[fault])

    def _draw(self, fault: int, number: int) -> float:
        """Return a draw about a fault: the same for every operator, whoever it meets and when."""
        drawn = self._draws.get(fault)
        if drawn is None:
            rng = np.random.default_rng([self.seed, 1, fault])
            drawn = self._draws[fault] = rng.uniform(size=_DRAWS).tolist()
        return drawn[number % _DRAWS]
