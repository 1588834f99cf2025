"""A cluster told second by second: many jobs, their nodes, logs and ends, as they would land."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from relume.advice import Advice, Mode, Operation, Scope, comparable
from relume.events import Actor, NodeEvent, SchedulerEvent, SourceStatus, Tick
from relume.ingest.blocks import blocks_of_lines
from relume.ingest.lake import LakeReader, LakeWriter
from relume.ingest.lake.batches import Landing, LineBatch
from relume.serve.backtest.logs import Timed
from relume.serve.backtest.replay import ticked
from relume.serve.live.judge import Judge
from relume.serve.live.naming import LOG_ENDED, log_source
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer
from relume.verdict import Health

START = 1_767_323_040
SECOND = 1_000_000
MINUTE = 60
XID = "kernel: NVRM: Xid (PCI:0000:1b:00): 79, pid=4242, name=python, GPU has fallen off the bus."
KILLED = "srun: error: {node}: task 1: Killed"
RESTARTS = frozenset({Operation.RESTART, Operation.RESTART_EXCLUDING})


@cache
def analyzer() -> Analyzer:
    return Analyzer()


def at(second: float) -> int:
    return round((START + second) * SECOND)


def clock(second: float, form: str = "%Y-%m-%dT%H:%M:%S+00:00") -> str:
    return datetime.fromtimestamp(START + second, UTC).strftime(form)


@dataclass
class Job:
    """One attempt of one user's run on some nodes; times are seconds since the story began."""

    cluster: Cluster
    number: int
    nodes: tuple[str, ...]
    user: str
    run: str
    attempt_count: int = 0
    fields: dict[str, Any] = field(default_factory=dict)
    step: int = 0

    @property
    def attempt(self) -> str:
        return f"lab/{self.number}@{START}.{self.attempt_count}"

    def start(self, second: float) -> Job:
        self.cluster.land(second, self._event("RUNNING", second))
        return self

    def train(self, begin: int, end: int, every: int = 5) -> Job:
        """Print a step every few seconds, from `begin` until before `end`."""
        for second in range(begin, end, every):
            self.step += 1
            self.say(second, f"iter {self.step}: loss 3.9, time {every * 1000}.00ms")
        return self

    def say(self, second: float, *lines: str) -> Job:
        self._land_lines(second, lines, attempt=self.attempt)
        return self

    def kernel(self, second: float, node: str, *, clock_second: float | None = None) -> Job:
        """Let the kernel of a node say that it lost a GPU, by its clock, which may be wrong."""
        when = second if clock_second is None else clock_second
        text = f"{clock(when, '%b %e %H:%M:%S')} {node} {XID}"
        self._land_lines(second, [text], stream="kernel", node=node, file=f"/kernel/{node}.log")
        return self

    def end(self, second: float, state: str = "FAILED", **fields: Any) -> Job:
        """End, and let the log be read up a second later."""
        code = 1 if state in {"FAILED", "REQUEUED"} else 0
        event = self._event(state, second, **({"exit_code": code} | fields))
        self.cluster.land(second, event)
        self.cluster.land(second + 1, self.health(second + 1, Health.HEALTHY, LOG_ENDED))
        return self

    def health(self, second: float, status: Health, reason: str | None) -> SourceStatus:
        return SourceStatus(
            source=log_source(self.attempt),
            cluster="lab",
            event_time=at(second),
            observed_at=at(second),
            status=status,
            reason=reason,
        )

    def again(self, nodes: Iterable[str] | None = None, **fields: Any) -> Job:
        """Return the next attempt of the same job, on other nodes where they are named."""
        return Job(
            self.cluster,
            self.number,
            tuple(nodes or self.nodes),
            self.user,
            self.run,
            self.attempt_count + 1,
            self.fields | fields,
            self.step,
        )

    def _event(self, state: str, second: float, **fields: Any) -> SchedulerEvent:
        values: dict[str, Any] = {
            "source": "slurm",
            "cluster": "lab",
            "event_time": at(second),
            "observed_at": at(second),
            "attempt": self.attempt,
            "state": state,
            "nodes": self.nodes,
            "num_nodes": len(self.nodes),
            "user": self.user,
            "name": self.run,
            "partition": "gpu",
            "comment": f'{{"relume": {{"run": "{self.run}"}}}}',
        }
        return SchedulerEvent(**(values | self.fields | fields))

    def _land_lines(self, second: float, lines: Sequence[str], **fields: Any) -> None:
        file = fields.pop("file", f"/jobs/{self.number}-{self.attempt_count}.out")
        for block in blocks_of_lines(lines, file):
            batch = LineBatch(block=block, observed_at=at(second), cluster="lab", **fields)
            self.cluster.land(second, batch)


class Cluster:
    """What lands of a cluster `lab` with so many nodes, and what is advised about it."""

    def __init__(self, nodes: int = 64, **settings: Any) -> None:
        self.nodes = [f"gpu-a{number:02}" for number in range(1, nodes + 1)]
        self.settings = WatchSettings(**({"mode": Mode.ACT} | settings))
        self._landings: list[tuple[int, int, Landing]] = []
        self._order, self._numbers = count(), count(1)
        for node in self.nodes:
            self.node(0, node, "IDLE")

    def land(self, second: float, landing: Landing) -> None:
        heapq.heappush(self._landings, (at(second), next(self._order), landing))

    def node(
        self,
        second: float,
        node: str,
        state: str,
        reason: str | None = None,
        actor: Actor | None = None,
    ) -> None:
        self.land(
            second,
            NodeEvent(
                source="slurm",
                cluster="lab",
                event_time=at(second),
                observed_at=at(second),
                node=node,
                state=state,
                reason=reason,
                actor=actor,
                partitions=("gpu",),
            ),
        )

    def job(self, *nodes: str, user: str = "ada", run: str | None = None, **fields: Any) -> Job:
        number = next(self._numbers)
        return Job(self, number, nodes, user, run or f"run{number}", fields=fields)

    def jobs(self, number: int, size: int = 2, *, users: int = 1, first: int = 0) -> list[Job]:
        """Return jobs side by side, each on nodes of its own; of several users in turn."""
        taken = self.nodes[first:]
        return [
            self.job(*taken[n * size : (n + 1) * size], user=f"user{n % users}")
            for n in range(number)
        ]

    def landings(self) -> list[Timed]:
        return [
            (time, landing) for time, _, landing in sorted(self._landings, key=lambda one: one[:2])
        ]

    def told(self, skips: tuple[float, float] | None = None) -> Told:
        """Judge it all, a tick a second; none from one second on until another one, if named."""
        judge = Judge(analyzer(), self.settings)
        taken: list[Landing] = []
        advice: list[Advice] = []
        for landing in ticked(self.landings(), judge, "lab"):
            if isinstance(landing, Tick) and skips is not None:
                begin, end = map(at, skips)
                if begin <= landing.event_time < end:
                    continue
            taken.append(landing)
            advice += judge.take(landing)
        return Told(advice, taken, judge)


@dataclass
class Told:
    """The Advice of a story, in its order."""

    advice: list[Advice]
    landings: list[Landing]
    judge: Judge

    def about(self, job: Job) -> list[Advice]:
        """What was decided about an attempt; a look at a silence is no decision."""
        mine = [one for one in self.advice if one.attempt == job.attempt]
        return [one for one in mine if one.scope is Scope.ATTEMPT and one.rule != "suspicious_gap"]

    def last(self, job: Job) -> Operation | None:
        told = self.about(job)
        return told[-1].operation if told else None

    def settled(self, job: Job) -> list[str]:
        return [one.operation.value for one in self.about(job) if one.settled]

    def about_nodes(self) -> list[tuple[str, str]]:
        return [
            (one.exclude_nodes[0], one.operation.value)
            for one in self.advice
            if one.scope is Scope.NODE
        ]

    def about_cluster(self) -> list[str]:
        return [one.operation.value for one in self.advice if one.scope is Scope.CLUSTER]

    @property
    def faults(self) -> list[tuple[str, str | None]]:
        """What the ledger of faulty nodes counts: the node, and the attempt that failed by it."""
        fleet = self.judge.fleets["lab"]
        return [(one.node, one.attempt) for one in fleet.lemons.faults]

    @property
    def excluded(self) -> set[str]:
        return {node for one in self.advice for node in one.exclude_nodes}

    def restarts(self, begin: float, end: float) -> list[Advice]:
        """The settled Advice to restart from one second on, until before another."""
        return [
            one
            for one in self.advice
            if one.settled and one.operation in RESTARTS and at(begin) <= one.created_at < at(end)
        ]

    def is_same_from_a_lake(self, cluster: Cluster, folder: Path) -> bool:
        """Whether a lake of what landed, read back, is told the same to the bit."""
        with LakeWriter(folder) as lake:
            lake.append(self.landings)
            lake.commit({})
        again = Judge(analyzer(), cluster.settings).take_all(LakeReader(folder).landings())
        return [*map(comparable, again)] == [*map(comparable, self.advice)]
