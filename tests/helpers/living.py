"""A live run by hand: real files, lake and ledger; the scheduler's snapshots and the clock are ours."""

from __future__ import annotations

import os
import pwd
from functools import cache
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from controlling import SECOND, T0, make_job
from relume.advice import Advice, Mode, Scope, comparable
from relume.clock import ManualClock
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.serve.ledger import AttemptRecord, Ledger, sqlite_url
from relume.serve.live.metrics import RunnerMetrics
from relume.serve.live.options import RunnerOptions
from relume.serve.live.replay import replay, replay_all
from relume.serve.live.session import Session
from relume.serve.live.surroundings import Surroundings
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer
from relume.slurm.job import SlurmJob, SlurmNode, SlurmSnapshot

USER = pwd.getpwuid(os.getuid()).pw_name


@cache
def analyzer() -> Analyzer:
    return Analyzer()


def aftermath_of(ledger: Ledger) -> list[object]:
    """All incidents, newest first, then all outcomes."""
    return [*ledger.incidents(), *ledger.outcomes()]


class Live:
    """One cluster `lab`, whose job 7 writes to `out`; sessions may come and go."""

    def __init__(self, path: Path, *, ledger: Ledger | None = None, **options: Any) -> None:
        self.path = path
        self.out = path / "logs" / "job.out"
        self.out.parent.mkdir(parents=True)
        self.kernel = path / "kernel"
        self.clock = ManualClock(T0)
        self.ledger = ledger or Ledger.open(sqlite_url(path / "ledger.db"))
        self.options = RunnerOptions(
            log_roots=(str(path / "logs"),),
            kernel_logs=(str(self.kernel / "{node}.log"),),
            watch=WatchSettings(mode=Mode.ACT),
            **options,
        )
        self.registry = CollectorRegistry()
        self.around = Surroundings(
            lake=path / "lake",
            ledger=self.ledger,
            options=self.options,
            analyzer=analyzer(),
            clock=self.clock,
            metrics=RunnerMetrics(self.registry),
        )
        self.session = Session(self.around)
        self.step = 0

    def restart(self) -> None:
        """End the service as a kill does, nothing flushed, and start it again."""
        self.session.close()
        self.session = Session(self.around)

    def close(self) -> None:
        self.session.close()
        self.ledger.close()

    def job(self, **changes: Any) -> SlurmJob:
        return make_job(**({"user": USER, "std_out": str(self.out)} | changes))

    def snapshot(self, *jobs: SlurmJob, nodes: tuple[SlurmNode, ...] = ()) -> SlurmSnapshot:
        return SlurmSnapshot(cluster="lab", taken_at=self.clock.now(), jobs=jobs, nodes=nodes)

    def tell(self, *jobs: SlurmJob, nodes: tuple[SlurmNode, ...] = ()) -> dict[str, str]:
        return self.session.take(self.snapshot(*jobs, nodes=nodes)).attempts

    def session_step(self) -> int:
        return self.session.step()

    def write(self, *lines: str, mode: str = "a") -> None:
        with self.out.open(mode) as file:
            file.write("".join(f"{line}\n" for line in lines))

    def tick(self, seconds: int = 1) -> None:
        for _ in range(seconds):
            self.clock.advance(1)
            self.session.step()

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.step += 1
            self.write(f"iter {self.step}: loss 3.9, time 1000.00ms")
            self.tick()

    def end_of(self, count: int, state: str = "FAILED", **changes: Any) -> SlurmJob:
        now = self.clock.now()
        fields = {"state": state, "end_time": now, "exit_code": 1, "restart_count": count}
        return self.job(**(fields | changes))

    def held(self, count: int, **changes: Any) -> SlurmJob:
        """Return job 7 as the helper leaves it: attempt `count` waits, the one before failed."""
        fields: dict[str, Any] = {
            "state": "PENDING",
            "reason": "job_requeued_in_held_state",
            "priority": 0,
            "restart_count": count,
            "submit_time": self.clock.now() // SECOND * SECOND,
            "start_time": None,
            "nodes": (),
            "exit_code": 1,
        }
        return self.job(**(fields | changes))

    def runs(self, count: int, **changes: Any) -> SlurmJob:
        now = self.clock.now() // SECOND * SECOND
        fields = {"restart_count": count, "submit_time": now, "start_time": now}
        return self.job(**(fields | changes))

    def advice(self) -> list[tuple[str, int, str, bool]]:
        """What the ledger has, generation by generation: attempt, number, operation, settled."""
        return [
            (one.attempt.rpartition("@")[2], one.generation, one.operation.value, one.settled)
            for one in self.written()
        ]

    def decided(self) -> list[tuple[str, int, str, bool]]:
        """The same without closer looks at silences."""
        looks = {one.advice_id for one in self.written() if one.rule == SUSPECTED_HANG_RULE}
        told = zip(self.written(), self.advice(), strict=True)
        return [words for one, words in told if one.advice_id not in looks]

    def written(self) -> list[Advice]:
        found = []
        for record in self.ledger.attempts(active=None):
            newest = self.ledger.newest(record.attempt)
            while newest is not None:
                found.append(newest)
                newest = None if newest.supersedes is None else self.ledger.get(newest.supersedes)
        return sorted(found, key=lambda one: (one.attempt, one.generation))

    def record(self, count: int) -> AttemptRecord:
        found = self.ledger.get_attempt(f"7-{count}")
        assert found is not None
        return found

    def aftermath(self) -> list[object]:
        """What the ledger tells of incidents and outcomes."""
        return aftermath_of(self.ledger)

    def aftermath_replayed(self) -> list[object]:
        """The same, of the lake judged anew and written into a new ledger."""
        self.session.flush()
        with Ledger.open(sqlite_url(self.path / "again.db")) as ledger:
            for one in replay_all(self.path / "lake", self.options, analyzer()):
                ledger.write(one)
            return aftermath_of(ledger)

    def replayed(self, scope: Scope = Scope.ATTEMPT) -> list[object]:
        """The lake judged anew, in the form that is compared."""
        self.session.flush()
        every = replay(self.path / "lake", self.options, analyzer())
        advice = [one for one in every if one.scope is scope]
        return [
            comparable(one) for one in sorted(advice, key=lambda one: (one.attempt, one.generation))
        ]
