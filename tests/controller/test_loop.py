"""Rounds of the controller between a service on the wire and a Slurm in memory."""

from __future__ import annotations

import logging
import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controllers import Stage
from controlling import HELD, KEY, NOW, SECOND, T0, advise, make_held, make_job
from relume.advice import Mode, Operation, Scope
from relume.clock import ManualClock
from relume.controller.actuator import Order
from relume.controller.executor import command
from relume.controller.facts import Action, Outcome
from relume.controller.journal import RETENTION
from relume.controller.loop import Controller
from relume.controller.marker import read_marker
from relume.controller.service import LostLeaseError
from relume.controller.steps import Step
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


def test_a_report_with_an_old_token_is_kept(stage: Stage) -> None:
    stage.service.advise(advise(Operation.OBSERVE))
    with stage.controller() as controller:
        controller.round()
        stage.service.advise(advise(Operation.OBSERVE, generation=3))
        renew, stage.service.fencing_token = stage.service._lease, 5  # noqa: SLF001

        def stale(cluster: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
            status, lease = renew(cluster, body)
            return status, (lease or {}) | {"fencing_token": 4}

        stage.service._lease = stale  # type: ignore[method-assign] # noqa: SLF001
        assert not controller.round().whole
        stage.service._lease = renew  # type: ignore[method-assign] # noqa: SLF001
        assert controller.round().whole
    assert len(stage.service.reconciled) == 2


def test_a_lease_that_ran_out_in_the_middle_stops_it(stage: Stage) -> None:
    stage.slurm.fail()
    stage.service.advise(advise())
    # Slurm is slow: a second command might outlast the lease, and meet another controller's.
    stage.slurm.before_order = lambda _order, _job: stage.clock.advance(50)
    stage.round()
    assert len(stage.slurm.mutations) == 1


def test_a_machine_that_slept_has_lost_its_lease(stage: Stage) -> None:
    """While it is paused a clock that never jumps may stand still; the time of day goes on."""
    stage.round()
    stage.slurm.fail()
    stage.service.advise(advise())
    look = stage.slurm.job

    def paused(job_id: str, known: SlurmJob | None = None) -> SlurmJob | None:
        stage.clock.advance(600)
        return look(job_id, known)

    stage.slurm.job = paused  # type: ignore[method-assign]
    stage.folder.prepare()
    with stage.doors() as doors:
        still = replace(doors, monotonic=lambda: 0.0)
        with closing(Controller(still, stage.folder, stage.settings)) as controller:
            assert not controller.round().whole
    stage.folder.close()
    assert stage.slurm.count(Order.REQUEUE_HOLD) == 0


def test_a_clock_that_is_put_back_does_not_prolong_the_lease(stage: Stage) -> None:
    stage.round()
    stage.slurm.fail()
    stage.service.advise(advise())
    look, seconds = stage.slurm.job, [0.0]

    def put_back(job_id: str, known: SlurmJob | None = None) -> SlurmJob | None:
        stage.slurm.clock = stage.clock = ManualClock(NOW - 3600 * SECOND)
        seconds[0] += 100
        return look(job_id, known)

    stage.slurm.job = put_back  # type: ignore[method-assign]
    stage.folder.prepare()
    with stage.doors() as doors:
        odd = replace(doors, monotonic=lambda: seconds[0])
        with closing(Controller(odd, stage.folder, stage.settings)) as controller:
            assert not controller.round().whole
    stage.folder.close()
    assert stage.slurm.count(Order.REQUEUE_HOLD) == 0


def test_of_two_controllers_one_acts_and_the_other_follows(stage: Stage, fast_path: Path) -> None:
    """The first is stopped in the middle of a step; the second takes over, and the first gives up."""
    (fast_path / "other").mkdir()
    other = Stage(fast_path / "other", make_job())
    other.clock, other.slurm, other.service = stage.clock, stage.slurm, stage.service
    stage.round()
    stage.slurm.fail()
    advice = advise()
    stage.service.advise(advice)
    stage.service.landed[ATTEMPT] = True
    look = stage.slurm.job

    def stopped(job_id: str, known: SlurmJob | None = None) -> SlurmJob | None:
        stage.slurm.job = look  # type: ignore[method-assign]
        assert not other.round().whole
        stage.clock.advance(91)
        assert other.round().whole
        return look(job_id, known)

    stage.slurm.job = stopped  # type: ignore[method-assign]
    assert not stage.round().whole
    stage.slurm.start()
    other.round()
    assert stage.slurm.count(Order.REQUEUE_HOLD) == 1
    assert stage.slurm.count(Order.RELEASE) == 1
    assert stage.service.reconciled[advice.advice_id]["disposition"] == "CONVERGED"


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


def test_a_service_that_is_away_has_withdrawn_nothing(stage: Stage) -> None:
    """What was taken on goes on while the lease lasts: silence is no word, and no node a stranger."""
    stage.settings = stage.settings.model_copy(update={"log_wait_seconds": 20.0})
    stage.round()
    stage.slurm.fail()
    advice = advise(Operation.RESTART_EXCLUDING)
    stage.service.advise(advice)
    with stage.controller() as controller:
        controller.round()
        assert stage.slurm.jobs["7"].held
        stage.service.broken = 503, {"title": "Service Unavailable"}
        stage.clock.advance(12)
        controller.round()
        stage.clock.advance(12)
        controller.round()
        assert stage.slurm.jobs["7"].exclude_nodes == ("node2",)
        stage.slurm.start()
        stage.service.broken = None
        controller.round()
    assert stage.service.reconciled[advice.advice_id]["disposition"] == "CONVERGED"


def test_what_changed_since_the_plan_is_not_acted_upon(stage: Stage) -> None:
    stage.round()
    stage.slurm.fail()
    stage.service.advise(advise())
    look = stage.slurm.job

    def cancelled_meanwhile(job_id: str, known: SlurmJob | None = None) -> SlurmJob | None:
        stage.slurm.change(job_id, state="CANCELLED")
        return look(job_id, known)

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


def test_a_hold_that_nobody_knows_is_said_once(
    fast_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Held before we came, without a marker: not ours to take off, but somebody should look."""
    private = make_held(job_id="8", comment=None)
    stage = Stage(fast_path, make_held(), private, make_job(job_id="9"))
    with caplog.at_level(logging.INFO):
        stage.round(3)
    said = [one for one in caplog.records if "left alone" in one.message]
    assert [one.levelname for one in said] == ["WARNING"]
    assert "job 7: held (job_requeued_in_held_state)" in said[0].message


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


def test_a_hold_ends_with_its_advice_though_the_service_lists_it_no_more(stage: Stage) -> None:
    stage.round()
    stage.slurm.fail()
    hold = advise(Operation.HOLD, expires_at=stage.clock.now() + 100 * SECOND)
    stage.service.advise(hold)
    stage.round()
    stage.clock.advance(96)
    stage.round()
    assert stage.slurm.jobs["7"].held
    assert stage.round().commands == 1
    assert not stage.slurm.jobs["7"].held
    assert stage.service.reconciled[hold.advice_id]["disposition"] == "CONVERGED"


def test_the_grace_of_a_stop_begins_when_it_is_taken_on(fast_path: Path) -> None:
    stage = Stage(fast_path, make_job(), stop_grace_seconds=30)
    stage.round()
    stage.service.advise(advise(Operation.STOP))
    stage.round()
    stage.clock.advance(26)
    assert stage.round().commands == 0
    assert stage.round().commands == 2
    assert stage.slurm.jobs["7"].state == "CANCELLED"


@pytest.mark.parametrize(
    "changes",
    [{"mode": Mode.MONITOR}, {"scope": Scope.CLUSTER, "operation": Operation.HOLD}],
)
def test_advice_of_others_is_not_taken_on(stage: Stage, changes: dict[str, Any]) -> None:
    foreign = advise(attempt=f"other/7@{T0 // SECOND}.0")
    stage.service.advise(advise(**changes), foreign)
    stage.round(2)
    with stage.controller() as controller:
        memory = controller.journal.memory("lab", ["7"], (), stage.clock.now())
    assert memory.accepted == {}


def test_a_note_about_another_attempt_is_kept_for_a_day(stage: Stage) -> None:
    stage.round()
    note = stage.folder.epilog / "held" / "7.1"
    note.touch()
    written = stage.clock.now() // SECOND
    os.utime(note, (written, written))
    stage.slurm.fail()
    stage.slurm._requeue_hold(stage.slurm.jobs["7"], "")  # noqa: SLF001 - not by an order of ours
    # The note would make the hold of the attempt after this one ours, not this one.
    stage.clock.advance(3000)
    stage.round()
    assert stage.slurm.jobs["7"].held
    del stage.slurm.jobs["7"]
    (stage.folder.epilog / "held" / "9.0").touch()
    os.utime(stage.folder.epilog / "held" / "9.0", (written, written))
    stage.round()
    assert [one.job_id for one in stage.folder.notes()] == ["9"]
    stage.clock.advance(24 * 3600)
    stage.round()
    assert stage.folder.notes() == []


def test_a_hold_that_found_the_job_ended_is_none(stage: Stage) -> None:
    stage.round()
    stage.service.advise(advise())

    def completes(_order: Order, job_id: str) -> None:
        stage.slurm.change(job_id, state="COMPLETED")

    stage.slurm.before_order = completes
    stage.round()
    with stage.controller() as controller:
        memory = controller.journal.memory("lab", ["7"], (), stage.clock.now())
    outcomes = {one.action: (one.outcome, one.words) for one in memory.deeds[ATTEMPT]}
    assert outcomes[Action.HOLD_RUNNING] == (Outcome.REFUSED, "it had ended COMPLETED before")


def test_milestones_carry_slurms_times(stage: Stage) -> None:
    times = {"start_time": T0 + 7 * SECOND, "end_time": T0 + 9 * SECOND}
    stage.slurm.jobs["7"] = make_job(
        restart_count=1,
        state="COMPLETED",
        admin_comment=f'{{"relume":{{"first_submit":{T0 // SECOND}}}}}',
        **times,
    )
    stage.round(2)
    assert [one["event_time"] for one in stage.service.milestones] == list(times.values())
    assert sum(one == "POST /v1/milestones" for one in stage.service.calls) == 2


def test_milestones_have_a_time_where_slurm_has_none(stage: Stage) -> None:
    stage.slurm.jobs["7"] = make_job(state="COMPLETED", end_time=None)
    now = stage.clock.now()
    stage.round()
    assert [one["event_time"] for one in stage.service.milestones] == [now]


def test_what_the_service_refuses_is_said_and_not_repeated(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    gone = advise(Operation.OBSERVE)
    stage.service.advise(gone)
    stage.service.reconciled["other"] = {}
    active = stage.service._active  # noqa: SLF001 - so that it is listed and unknown

    def listed(query: dict[str, list[str]]) -> tuple[int, dict[str, Any] | None]:
        answer = active(query)
        stage.service.advice.clear()
        return answer

    stage.service._active = listed  # type: ignore[method-assign] # noqa: SLF001
    assert stage.round(2).whole
    refusals = [one.message for one in caplog.records if "refused" in one.message]
    assert len(refusals) == 1
    assert gone.advice_id in refusals[0]


def test_commands_are_shown_as_they_are_given() -> None:
    def shown(action: Action, **changes: Any) -> tuple[str, ...]:
        return command(Step(action=action, job_id="7", attempt=ATTEMPT, reason="", **changes))

    assert shown(Action.MARK, text="{}") == ("scontrol", "update", "JobId=7", "AdminComment={}")
    nodes = shown(Action.EXCLUDE, nodes=("node1", "node2"))
    assert nodes == ("scontrol", "update", "JobId=7", "ExcNodeList=node[1-2]")
    assert shown(Action.HOLD) == ("scontrol", "requeuehold", "7")
    assert shown(Action.HOLD_RUNNING) == ("scontrol", "requeuehold", "Incomplete", "7")
    assert shown(Action.CANCEL) == ("scancel", "7")


def test_old_rows_are_forgotten_every_hour(stage: Stage) -> None:
    with stage.controller() as controller:
        controller.round()
        del stage.slurm.jobs["7"]
        stage.clock.advance(RETENTION / SECOND + 2)
        controller.round()
        memory = controller.journal.memory("lab", ["7"], (), stage.clock.now())
    assert memory.sightings == {}


def test_what_the_service_can_not_take_now_is_kept_and_keeps_nothing_waiting(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.service.advise(advise(Operation.OBSERVE))
    reconcile = stage.service._reconcile  # noqa: SLF001

    def defect(*_: Any) -> tuple[int, dict[str, Any] | None]:
        return 422, {"title": "Unprocessable Content", "detail": "what is that?"}

    stage.service._reconcile = defect  # type: ignore[method-assign,assignment] # noqa: SLF001
    with stage.controller() as controller:
        controller.round()
        stage.slurm.change(state="COMPLETED", end_time=stage.clock.now())
        assert controller.round().whole
        assert [one["milestone"] for one in stage.service.milestones] == ["finished"]
        assert "what is that?; it is kept" in caplog.text
        assert len(caplog.records) == 1
        stage.service._reconcile = reconcile  # type: ignore[method-assign] # noqa: SLF001
        controller.round()
        assert stage.service.reconciled == {}
        stage.clock.advance(3601)
        controller.round()
        controller.round()
    assert len(stage.service.reconciled) == 1


def test_who_lost_the_lease_stops_at_once(stage: Stage) -> None:
    stage.service.advise(advise(Operation.OBSERVE))
    with stage.controller() as controller:
        stage.service.fencing_token = 4
        renew = stage.service._lease  # noqa: SLF001

        def lost(cluster: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
            answer = renew(cluster, body)
            stage.service.fencing_token += 1
            return answer

        stage.service._lease = lost  # type: ignore[method-assign] # noqa: SLF001
        result = controller.round()
    assert not result.whole
    assert isinstance(result.trouble, LostLeaseError)
    assert not (stage.folder.epilog / "decisions").exists()
