"""Whatever happens to a job, in whatever order: who did not opt in is never touched, nor is what
others decided.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controllers import Stage
from controlling import COMMENT, HELD, SECOND, advise, make_job
from relume.advice import Mode, Operation
from relume.controller.actuator import Order
from relume.identity import read_comment
from relume.slurm.job import ENDED_STATES, SlurmJob

NO_OPT_IN = ("", "debug", '{"a": {"relume": {}}}', '{"relume": 1}', '{"APS": {}}')
SHARED = Path("/dev/shm")  # noqa: S108 - not a name in a shared folder, but the folder


class Story:
    """One job, everybody who does something to it, and the controller."""

    def __init__(self, path: Path, comment: str, **changes: Any) -> None:
        self.stage = Stage(path, make_job(comment=comment), **({"partitions": ["gpu"]} | changes))
        self.stage.slurm.before_order = self.judge
        self.foreign = False
        """Whether somebody else holds the job."""
        self.first = make_job().submit_time or 0

    @property
    def job(self) -> SlurmJob:
        return self.stage.slurm.jobs["7"]

    def judge(self, order: Order, job_id: str) -> None:
        """Every command meets a job that opted in, is allowed, and is in a state for it."""
        job = self.stage.slurm.jobs[job_id]
        assert read_comment(job.comment).opted_in
        assert job.partition == "gpu"
        if order is Order.REQUEUE_HOLD:
            assert job.state in {"RUNNING", "FAILED"}
        if order in {Order.RELEASE, Order.EXCLUDE}:
            assert job.held
            assert not self.foreign
        assert not (order is Order.CANCEL and self.foreign)

    def fail(self) -> None:
        if self.job.state == "RUNNING":
            self.stage.slurm.fail()

    def fail_and_be_held(self) -> None:
        """The helper holds it, if it was told to."""
        decisions = self.stage.folder.epilog / "decisions"
        line = f"hold 7 {self.job.restart_count}"
        told = decisions.exists() and line in decisions.read_text().splitlines()
        self.fail()
        if told and self.job.state == "FAILED":
            (self.stage.folder.epilog / "held" / f"7.{self.job.restart_count}").touch()
            self._requeue_hold()

    def complete(self) -> None:
        if self.job.state == "RUNNING":
            self.stage.slurm.change(state="COMPLETED", end_time=self.stage.clock.now())

    def be_cancelled(self) -> None:
        self.stage.slurm._cancel(self.job, "")  # noqa: SLF001 - by its user
        self.foreign = False

    def be_held(self) -> None:
        if self.job.state == "PENDING":
            self.stage.slurm.change(reason="JobHeldUser", priority=0)
            self.foreign = True

    def be_requeued_and_held(self) -> None:
        """By its user; not while we are about to hold it ourselves: nobody could tell that."""
        if self.job.state == "RUNNING" and not self.stage.service.advice:
            self._requeue_hold()
            self.foreign = True

    def be_released(self) -> None:
        self.stage.slurm._release(self.job, "")  # noqa: SLF001 - by its user
        self.foreign = False

    def run_on(self) -> None:
        self.stage.slurm.start()

    def _requeue_hold(self) -> None:
        self.stage.slurm._requeue_hold(self.job, "")  # noqa: SLF001 - not by us

    def opt_out(self) -> None:
        self.stage.slurm.change(comment="changed my mind")

    def opt_in(self) -> None:
        self.stage.slurm.change(comment=COMMENT)

    def change_partition(self) -> None:
        other = "debug" if self.job.partition == "gpu" else "gpu"
        self.stage.slurm.change(partition=other)

    def be_another_job(self) -> None:
        """The id is given out again, after slurmctld was killed hard."""
        fresh = make_job(comment=self.job.comment, submit_time=self.stage.clock.now())
        self.stage.slurm.jobs["7"] = replace(fresh, submit_time=self._whole_second())
        self.foreign = False

    def launch_twice(self) -> None:
        reason = "launch_failed_requeued_held"
        if self.job.state == "PENDING" and not self.foreign:
            self.stage.slurm.change(reason=reason, priority=0)
            self.foreign = True

    def _whole_second(self) -> int:
        return self.stage.clock.now() // SECOND * SECOND

    def advise(self, operation: Operation, *, settled: bool, seconds: int) -> None:
        """The service decides about the attempt that is, or the one before."""
        settled |= operation is Operation.RESTART_EXCLUDING
        over = self.job.state in {"RUNNING", *ENDED_STATES}
        count = self.job.restart_count if over else max(0, self.job.restart_count - 1)
        attempt = f"lab/7@{self.first // SECOND}.{count}"
        now = self.stage.clock.now()
        self.stage.service.landed[attempt] = seconds > 100
        self.stage.service.advise(
            advise(
                operation,
                attempt=attempt,
                generation=len(self.stage.service.advice) + 1,
                settled=settled,
                mode=Mode.ACT,
                created_at=now,
                expires_at=now + seconds * SECOND,
            )
        )


EVENTS: list[Callable[[Story], None]] = [
    Story.fail,
    Story.fail_and_be_held,
    Story.complete,
    Story.be_cancelled,
    Story.be_held,
    Story.be_requeued_and_held,
    Story.be_released,
    Story.run_on,
    Story.run_on,
    Story.opt_out,
    Story.change_partition,
    Story.be_another_job,
    Story.launch_twice,
]
events = st.sampled_from(EVENTS)
decisions = st.builds(
    lambda operation, **how: lambda story: story.advise(operation, **how),
    operation=st.sampled_from(list(Operation)),
    settled=st.sampled_from([True, True, False]),
    seconds=st.sampled_from([20, 200, 3600]),
)
pauses = st.sampled_from([1, 1, 2, 15, 40, 1000])
others = st.lists(st.tuples(st.one_of(events, decisions), pauses), min_size=2, max_size=12)
changes = st.sampled_from([*EVENTS, Story.opt_in])
stories = st.lists(st.tuples(st.one_of(changes, decisions), pauses), min_size=2, max_size=12)


def play(story: Story, plot: list[tuple[Callable[[Story], None], int]]) -> None:
    """One controller through all of it: a round before, and some after each event."""
    with story.stage.controller() as controller:
        controller.round()
        for event, seconds in plot:
            event(story)
            for _ in range(3):
                controller.round()
                story.stage.clock.advance(seconds)


@settings(max_examples=25)
@given(st.sampled_from(NO_OPT_IN), others)
def test_a_job_without_opt_in_is_never_touched(comment: str, plot: Any) -> None:
    with tempfile.TemporaryDirectory(dir=SHARED if SHARED.is_dir() else None) as folder:
        story = Story(Path(folder), comment)
        play(story, plot)
        assert story.stage.slurm.mutations == []


@settings(max_examples=25)
@given(stories)
def test_observe_never_gives_a_command(plot: Any) -> None:
    with tempfile.TemporaryDirectory(dir=SHARED if SHARED.is_dir() else None) as folder:
        story = Story(Path(folder), COMMENT, mode="observe")
        play(story, plot)
        assert story.stage.slurm.mutations == []
        assert not (story.stage.folder.epilog / "decisions").exists()


@settings(max_examples=50)
@given(stories)
def test_what_is_touched_may_be_touched(plot: Any) -> None:
    with tempfile.TemporaryDirectory(dir=SHARED if SHARED.is_dir() else None) as folder:
        story = Story(Path(folder), COMMENT)
        play(story, plot)
        excluded = [one for one in story.stage.slurm.mutations if one.order is Order.EXCLUDE]
        assert all(one.value == "node2" for one in excluded)
        assert not any(one.refused for one in story.stage.slurm.mutations)


@pytest.mark.parametrize(
    ("plot", "orders"),
    [
        ([Story.fail_and_be_held, Operation.RESTART], [Order.RELEASE]),
        ([Story.fail, Operation.RESTART_EXCLUDING], [Order.REQUEUE_HOLD, Order.EXCLUDE]),
        ([Operation.STOP], [Order.CANCEL]),
    ],
)
def test_the_stories_can_move_the_controller(
    plot: list[Any], orders: list[Order], tmp_path: Path
) -> None:
    """Else the properties above would hold of a controller that never does anything."""
    story = Story(tmp_path, COMMENT)

    def event(one: Any) -> Callable[[Story], None]:
        if isinstance(one, Operation):
            return lambda told: told.advise(one, settled=True, seconds=3600)
        return one  # type: ignore[no-any-return] # it is one

    play(story, [(event(one), 15) for one in plot])
    assert set(orders) <= {one.order for one in story.stage.slurm.mutations}
    assert story.job.reason != HELD
