"""A Slurm of a few jobs in memory, for states that a real one can't be brought to: a controller
that is killed between any two effects, and any sequence of states that hypothesis thinks of.

What it does to a job is the table of observed semantics in `docs/slurm.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from controlling import HELD, SECOND, make_nodes
from relume.clock import ManualClock
from relume.controller.actuator import Order, SlurmRefusedError, command
from relume.controller.commands import Done
from relume.slurm.job import ENDED_STATES, SlurmJob, SlurmSnapshot


class KilledError(BaseException):
    """What SIGKILL does to the code under test: nothing catches it."""


class Fuse:
    """Kills at the n-th effect: each has a moment before and one after it."""

    def __init__(self, moment: int | None = None) -> None:
        self.moment = moment
        self.passed = 0

    def burn(self) -> None:
        """Pass one moment, or be killed at it."""
        self.passed += 1
        if self.passed == self.moment:
            raise KilledError(self.passed)


@dataclass(frozen=True)
class Mutation:
    """One command that changed something, or was refused."""

    order: Order
    job_id: str
    value: str
    refused: bool


class FakeSlurm:
    """Both doors at once."""

    def __init__(self, clock: ManualClock, *jobs: SlurmJob) -> None:
        self.clock = clock
        self.jobs = {job.job_id: job for job in jobs}
        self.nodes = make_nodes()
        self.mutations: list[Mutation] = []
        self.refuses: set[Order] = set()
        self.fuse = Fuse()
        self.before_order: Callable[[Order, str], None] = lambda _order, _job_id: None

    def snapshot(self) -> SlurmSnapshot:
        return SlurmSnapshot(
            cluster="lab",
            taken_at=self.clock.now(),
            jobs=tuple(self.jobs.values()),
            nodes=self.nodes,
        )

    def job(self, job_id: str, known: SlurmJob | None = None) -> SlurmJob | None:  # noqa: ARG002
        return self.jobs.get(job_id)

    def find(self, job_ids: Collection[str]) -> dict[str, SlurmJob]:
        return {job_id: self.jobs[job_id] for job_id in job_ids if job_id in self.jobs}

    def change(self, job_id: str = "7", **fields: object) -> None:
        """Let something happen to a job."""
        self.jobs[job_id] = replace(self.jobs[job_id], **fields)  # type: ignore[arg-type]

    def fail(self, job_id: str = "7") -> None:
        """Let a job end badly."""
        self.change(
            job_id, state="FAILED", reason="NonZeroExitCode", exit_code=1, end_time=self.clock.now()
        )

    def start(self, job_id: str = "7") -> None:
        """Let a waiting job start, as the scheduler does with those that aren't held."""
        job = self.jobs[job_id]
        if job.state == "PENDING" and not job.held:
            nodes = tuple(one.node for one in self.nodes if one.node not in job.exclude_nodes)[:2]
            self.change(job_id, state="RUNNING", nodes=nodes, start_time=self.clock.now())

    def count(self, order: Order) -> int:
        """How often a command took effect."""
        return sum(one.order is order and not one.refused for one in self.mutations)

    def requeue_hold(self, job_id: str) -> Done:
        return self._do(Order.REQUEUE_HOLD, job_id, "", self._requeue_hold)

    def requeue_hold_running(self, job_id: str) -> Done:
        """Slurm says yes even where it leaves the job alone."""

        def effect(job: SlurmJob, value: str) -> bool:
            return job.state != "RUNNING" or self._requeue_hold(job, value)

        return self._do(Order.REQUEUE_HOLD, job_id, "Incomplete", effect)

    def release(self, job_id: str) -> Done:
        return self._do(Order.RELEASE, job_id, "", self._release)

    def set_exclude(self, job_id: str, nodes: Iterable[str]) -> Done:
        return self._do(Order.EXCLUDE, job_id, ",".join(nodes), self._exclude)

    def set_admin_comment(self, job_id: str, text: str) -> Done:
        return self._do(Order.ADMIN_COMMENT, job_id, text, self._comment)

    def cancel(self, job_id: str) -> Done:
        return self._do(Order.CANCEL, job_id, "", self._cancel)

    def _do(
        self, order: Order, job_id: str, value: str, effect: Callable[[SlurmJob, str], bool]
    ) -> Done:
        self.before_order(order, job_id)
        self.fuse.burn()
        job = self.jobs.get(job_id)
        done = job is not None and order not in self.refuses and effect(job, value)
        self.mutations.append(Mutation(order, job_id, value, refused=not done))
        self.fuse.burn()
        if not done:
            raise SlurmRefusedError(f"order {order} for job {job_id}", found="not in this state")
        return Done(command(order, job_id, value), 0, "", "")

    def _requeue_hold(self, job: SlurmJob, _: str) -> bool:
        if job.state not in ENDED_STATES | {"RUNNING"} or job.requeue is False:
            return False
        self.change(
            job.job_id,
            state="PENDING",
            reason=HELD,
            priority=0,
            restart_count=job.restart_count + 1,
            submit_time=self.clock.now() // SECOND * SECOND,
            nodes=(),
            start_time=None,
            end_time=None,
        )
        return True

    def _release(self, job: SlurmJob, _: str) -> bool:
        if job.held:
            self.change(job.job_id, state="PENDING", reason="BeginTime", priority=100)
        return job.held

    def _exclude(self, job: SlurmJob, value: str) -> bool:
        if job.state == "PENDING":
            self.change(job.job_id, exclude_nodes=tuple(value.split(",")))
        return job.state == "PENDING"

    def _comment(self, job: SlurmJob, value: str) -> bool:
        if job.state not in ENDED_STATES:
            self.change(job.job_id, admin_comment=value)
        return job.state not in ENDED_STATES

    def _cancel(self, job: SlurmJob, _: str) -> bool:
        if job.state not in ENDED_STATES:
            self.change(job.job_id, state="CANCELLED", end_time=self.clock.now(), priority=100)
        return True
