"""Rounds of the controller between a service on the wire and a Slurm in memory."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controllers import Stage
from controlling import HELD, KEY, SECOND, T0, advise, make_held, make_job
from relume.advice import Operation
from relume.controller.actuator import Order
from relume.controller.marker import read_marker
from relume.errors import UnreachableError
from relume.slurm.job import SlurmJob

ATTEMPT = f"{KEY}.0"


def orders(stage: Stage) -> list[Order]:
    return [one.order for one in stage.slurm.mutations]


def test_a_failed_job_is_restarted_without_the_node(stage: Stage) -> None:
    stage.round()
    stage.slurm.fail()
    first = advise(settled=False)
    stage.service.advise(first)
    assert stage.round().busy
    assert stage.slurm.jobs["7"].reason == HELD
    stage.round(3)
    assert stage.slurm.jobs["7"].held

    second = advise(Operation.RESTART_EXCLUDING)
    stage.service.advise(second)
    stage.service.landed[ATTEMPT] = True
    stage.round()
    assert orders(stage) == [
        Order.ADMIN_COMMENT,
        Order.REQUEUE_HOLD,
        Order.EXCLUDE,
        Order.ADMIN_COMMENT,
        Order.RELEASE,
    ]
    job = stage.slurm.jobs["7"]
    assert (job.held, job.exclude_nodes) == (False, ("node2",))
    assert getattr(read_marker(job.admin_comment), "advice", None) == second.advice_id

    stage.slurm.start()
    stage.round()
    report = {"disposition": "CONVERGED", "reason": None, "observed_generation": 2}
    assert stage.service.reconciled == {second.advice_id: report}
    stage.clock.advance(60)
    stage.slurm.change(state="COMPLETED", end_time=stage.clock.now())
    stage.round(2)
    told = [(one["milestone"], one["attempt"]) for one in stage.service.milestones]
    assert told == [("allocation_restarted", f"{KEY}.1"), ("finished", f"{KEY}.1")]
    assert {one["advice_id"] for one in stage.service.milestones} == {second.advice_id}
    assert len(stage.slurm.mutations) == 5


def test_a_stop_cancels_and_says_why(stage: Stage) -> None:
    stage.round()
    stage.slurm.fail()
    stage.service.advise(advise(settled=False))
    stage.round()
    stop = advise(Operation.STOP)
    stage.service.advise(stop)
    stage.round()
    job = stage.slurm.jobs["7"]
    assert job.state == "CANCELLED"
    marker = read_marker(job.admin_comment)
    assert marker is not None
    assert "would fail the same way" in (marker.message or "")
    assert stage.service.reconciled[stop.advice_id]["disposition"] == "CONVERGED"


@pytest.mark.parametrize("job", [make_job(), make_held()])
@pytest.mark.parametrize("operation", list(Operation))
def test_observe_gives_no_command(
    fast_path: Path, job: SlurmJob, operation: Operation, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(fast_path, job, mode="observe")
    stage.service.advise(advise(operation))
    stage.service.landed[ATTEMPT] = True
    with caplog.at_level(logging.INFO):
        stage.round(3)
    assert stage.slurm.mutations == []
    assert stage.service.reconciled == {}
    assert stage.service.holder is None
    assert not (fast_path / "epilog" / "decisions").exists()
    assert len(stage.service.snapshots) == 3
    if job.state == "RUNNING" and operation is Operation.RESTART:
        said = [one.message for one in caplog.records if "would do" in one.message]
        assert len([one for one in said if "'Incomplete', '7'" in one]) == 1


def test_a_job_without_opt_in_gives_no_command(fast_path: Path) -> None:
    stage = Stage(fast_path, make_job(comment='{"run": "opus"}'))
    stage.round()
    stage.slurm.fail()
    stage.service.advise(advise())
    stage.round(3)
    assert stage.slurm.mutations == []
    (report,) = stage.service.reconciled.values()
    assert report["disposition"] == "ABANDONED"


def test_without_the_lease_it_only_looks(stage: Stage) -> None:
    stage.service.holder, stage.service.lease_ends = "other", stage.clock.now() + 3600 * SECOND
    stage.slurm.fail()
    stage.service.advise(advise())
    result = stage.round(3)
    assert stage.slurm.mutations == []
    assert not result.whole
    assert len(stage.service.snapshots) == 3
    stage.service.lease_ends = 0
    assert stage.round().whole
    assert Order.REQUEUE_HOLD in orders(stage)


def test_a_lease_that_ran_out_in_the_middle_stops_it(stage: Stage) -> None:
    stage.slurm.fail()
    stage.service.advise(advise())
    # Slurm is slow: the first command outlasts the lease.
    stage.slurm.before_order = lambda _order, _job: stage.clock.advance(28)
    stage.round()
    assert len(stage.slurm.mutations) == 1


@pytest.mark.parametrize("broken", [(500, {"title": "x"}), (401, {"title": "x"}), (200, {"a": 1})])
def test_without_the_service_it_only_looks(
    stage: Stage, broken: tuple[int, dict[str, Any]]
) -> None:
    stage.round()
    stage.slurm.fail()
    stage.service.advise(advise())
    stage.service.broken = broken
    assert not stage.round().whole
    assert orders(stage) == [Order.ADMIN_COMMENT]
    assert not (stage.folder.epilog / "decisions").exists()
    stage.service.broken = None
    stage.round()
    assert Order.REQUEUE_HOLD in orders(stage)


def test_what_changed_since_the_plan_is_not_acted_upon(stage: Stage) -> None:
    stage.round()
    stage.slurm.fail()
    stage.service.advise(advise())
    look = stage.slurm.job

    def cancelled_meanwhile(job_id: str) -> SlurmJob | None:
        stage.slurm.change(job_id, state="CANCELLED")
        return look(job_id)

    stage.slurm.job = cancelled_meanwhile  # type: ignore[method-assign]
    stage.round()
    assert stage.slurm.count(Order.REQUEUE_HOLD) == 0


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELLED", "FAILED"])
def test_a_job_that_ends_just_before_the_hold_is_not_revived(stage: Stage, state: str) -> None:
    stage.round()
    hang = advise(cause="hang")
    stage.service.advise(hang)
    stage.service.landed[ATTEMPT] = True

    def ends(order: Order, job_id: str) -> None:
        if order is Order.REQUEUE_HOLD and stage.slurm.jobs[job_id].state == "RUNNING":
            stage.slurm.change(job_id, state=state, end_time=stage.clock.now())

    stage.slurm.before_order = ends
    stage.round(3)
    report = stage.service.reconciled[hang.advice_id]
    if state == "FAILED":
        assert report["disposition"] == "CONVERGED"
        assert stage.slurm.jobs["7"].restart_count == 1
    else:
        assert report["disposition"] == "ABANDONED"
        assert stage.slurm.jobs["7"].state == state


def test_the_helpers_hold_is_ours(stage: Stage) -> None:
    stage.round()
    lines = (stage.folder.epilog / "decisions").read_text().splitlines()
    assert "hold 7 0" in lines
    stage.slurm.fail()
    stage.slurm._requeue_hold(stage.slurm.jobs["7"], "")  # noqa: SLF001 - not by an order of ours
    (stage.folder.epilog / "held" / "7.0").touch()
    stage.service.advise(advise())
    stage.service.landed[ATTEMPT] = True
    stage.round()
    assert stage.slurm.count(Order.REQUEUE_HOLD) == 0
    assert stage.slurm.count(Order.RELEASE) == 1
    assert list((stage.folder.epilog / "held").iterdir()) == []


def test_somebodys_requeue_hold_is_not_ours(stage: Stage) -> None:
    stage.round()
    stage.slurm._requeue_hold(stage.slurm.jobs["7"], "")  # noqa: SLF001 - not by an order of ours
    stage.service.advise(advise())
    stage.clock.advance(3000)
    stage.round(3)
    assert stage.slurm.jobs["7"].held
    assert stage.slurm.count(Order.RELEASE) == 0


def test_the_marker_makes_a_lost_journal_good(stage: Stage) -> None:
    stage.round()
    stage.slurm.fail()
    stage.folder.journal.unlink()
    advice = advise()
    stage.service.advise(advice)
    stage.service.landed[ATTEMPT] = True
    for _ in range(3):
        stage.round()
        stage.slurm.start()
    assert stage.slurm.jobs["7"].state == "RUNNING"
    assert stage.slurm.count(Order.REQUEUE_HOLD) == 1
    assert stage.service.reconciled[advice.advice_id]["disposition"] == "CONVERGED"


def test_a_job_that_was_requeued_before_we_came_is_named_by_the_service(fast_path: Path) -> None:
    text = f'{{"relume":{{"first_submit":{T0 // SECOND},"seen":[]}}}}'
    other = make_job(job_id="8", restart_count=2)
    stage = Stage(fast_path, make_job(restart_count=1, admin_comment=text), other)
    stage.round()
    stage.round()
    marked = {one.job_id: read_marker(one.value) for one in stage.slurm.mutations}
    assert {name: one.first_submit for name, one in marked.items() if one} == {"7": T0, "8": T0}


def test_jobs_with_advice_that_a_snapshot_lacks_are_asked_for(fast_path: Path) -> None:
    stage = Stage(fast_path, make_job(), log_wait_seconds=30)
    stage.round()
    whole = stage.slurm.snapshot
    stage.slurm.snapshot = lambda: replace(whole(), jobs=())  # type: ignore[method-assign]
    advice = advise()
    stage.service.advise(advice)
    stage.round()
    assert stage.slurm.count(Order.REQUEUE_HOLD) == 1
    assert stage.slurm.jobs["7"].held
    del stage.slurm.jobs["7"]
    stage.round()
    report = {"disposition": "ABANDONED", "reason": "the job is gone", "observed_generation": 2}
    assert stage.service.reconciled[advice.advice_id] == report


def test_slurm_away_changes_nothing(stage: Stage) -> None:
    stage.round()

    def away() -> None:
        raise UnreachableError("scontrol ping")

    stage.slurm.snapshot = away  # type: ignore[method-assign,assignment]
    with stage.controller() as controller, pytest.raises(UnreachableError):
        controller.round()
    assert len(stage.slurm.mutations) == 1


def test_run_waits_and_wakes_with_the_helper(stage: Stage) -> None:
    """The stop is asked after each wait: the helper's touch ends a wait long before its time."""
    waits: list[float] = []

    class Stop:
        def is_set(self) -> bool:
            return len(stage.service.snapshots) > 1

        def wait(self, timeout: float) -> bool:
            waits.append(timeout)
            stage.clock.advance(timeout)
            if len(waits) == 3:
                (stage.folder.epilog / "wake").touch()
            return False

    with stage.controller() as controller:
        controller.run(Stop())
    assert len(stage.service.snapshots) == 2
    assert 100 <= len(waits) <= 106, "3 waits to the touch, then a whole interval"


def test_it_looks_more_often_while_something_is_due(stage: Stage) -> None:
    assert not stage.round().busy
    stage.slurm.fail()
    assert stage.round().busy, "Advice will come"
    stage.clock.advance(60)
    assert not stage.round().busy, "none came"
    stage.service.advise(advise(settled=False))
    assert stage.round().busy, "it waits for the settled one"
    stage.service.advice.clear()
    stage.clock.advance(120)
    assert stage.round().busy, "a hold of ours"
    stage.slurm.change(reason="JobHeldUser")
    assert not stage.round().busy


def test_run_outlives_what_is_unreachable(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    def away() -> None:
        raise UnreachableError("scontrol ping", found="no answer")

    class Stop:
        waited = 0.0

        def is_set(self) -> bool:
            return self.waited > 15

        def wait(self, timeout: float) -> bool:
            stage.clock.advance(timeout)
            self.waited += timeout
            return self.is_set()

    stage.slurm.snapshot = away  # type: ignore[method-assign,assignment]
    with stage.controller() as controller:
        controller.run(Stop())
    heartbeat = stage.folder.heartbeat()
    assert heartbeat is not None
    assert heartbeat.whole_at is None
    assert [one.message for one in caplog.records].count("scontrol ping; found no answer") == 2


def test_a_second_controller_of_one_folder_is_refused(stage: Stage) -> None:
    with stage.controller(), pytest.raises(Exception, match="another controller that uses it"):
        type(stage.folder)(stage.folder.path).prepare()


def test_a_controller_that_ends_lets_the_helper_hold_nothing(stage: Stage) -> None:
    with stage.controller() as controller:
        controller.round()
        assert (stage.folder.epilog / "decisions").exists()
        controller.close()
        assert not (stage.folder.epilog / "decisions").exists()
