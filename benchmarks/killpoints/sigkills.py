"""A real `relume serve`, killed again and again while jobs train, fail and come back."""

from __future__ import annotations

import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from relume.advice import Advice, Scope
from relume.benchmarks.killpoints.deaths import landed_lines
from relume.benchmarks.loop.replayed import unlike_replay
from relume.benchmarks.loop.watch import AdviceWatch
from relume.benchmarks.serving import CLUSTER, ServiceProcess, running_job, snapshot_of
from relume.clock import SystemClock
from relume.errors import RelumeError, UnreachableError
from relume.events import LogLine
from relume.ingest.eventlines import encode_event
from relume.slurm.job import SlurmJob

JOBS = 6
STATE_SECONDS = 3.0
MOVE_SECONDS = 0.15
LIVES_SECONDS = (0.05, 1.6)
"""From when it answers to the next kill."""
EARLY_SHARE = 0.2
"""So many kills come while it starts."""
EARLY_SECONDS = (0.1, 2.0)
END_SECONDS = 15.0
"""At the end everything is left to settle."""
PUSHED_FILE = "pushed.log"
PUSH_TOKEN = secrets.token_hex(16)
_TO_FAIL, _TO_RETURN = 12, 5
ERROR = "[rank0]: KeyError: 'vocab {}'"
SECOND = 1_000_000


@dataclass(slots=True)
class _Job:
    """One job: how often it was started again, and what it does now."""

    number: int
    began: int
    count: int = 0
    step: int = 0
    left: int = 0
    is_held: bool = False
    written: Counter[bytes] = field(default_factory=Counter)


@dataclass(slots=True)
class Survived:
    """What became of it; see the measures of the bench."""

    kills: int = 0
    snapshots: int = 0
    advice: int = 0
    pushes: int = 0
    lost_lines: int = 0
    doubled_lines: int = 0
    lost_advice: int = 0
    doubled_advice: int = 0
    unlike: int = 0
    failures: list[str] = field(default_factory=list)


class Jobs:
    """Jobs that fail and come back, as a scheduler shows them and their logs tell."""

    def __init__(self, logs: Path, seed: int, count: int = JOBS) -> None:
        self._logs, self._draw, self._clock = logs, random.Random(seed), SystemClock()
        self._is_over, self._pushes = False, 0
        self._pushed: LogLine | None = None
        now = self._clock.now() // SECOND * SECOND
        self.jobs = [_Job(number, now, left=3 + 2 * number) for number in range(1, count + 1)]

    def move(self) -> None:
        """Let every job print a step, fail, or come back; nobody does after `settle`."""
        if self._is_over:
            return
        for job in self.jobs:
            job.left -= 1
            if job.left > 0 and not job.is_held:
                job.step += 1
                self._print(job, f"iter {job.step}: loss 3.9, time 150.00ms")
            elif job.left <= 0 and not job.is_held:
                self._print(job, ERROR.format(job.count))
                job.is_held, job.left = True, _TO_RETURN
            elif job.left <= 0:
                self._return(job)

    def shown(self) -> list[SlurmJob]:
        """Return them as the scheduler shows them."""
        return [self._shown(job) for job in self.jobs]

    def settle(self) -> None:
        """Let every job be as it is from now on."""
        self._is_over = True

    def push(self, service: ServiceProcess, named: Mapping[str, str]) -> bool:
        """Let an agent of the first job push a line, the same one until it is acknowledged."""
        if self._pushed is None and not self._is_over:
            self._pushed = self._line(named["1"])
        if self._pushed is None:
            return False
        answer = service.client.post(
            "/v1/events",
            content=encode_event(self._pushed),
            headers={"Authorization": f"Bearer {PUSH_TOKEN}"},
        )
        if answer.status_code != httpx2.codes.OK:
            raise UnreachableError("a push", found=answer.text, expected="200")
        self.jobs[0].written[self._pushed.text.encode()] += 1
        self._pushed, self._pushes = None, self._pushes + 1
        return True

    def _line(self, attempt: str) -> LogLine:
        return LogLine(
            text=f"pushed {self._pushes}",
            line=self._pushes,
            offset=20 * self._pushes,
            file=PUSHED_FILE,
            attempt=attempt,
            cluster=CLUSTER,
            source="push",
            event_time=self._clock.now(),
        )

    def written(self) -> dict[str, Counter[bytes]]:
        """Return all lines of each job, whichever attempt printed them."""
        return {str(job.number): job.written for job in self.jobs}

    def _return(self, job: _Job) -> None:
        job.count, job.is_held = job.count + 1, False
        job.began = self._clock.now() // SECOND * SECOND
        job.left = self._draw.randint(_TO_FAIL // 2, _TO_FAIL)
        self._print(job, f"starting for the {job.count}. time")

    def _print(self, job: _Job, line: str) -> None:
        """Add a line: Slurm appends here, so that none is cut off before it was read."""
        with (self._logs / f"{job.number}.out").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        job.written[line.encode()] += 1

    def _shown(self, job: _Job) -> SlurmJob:
        known = {
            "std_out": str(self._logs / f"{job.number}.out"),
            "comment": f'{{"relume": {{"run": "run{job.number}", "max_restarts": 1000}}}}',
        }
        if not job.is_held:
            return running_job(job.number, job.began, restart_count=job.count, **known)
        now = self._clock.now() // SECOND * SECOND
        return running_job(
            job.number,
            now,
            restart_count=job.count + 1,
            state="PENDING",
            reason="job_requeued_in_held_state",
            priority=0,
            nodes=(),
            exit_code=1,
            **known,
        )


def survive(folder: Path, kills: int, seed: int, until: Callable[[], bool]) -> Survived:
    """Kill a service so often, or until it is enough; say what became of what it had taken."""
    told = Survived()
    token = folder.absolute() / "ingest.token"
    token.parent.mkdir(parents=True, exist_ok=True)
    token.write_text(f"{PUSH_TOKEN}\n", encoding="ascii")
    token.chmod(0o600)
    settings = {
        "serve": {
            "mode": "act",
            "state_seconds": STATE_SECONDS,
            "settle_seconds": 2.0,
            "ingest_token_file": str(token),
        }
    }
    with ServiceProcess(folder, settings) as service:
        jobs, draw = Jobs(service.folder / "logs", seed), random.Random(seed)
        with AdviceWatch(service.ledger) as watch:
            while told.kills < kills and not until():
                _live(service, jobs, draw, told)
                told.kills += 1
            service.start()
            _go_on(service, jobs, 1.0, told)
            jobs.settle()
            _go_on(service, jobs, END_SECONDS, told)
            service.stop()
            time.sleep(1.0)
            seen = [one.advice for one in watch.seen()]
        _check(service, jobs, seen, told)
    return told


def _live(service: ServiceProcess, jobs: Jobs, draw: random.Random, told: Survived) -> None:
    """Let the service live for a while, and kill it."""
    if told.kills == 0 or draw.random() > EARLY_SHARE:
        if told.kills:
            service.start()
        _go_on(service, jobs, draw.uniform(*LIVES_SECONDS), told)
    else:
        service.process.start()
        time.sleep(draw.uniform(*EARLY_SECONDS))
    service.kill()


def _go_on(service: ServiceProcess, jobs: Jobs, seconds: float, told: Survived) -> None:
    """Let jobs go on, and tell the service of them."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        jobs.move()
        try:
            named = service.report(snapshot_of(CLUSTER, SystemClock().now(), jobs.shown()))
            told.snapshots += 1
            told.pushes += jobs.push(service, named)
        except (RelumeError, httpx2.TransportError) as error:
            told.failures.append(f"not taken: {error}")
        time.sleep(MOVE_SECONDS)


def _check(service: ServiceProcess, jobs: Jobs, seen: list[Advice], told: Survived) -> None:
    """Compare what was written with what landed, and what was advised with a replay."""
    landed: dict[str, Counter[bytes]] = {}
    for attempt, lines in landed_lines(service.lake).items():
        number = attempt.partition("/")[2].partition("@")[0]
        landed.setdefault(number, Counter()).update(lines)
    for number, written in jobs.written().items():
        found = landed.get(number, Counter())
        lost, doubled = written - found, found - written
        told.lost_lines += lost.total()
        told.doubled_lines += doubled.total()
        if lost or doubled:
            told.failures.append(f"job {number}: {dict(lost)} lost, {dict(doubled)} doubled")
    names = Counter((one.attempt, one.generation) for one in seen if one.scope is Scope.ATTEMPT)
    told.advice = len(names)
    told.doubled_advice += names.total() - len(names)
    live = [one for one in seen if one.scope is Scope.ATTEMPT]
    unlike = unlike_replay(service.configuration, service.lake, live)
    told.lost_advice += sum("only in the replay" in one for one in unlike)
    told.doubled_advice += sum("only live" in one for one in unlike)
    told.unlike += sum("another" in one for one in unlike)
    told.failures += unlike
