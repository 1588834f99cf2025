"""What a run is about: jobs that train, fail and come back, and a service that lives through it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry

from relume.advice import Advice, Mode
from relume.benchmarks.serving import running_job
from relume.clock import ManualClock
from relume.events import LogLine
from relume.ingest.lake import LakeWriter
from relume.ingest.lake.retention import needed_after
from relume.serve.intake.bodies import Body
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.live.metrics import RunnerMetrics
from relume.serve.live.options import RunnerOptions
from relume.serve.live.session import Session
from relume.serve.live.surroundings import Surroundings
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer
from relume.slurm.job import SlurmJob, SlurmNode, SlurmSnapshot

BEGAN = 1_767_323_045_000_000
SECOND = 1_000_000
STATE_SECONDS = 6.0
PUSHED_FOR = f"lab/8@{BEGAN // SECOND}.0"
ERROR = ("[rank1]: Traceback (most recent call last):", "[rank1]: KeyError: 'vocab'")
KILLED = ("srun: error: gpu00007: task 1: Killed",)
PRUNED = 0.5
"""Share of the stories in which the lake is pruned."""
OTHER_ERROR = ("[rank0]: ValueError: the shapes do not match",)


@dataclass(frozen=True, slots=True)
class Moment:
    """How the world is at a time: what is in each log, and when it was written last."""

    now: int
    shown: tuple[SlurmJob, ...]
    pushed: int
    files: dict[str, tuple[bytes, int]]


@dataclass(slots=True)
class World:
    """Time, and what jobs wrote: it goes on whatever happens to the service.

    Attributes
    ----------
    logs
        Folder of the jobs' output.
    shown
        What Slurm shows now.
    pushed
        How many lines an agent has pushed, the one that it is at included.
    """

    logs: Path
    clock: ManualClock = field(default_factory=lambda: ManualClock(BEGAN))
    shown: tuple[SlurmJob, ...] = ()
    pushed: int = 0

    def write(self, job: int, lines: Sequence[str], mode: str = "a") -> None:
        """Let a job print lines; a requeue truncates its output."""
        with (self.logs / f"{job}.out").open(mode, encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    def job(self, number: int, **changes: Any) -> SlurmJob:  # noqa: ANN401 - any field's
        """Return a job as Slurm shows it."""
        fields = {"std_out": str(self.logs / f"{number}.out"), "name": f"train{number}"}
        return replace(running_job(number, BEGAN), **(fields | changes))

    def held(self, number: int, count: int) -> SlurmJob:
        """Return a job that failed and waits to be started for the `count`-th time again."""
        waits = {"state": "PENDING", "reason": "job_requeued_in_held_state", "priority": 0}
        when = {"submit_time": self.clock.now() // SECOND * SECOND, "start_time": None}
        return self.job(number, restart_count=count, nodes=(), exit_code=1, **waits, **when)

    def again(self, number: int, count: int) -> SlurmJob:
        """Return a job that was started again."""
        now = self.clock.now() // SECOND * SECOND
        return self.job(number, restart_count=count, submit_time=now, start_time=now)

    def ended(self, number: int, count: int, state: str) -> SlurmJob:
        """Return a job that is over."""
        code = 0 if state == "COMPLETED" else 1
        when = {"end_time": self.clock.now(), "submit_time": BEGAN, "start_time": BEGAN}
        return self.job(number, restart_count=count, state=state, exit_code=code, **when)

    def kept(self) -> Moment:
        """Return how everything is now, for `back_to`."""
        files = {one.name: (one.read_bytes(), one.stat().st_mtime_ns) for one in _files(self.logs)}
        return Moment(self.clock.now(), self.shown, self.pushed, files)

    def back_to(self, moment: Moment) -> None:
        """Make everything as it was; files stay the same ones, since tails know them."""
        self.clock, files = ManualClock(moment.now), moment.files
        self.shown, self.pushed = moment.shown, moment.pushed
        for path in _files(self.logs):
            if path.name not in files:
                path.write_bytes(b"")
        for name, (data, modified) in files.items():
            path = self.logs / name
            with path.open("r+b") as file:
                file.write(data)
                file.truncate(len(data))
            os.utime(path, ns=(modified, modified))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


class Service:
    """A live run on a data folder, in this process."""

    def __init__(self, data: Path, world: World, analyzer: Analyzer) -> None:
        self.data, self.world, self._analyzer = data, world, analyzer
        self.options = RunnerOptions(
            cluster="lab",
            log_roots=(str(world.logs),),
            watch=WatchSettings(mode=Mode.ACT),
            state_seconds=STATE_SECONDS,
        )
        self.ledger: Ledger
        self.session: Session

    @property
    def lake(self) -> Path:
        """Folder of the lake."""
        return self.data / "lake"

    def start(self) -> None:
        """Begin, or go on from what is on the disk."""
        self.ledger = Ledger.open(sqlite_url(self.data / "ledger.db"))
        around = Surroundings(
            lake=self.lake,
            ledger=self.ledger,
            options=self.options,
            analyzer=self._analyzer,
            clock=self.world.clock,
            metrics=RunnerMetrics(CollectorRegistry()),
        )
        self.session = Session(around)

    def let_go(self) -> None:
        """Close everything as the kernel does for who is gone, or before an end in order."""
        with suppress(AttributeError):
            self.session.close()
        with suppress(AttributeError):
            self.ledger.close()

    def tell(self) -> None:
        """Take what Slurm shows."""
        world = self.world
        names = sorted({node for job in world.shown for node in job.nodes})
        nodes = tuple(
            SlurmNode(node=name, state="ALLOCATED", reason=None, partitions=("main",))
            for name in names
        )
        self.session.take(
            SlurmSnapshot(cluster="lab", taken_at=world.clock.now(), jobs=world.shown, nodes=nodes)
        )

    def step(self) -> None:
        """Look at logs, and judge."""
        self.session.step()

    def push(self) -> None:
        """Take a line that an agent pushes; it sends the same one until it is acknowledged."""
        number, now = self.world.pushed, self.world.clock.now()
        line = LogLine(
            text=f"pushed {number}",
            line=number,
            offset=20 * number,
            file="pushed.log",
            attempt=PUSHED_FOR,
            cluster="lab",
            source="push",
            event_time=now,
        )
        self.session.take_pushed([Body(sender="agent", events=[line])])

    def restart(self) -> None:
        """End in order, and begin again."""
        self.session.finish()
        self.let_go()
        self.start()
        self.tell()

    def prune(self) -> None:
        """End in order, let go of what the lake doesn't need, and begin again."""
        self.session.finish()
        self.let_go()
        with LakeWriter(self.lake, clock=self.world.clock) as lake:
            lake.prune(needed_after(lake.positions) or 0)
        self.start()
        self.tell()

    def advice(self) -> list[Advice]:
        """Return all Advice about attempts that the ledger has."""
        found = []
        for record in self.ledger.attempts(active=None):
            newest = self.ledger.newest(record.attempt)
            while newest is not None:
                found.append(newest)
                before = newest.supersedes
                newest = None if before is None else self.ledger.get(before)
        return sorted(found, key=lambda one: (one.attempt, one.generation))


@dataclass(frozen=True, slots=True)
class Move:
    """What happens in the world, and what the service does then."""

    change: Callable[[World], None]
    act: Callable[[Service], None]


def _passes(world: World, seconds: float = 1.0) -> None:
    world.clock.advance(seconds)


def _prints(world: World, job: int, lines: Sequence[str], mode: str = "a") -> None:
    world.write(job, lines, mode)
    _passes(world)


def _shows(world: World, jobs: Callable[[World], tuple[SlurmJob, ...]]) -> None:
    world.shown = jobs(world)


def says(job: int, *lines: str, mode: str = "a") -> Move:
    """A job prints, a second passes, and the service looks."""
    return Move(partial(_prints, job=job, lines=lines, mode=mode), Service.step)


def shows(jobs: Callable[[World], tuple[SlurmJob, ...]]) -> Move:
    """Slurm shows something else, and the service is told."""
    return Move(partial(_shows, jobs=jobs), Service.tell)


def waits(count: int) -> list[Move]:
    """Seconds pass."""
    return [Move(_passes, Service.step)] * count


def trains(job: int, first: int, last: int) -> list[Move]:
    """A job makes steps."""
    line = "iter {}: loss 3.9, time 1000.00ms"
    return [says(job, line.format(number)) for number in range(first, last + 1)]


def _pushes(world: World) -> None:
    world.pushed += 1
    _passes(world)


def pushes(count: int) -> list[Move]:
    """An agent pushes lines, one after the other."""
    return [Move(_pushes, Service.push)] * count


def nothing(_: World) -> None:
    """Change nothing."""


def story(seed: int) -> list[Move]:
    """Two jobs: one ends well, the other fails twice; between them stops, and a pruned lake.

    How long everything takes, and where the stops are, is drawn.
    """
    draw = random.Random(seed)
    first, second = draw.sample([ERROR, OTHER_ERROR, KILLED], 2)
    steps, later = draw.randint(3, 6), draw.randint(3, 5)
    opening = [
        Move(partial(_prints, job=7, lines=["starting"], mode="w"), Service.tell),
        Move(partial(_prints, job=8, lines=["starting"], mode="w"), Service.step),
        shows(lambda world: (world.job(7), world.job(8))),
    ]
    training = [*trains(7, 1, steps), *pushes(2), *trains(8, 1, draw.randint(1, 3))]
    failing = [
        says(7, *first),
        shows(lambda world: (world.held(7, 1), world.job(8))),
        *waits(draw.randint(2, 4)),
    ]
    returning = [
        says(7, "starting again", mode="w"),
        shows(lambda world: (world.again(7, 1), world.job(8))),
        *trains(7, steps + 1, steps + later),
        *pushes(2),
        *waits(draw.randint(1, 3)),
    ]
    ending = [
        shows(lambda world: (world.shown[0], world.ended(8, 0, "COMPLETED"))),
        *waits(2),
        says(7, *second),
        shows(lambda world: (world.held(7, 2), world.shown[1])),
        *waits(draw.randint(3, 5)),
    ]
    parts = [training, failing, returning, ending]
    for part in draw.sample(parts, 2):
        part.insert(draw.randrange(len(part) + 1), Move(nothing, Service.restart))
    pruning = [Move(nothing, Service.prune)] if draw.random() < PRUNED else []
    return [*opening, *training, *failing, *returning, *pruning, *ending, *waits(2)]
