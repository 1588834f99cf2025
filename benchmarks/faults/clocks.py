"""The clock jumps while a healthy job trains: nobody is called hung, time never goes back.

The clock is ours (`relume.clock.Clock`), not the machine's: setting that takes root and disturbs
everybody else, and a library that fakes it isn't there. All else is the live session itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from prometheus_client import CollectorRegistry

from relume.benchmarks.faults.found import Found
from relume.benchmarks.serving.jobs import running_job, snapshot_of
from relume.benchmarks.serving.service import CLUSTER
from relume.events import Tick
from relume.ingest.lake import LakeReader
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.live.metrics import RunnerMetrics
from relume.serve.live.options import RunnerOptions
from relume.serve.live.session import Session
from relume.serve.live.surroundings import Surroundings
from relume.serve.offline import Analyzer
from relume.slurm.job import SlurmJob
from relume.verdict import Kind

SECOND = 1_000_000
BEGIN = 1_772_000_000 * SECOND
JUMPS = (3600.0, -3600.0, 86_400.0, -90_000.0, 600.0)
"""Seconds by which the clock is moved, one after the other."""
TO_SETTLE = 30
"""Seconds after the crash in which it must be told of."""
STEPS = 120
"""Of the job, one a second, between two jumps."""


class JumpingClock:
    """A clock by hand that can be set, as people and NTP set clocks."""

    def __init__(self) -> None:
        self._now, self._passed = BEGIN, 0

    def now(self) -> int:
        """Return the time that it shows, UTC microseconds."""
        return self._now

    def steady(self) -> int:
        """Return the microseconds that have passed, however it was set."""
        return self._passed

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self._passed += int(seconds * SECOND)
        self._now += int(seconds * SECOND)

    def jump(self, seconds: float) -> None:
        """Set it, while no time passes."""
        self._now += int(seconds * SECOND)


def jumping_clock(folder: Path, jumps: tuple[float, ...] = JUMPS, steps: int = STEPS) -> Found:
    """Train through jumps of the clock, then crash: only the crash is told of."""
    found, clock = Found("clock_jump"), JumpingClock()
    log = folder / "logs" / "job.log"
    log.parent.mkdir(parents=True)
    paths = {"std_out": str(log), "work_dir": str(log.parent)}
    with _session(folder, clock) as session:
        running = running_job(1, BEGIN, **paths)
        for jump in (0.0, *jumps):
            clock.jump(jump)
            _train(session, clock, running, steps)
        before = _alarms(session)
        _write(log, "RuntimeError: CUDA error: an illegal memory access was encountered")
        ended = {"state": "FAILED", "exit_code": 1, "end_time": clock.now()}
        over = running_job(1, BEGIN, **paths, **ended)
        for _ in range(TO_SETTLE):
            _second(session, clock, over)
        found.note("jumps", len(jumps))
        found.note("alarms", before)
        found.note("crash_found", _alarms(session) > before)
        session.flush()
    times = [
        one.event_time for one in LakeReader(folder / "lake").events() if isinstance(one, Tick)
    ]
    found.note("ticks", len(times))
    found.note("ticks_back", sum(after <= one for one, after in pairwise(times)))
    return found


def _train(session: Session, clock: JumpingClock, job: SlurmJob, steps: int) -> None:
    for _ in range(steps):
        number = clock.steady() // SECOND + 1
        _write(Path(str(job.std_out)), f"iter {number}: loss 3.9, time 1000.00ms")
        _second(session, clock, job)


@contextmanager
def _session(folder: Path, clock: JumpingClock) -> Iterator[Session]:
    with Ledger.open(sqlite_url(folder / "ledger.db")) as ledger:
        session = Session(
            Surroundings(
                lake=folder / "lake",
                ledger=ledger,
                options=RunnerOptions(cluster=CLUSTER, log_roots=(str(folder / "logs"),)),
                analyzer=Analyzer(),
                clock=clock,
                metrics=RunnerMetrics(CollectorRegistry()),
            )
        )
        try:
            yield session
        finally:
            session.close()


def _second(session: Session, clock: JumpingClock, job: SlurmJob) -> None:
    clock.pass_by(1.0)
    session.take(snapshot_of(CLUSTER, clock.now(), [job]))
    session.step()


def _alarms(session: Session) -> int:
    """Return how many crashes and hangs were told of."""
    told = session.books.ledger.listed()
    return sum(one.kind in {Kind.CRASH, Kind.HANG} for one in told)


def _write(log: Path, line: str) -> None:
    with log.open("a", encoding="utf-8") as out:
        out.write(f"{line}\n")
