"""Any order of what a service, users, Slurm and fate can do: what must never happen, and what must.

Never: a job touched that did not opt in, or twice run that must not be; somebody's hold taken off; a
job revived that ended well or was cancelled; nodes excluded beyond the limit, or that the run never
used. Always: when all else is gone, the watchdog lets go what we hold.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from controllers import Stage
from controlling import NOW, SECOND, T0, advise, make_job
from fake_slurm import FakeSlurm, Fuse, KilledError
from relume.advice import Mode, Operation
from relume.controller.actuator import Order
from relume.controller.watchdog import Watchdog
from relume.errors import InputError, RelumeError
from relume.slurm.job import ENDED_STATES, SlurmJob

ALL_NODES = ("node1", "node2", "node3", "node4")
MAX_EXCLUDED = 1
MEMORY = Path("/dev/shm")  # noqa: S108 - not a name in a shared folder, but the folder
ONCE = '{"relume": {"run": "once"}}'
JOBS = st.sampled_from(["7", "8", "9"])
"""One that opted in, one that did and must not run twice, and one that is private."""


class WatchedSlurm(FakeSlurm):
    """Knows who holds each job, which nodes it ran on, and looks at each order before it counts."""

    def __init__(self, stage: Stage, *jobs: SlurmJob) -> None:
        super().__init__(stage.clock, *jobs)
        self.holder = dict.fromkeys(self.jobs, "")
        self.ours: set[tuple[str, int]] = set()
        self.used = {job.job_id: set(job.nodes) for job in jobs}
        self.users_own = {job.job_id: set(job.exclude_nodes) for job in jobs}

    def start(self, job_id: str = "7") -> None:
        super().start(job_id)
        self.used[job_id] |= set(self.jobs[job_id].nodes)

    def _do(
        self, order: Order, job_id: str, value: str, effect: Callable[[SlurmJob, str], bool]
    ) -> Any:
        job = self.jobs.get(job_id)
        assert job is not None
        assert "relume" in (job.comment or "")
        if order is Order.RELEASE and job.held:
            assert self.holder[job_id] == "us"
            assert job.requeue
        if order is Order.REQUEUE_HOLD:
            assert job.state not in {"COMPLETED", "CANCELLED"}
        if order is Order.EXCLUDE:
            added = set(value.split(",")) - self.users_own[job_id]
            assert set(value.split(",")) >= self.users_own[job_id]
            assert added <= self.used[job_id]
            assert len(added) <= MAX_EXCLUDED
        return super()._do(order, job_id, value, effect)

    def _requeue_hold(self, job: SlurmJob, value: str) -> bool:
        done = super()._requeue_hold(job, value)
        if done:
            self.holder[job.job_id] = "us"
            self.ours.add((job.job_id, job.restart_count))
        return done


class Cluster(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None)
        self.stage = Stage(
            Path(self.folder.name),
            max_excluded_nodes=MAX_EXCLUDED,
            max_actions_per_hour=6,
            max_restarts_per_day=4,
            stop_grace_seconds=0,
        )
        jobs = (
            make_job(),
            make_job(job_id="8", raw_job_id=8, requeue=False, comment=ONCE, nodes=("node3",)),
            make_job(job_id="9", raw_job_id=9, comment="private", nodes=("node4",)),
        )
        self.slurm = self.stage.slurm = WatchedSlurm(self.stage, *jobs)
        self.generation = 0
        self.saved: tuple[int, dict[str, SlurmJob], dict[str, str]] = NOW, {}, {}

    def save(self) -> None:
        self.saved = self.stage.clock.now(), dict(self.slurm.jobs), dict(self.slurm.holder)

    # --- Relume ---

    @rule(count=st.integers(1, 3))
    def controller(self, count: int) -> None:
        self.save()
        with suppress(RelumeError):
            self.stage.round(count)

    @rule(moment=st.integers(1, 25))
    def controller_is_killed(self, moment: int) -> None:
        self.save()
        self.stage.burn(Fuse(moment))
        with suppress(RelumeError, KilledError):
            self.stage.round(2)
        self.stage.burn(Fuse())

    @rule()
    def watchdog(self) -> None:
        with self.stage.doors() as doors:
            Watchdog(doors, self.stage.folder, self.stage.settings).round()

    @rule(job_id=JOBS)
    def helper(self, job_id: str) -> None:
        """It holds what failed, if the decisions say so and have not run out."""
        job = self.slurm.jobs[job_id]
        decisions = self.stage.folder.epilog / "decisions"
        lines = decisions.read_text().splitlines() if decisions.exists() else []
        until = next((int(one.split()[1]) for one in lines if one.startswith("until")), 0)
        in_time = until > self.stage.clock.now() // SECOND
        may = f"hold {job_id} {job.restart_count}" in lines
        if may and in_time and job.state == "FAILED":
            note = self.stage.folder.epilog / "held" / f"{job_id}.{job.restart_count}"
            note.touch()
            self.slurm._requeue_hold(job, "")  # noqa: SLF001 - not by an order of ours

    # --- the service ---

    @rule(
        job_id=JOBS,
        operation=st.sampled_from(Operation),
        nodes=st.sets(st.sampled_from(ALL_NODES), min_size=1),
        mode=st.sampled_from([Mode.ACT, Mode.ACT, Mode.APPROVE, Mode.MONITOR]),
        settled=st.booleans(),
        attempt=st.integers(-1, 1),
        seconds=st.sampled_from([1, 60, 3600, 10**8]),
    )
    def advice(self, job_id: str, operation: Operation, **given: Any) -> None:
        job = self.slurm.jobs[job_id]
        self.generation += 1
        excluding = operation is Operation.RESTART_EXCLUDING
        with suppress(InputError):  # what is no Advice never comes from a service
            self.stage.service.advise(
                advise(
                    operation,
                    attempt=f"lab/{job_id}@{T0 // SECOND}.{max(job.restart_count + given['attempt'], 0)}",
                    generation=self.generation,
                    exclude_nodes=tuple(sorted(given["nodes"])) if excluding else (),
                    mode=given["mode"],
                    settled=given["settled"],
                    created_at=self.stage.clock.now() - SECOND,
                    expires_at=self.stage.clock.now() + given["seconds"] * SECOND,
                )
            )

    @rule(job_id=JOBS, operation=st.sampled_from(Operation), seconds=st.sampled_from([60, 3600]))
    def job_fails_and_is_judged(self, job_id: str, operation: Operation, seconds: int) -> None:
        """What happens most, so that much of what follows is about a hold of ours."""
        self.stage.service.broken = None
        nodes = set(self.slurm.jobs[job_id].nodes[:1]) or {"node1"}
        self.job_ends(job_id, "FAILED")
        self.advice(
            job_id,
            operation,
            nodes=nodes,
            mode=Mode.ACT,
            settled=True,
            attempt=0,
            seconds=seconds,
        )
        self.controller(1)

    @rule()
    def advice_is_withdrawn(self) -> None:
        self.stage.service.advice.clear()

    @rule(broken=st.sampled_from([None, (503, {"title": "x"}), (422, {"title": "x"}), (200, {})]))
    def service(self, broken: tuple[int, dict[str, Any]] | None) -> None:
        self.stage.service.broken = broken

    # --- users, Slurm and fate ---

    @rule(job_id=JOBS, state=st.sampled_from(["FAILED", "COMPLETED", "CANCELLED", "TIMEOUT"]))
    def job_ends(self, job_id: str, state: str) -> None:
        self.save()
        if self.slurm.jobs[job_id].state == "RUNNING":
            self.slurm.change(job_id, state=state, reason=None, end_time=self.stage.clock.now())

    @rule(job_id=JOBS)
    def job_starts(self, job_id: str) -> None:
        self.slurm.start(job_id)

    @rule(job_id=JOBS)
    def user_holds(self, job_id: str) -> None:
        if self.slurm.jobs[job_id].state == "PENDING":
            self.slurm.change(job_id, priority=0, reason="JobHeldUser")
            self.slurm.holder[job_id] = "user"

    @rule(job_id=JOBS)
    def user_releases(self, job_id: str) -> None:
        self.slurm._release(self.slurm.jobs[job_id], "")  # noqa: SLF001 - not by an order of ours

    @rule(job_id=JOBS, held=st.booleans())
    def user_requeues(self, job_id: str, *, held: bool) -> None:
        """Of an attempt that we never held: two requeue-holds of one attempt look the same."""
        job = self.slurm.jobs[job_id]
        ours = (job_id, job.restart_count) in self.slurm.ours
        if not ours and FakeSlurm._requeue_hold(self.slurm, job, ""):  # noqa: SLF001 - as above
            self.slurm.holder[job_id] = "user"
            if not held:
                self.slurm.change(job_id, priority=100, reason="BeginTime")

    @rule(job_id=JOBS)
    def user_cancels(self, job_id: str) -> None:
        if self.slurm.jobs[job_id].state not in ENDED_STATES:
            self.slurm.change(job_id, state="CANCELLED", priority=100)

    @precondition(lambda self: self.stage.clock.now() - self.saved[0] <= 5 * SECOND)
    @rule()
    def slurmctld_is_killed_and_forgets(self) -> None:
        _, jobs, holder = self.saved
        if jobs:
            self.slurm.jobs, self.slurm.holder = dict(jobs), dict(holder)

    @rule(seconds=st.sampled_from([1, 10, 40, 400, 4000]))
    def time_passes(self, seconds: int) -> None:
        self.stage.clock.advance(seconds)

    def teardown(self) -> None:
        """Service and controller are gone for days; only the watchdog is left."""
        with self.folder:
            self.stage.burn(Fuse())
            for _ in range(60):
                self.stage.clock.advance(4000)
                self.watchdog()
            for job_id, job in self.slurm.jobs.items():
                ours = self.slurm.holder[job_id] == "us" and job.held
                assert not ours or "relume" not in (job.comment or ""), job


Cluster.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestCluster = Cluster.TestCase
