"""The plan: facts in, steps out, for what Slurm was seen to do."""

from __future__ import annotations

from typing import Any

import pytest

from controlling import (
    COMMENT,
    KEY,
    NOW,
    SECOND,
    T0,
    T1,
    advise,
    deed,
    make_facts,
    make_held,
    make_job,
    make_nodes,
    make_settings,
    remember,
    seen,
)
from relume.advice import Advice, Answer, Approval, Mode, Operation, Scope
from relume.controller.facts import Accepted, Action, Outcome
from relume.controller.marker import Marker, read_marker, with_marker
from relume.controller.plan import plan
from relume.controller.steps import Close, Item, Step, Wait
from relume.slurm.job import SlurmJob

RESTARTS = (Operation.RESTART, Operation.RESTART_EXCLUDING)
HOLD_DEED = deed(Action.HOLD)
MARKED = with_marker(None, Marker(T0, (T0,))) or ""


def planned(job: SlurmJob | None, advice: Advice, *what: Any, **changes: Any) -> Item | None:
    """Plan for one job and one Advice; what is remembered defaults to both sightings."""
    settings = make_settings(**changes.pop("settings", {}))
    memory = changes.pop("memory", None) or remember(*(what or (seen(), seen(1), HOLD_DEED)))
    now = changes.pop("now", NOW)
    jobs = () if job is None else (job,)
    facts = make_facts(*jobs, advice=(advice,), memory=memory, **changes)
    items = [item for item in plan(facts, settings, now) if _about(item, advice)]
    assert len(items) <= 1
    return items[0] if items else None


def _about(item: Item, advice: Advice) -> bool:
    return item.advice_id == advice.advice_id if isinstance(item, Step) else item.advice == advice


def step_of(item: Item | None) -> Step:
    assert isinstance(item, Step), item
    return item


def words(item: Item | None) -> str:
    """Return what is reported or waited for."""
    assert isinstance(item, Close | Wait), item
    return (
        f"{item.disposition}: {item.reason}" if isinstance(item, Close) else f"wait: {item.reason}"
    )


LANDED = {f"{KEY}.0": True}
MARKED_HELD = with_marker(None, Marker(T0, (T0, T1), advise().advice_id)) or ""


# --- the attempt itself is still what Slurm shows ---


@pytest.mark.parametrize("operation", [*RESTARTS, Operation.HOLD])
@pytest.mark.parametrize("state", ["FAILED", "TIMEOUT", "OUT_OF_MEMORY"])
def test_a_failed_job_is_held(operation: Operation, state: str) -> None:
    job = make_job(state=state, reason="NonZeroExitCode", exit_code=1)
    step = step_of(planned(job, advise(operation), seen()))
    assert (step.action, step.job_id, step.attempt) == (Action.HOLD, "7", f"{KEY}.0")


def test_a_failed_job_is_held_on_an_unsettled_word() -> None:
    job = make_job(state="FAILED", reason="NonZeroExitCode")
    assert step_of(planned(job, advise(settled=False), seen())).action is Action.HOLD


@pytest.mark.parametrize("operation", RESTARTS)
def test_a_running_job_is_requeued_into_hold_once_it_is_settled(operation: Operation) -> None:
    step = step_of(planned(make_job(), advise(operation), seen()))
    assert step.action is Action.HOLD_RUNNING, "Slurm must not revive it if it has ended by then"


@pytest.mark.parametrize("operation", [Operation.RESTART, Operation.HOLD, Operation.STOP])
def test_a_running_job_is_not_ended_on_an_unsettled_word(operation: Operation) -> None:
    unsettled = advise(operation, settled=False)
    assert words(planned(make_job(), unsettled, seen())) == "wait: the job is RUNNING"


def test_a_hold_does_not_end_a_running_job() -> None:
    assert words(planned(make_job(), advise(Operation.HOLD), seen())) == "wait: the job is RUNNING"


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("COMPLETED", "ended COMPLETED"),
        ("CANCELLED", "cancelled by its user or an admin"),
        ("PREEMPTED", "ended PREEMPTED"),
    ],
)
@pytest.mark.parametrize("operation", [*RESTARTS, Operation.HOLD])
def test_what_ended_otherwise_is_never_revived(
    operation: Operation, state: str, reason: str
) -> None:
    item = planned(make_job(state=state), advise(operation), seen())
    assert words(item) == f"ABANDONED: {reason}"


@pytest.mark.parametrize("state", ["COMPLETING", "CONFIGURING", "SUSPENDED", "PENDING"])
def test_other_states_are_waited_out(state: str) -> None:
    assert words(planned(make_job(state=state), advise(), seen())) == f"wait: the job is {state}"


def test_a_job_that_must_not_be_requeued_is_left() -> None:
    item = planned(make_job(state="FAILED", requeue=False), advise(), seen())
    assert words(item) == "ABANDONED: the job can't be requeued (--no-requeue)"


def test_a_start_that_slurm_did_twice_is_not_ours() -> None:
    reason = "launch_failed_requeued_held"
    first = make_job(state="PENDING", reason=reason, priority=0, nodes=())
    assert words(planned(first, advise(), seen())) == f"ABANDONED: {reason}"
    assert words(planned(make_held(reason=reason), advise())) == f"ABANDONED: {reason}"


# --- the next attempt is held by us ---


def test_a_restart_waits_for_the_end_of_the_log() -> None:
    waiting = "wait: the end of the log is not durable yet"
    assert words(planned(make_held(), advise())) == waiting
    assert words(planned(make_held(), advise(), landed={f"{KEY}.0": False})) == waiting


def test_the_log_is_waited_for_only_so_long() -> None:
    job = make_held(admin_comment=MARKED_HELD)
    late = T1 + SECOND + 30 * SECOND
    assert words(planned(job, advise(), now=late - 1)).startswith("wait: the end of the log")
    step = step_of(planned(job, advise(), now=late))
    assert (step.action, step.reason) == (Action.RELEASE, "missing evidence: log end")


def test_a_restart_marks_then_releases() -> None:
    step = step_of(planned(make_held(admin_comment=MARKED), advise(), landed=LANDED))
    assert step.action is Action.MARK
    assert read_marker(step.text) == Marker(T0, (T0, T1), advise().advice_id)
    job = make_held(admin_comment=step.text)
    assert step_of(planned(job, advise(), landed=LANDED)).action is Action.RELEASE


@pytest.mark.parametrize("outcome", [Outcome.DONE, Outcome.REFUSED])
def test_no_restart_fails_for_want_of_a_marker(outcome: Outcome) -> None:
    tried = deed(Action.MARK, advise(), outcome=outcome)
    item = planned(make_held(), advise(), seen(), seen(1), HOLD_DEED, tried, landed=LANDED)
    assert step_of(item).action is Action.RELEASE


def test_a_marker_without_an_outcome_is_written_once_more() -> None:
    tried = deed(Action.MARK, advise(), outcome=Outcome.UNKNOWN, intended_at=NOW)
    first = planned(make_held(), advise(), seen(), seen(1), HOLD_DEED, tried, landed=LANDED)
    assert step_of(first).action is Action.MARK
    item = planned(make_held(), advise(), seen(), seen(1), HOLD_DEED, tried, tried, landed=LANDED)
    assert step_of(item).action is Action.RELEASE


def test_someone_elses_admin_comment_is_left_alone() -> None:
    job = make_held(admin_comment="moved by hand")
    assert step_of(planned(job, advise(), landed=LANDED)).action is Action.RELEASE


def test_exclusions_are_added_to_the_users_own() -> None:
    excluding = advise(Operation.RESTART_EXCLUDING)
    job = make_held(exclude_nodes=("node4",), num_nodes=1)
    step = step_of(planned(job, excluding, landed=LANDED))
    assert (step.action, step.nodes, step.asked) == (Action.EXCLUDE, ("node2", "node4"), ("node2",))


def test_exclusions_are_read_back_before_the_release() -> None:
    excluding = advise(Operation.RESTART_EXCLUDING)
    done = deed(Action.EXCLUDE, excluding, nodes=("node2",), intended_at=NOW - SECOND)
    memory = (seen(), seen(1), HOLD_DEED, done)
    item = planned(make_held(), excluding, *memory, landed=LANDED)
    assert words(item) == "wait: exclude was sent; its effect doesn't show yet"
    text = with_marker(None, Marker(T0, (T0, T1), excluding.advice_id))
    job = make_held(exclude_nodes=("node2",), admin_comment=text)
    assert step_of(planned(job, excluding, *memory, landed=LANDED)).action is Action.RELEASE


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"memory": remember(seen(), seen(1), HOLD_DEED, run_nodes={})}, "never seen on node2"),
        ({"settings": {"max_excluded_nodes": 0}}, "1 excluded node"),
        ({"nodes": make_nodes(2)}, "only 1 node of gpu would be left"),
        ({"nodes": make_nodes(4, node3="DOWN", node4="IDLE+DRAIN")}, "only 1 node"),
    ],
)
@pytest.mark.parametrize("job", [make_held(), make_job(), make_job(state="FAILED")])
def test_exclusions_are_checked_again(job: SlurmJob, changes: dict[str, Any], refusal: str) -> None:
    text = words(planned(job, advise(Operation.RESTART_EXCLUDING), landed=LANDED, **changes))
    assert text.startswith("ABANDONED: refused: ")
    assert refusal in text


@pytest.mark.parametrize(
    "limit", [{"settings": {"max_excluded_nodes": 1}}, {"nodes": make_nodes(3)}]
)
def test_exclusions_may_reach_their_limits(limit: dict[str, Any]) -> None:
    item = planned(make_held(), advise(Operation.RESTART_EXCLUDING), landed=LANDED, **limit)
    assert step_of(item).action is Action.EXCLUDE


def test_a_node_that_the_job_asks_for_is_not_excluded() -> None:
    job = make_held(required_nodes=("node2",))
    item = planned(job, advise(Operation.RESTART_EXCLUDING), landed=LANDED)
    assert words(item) == "ABANDONED: refused: the job itself asks for node2"


def test_the_cap_counts_all_restarts_of_a_job() -> None:
    before = deed(Action.EXCLUDE, nodes=("node1",), attempt=f"{KEY}.4")
    memory = (seen(), seen(1), HOLD_DEED, before)
    item = planned(
        make_held(num_nodes=1),
        advise(Operation.RESTART_EXCLUDING),
        *memory,
        landed=LANDED,
        settings={"max_excluded_nodes": 1},
    )
    assert words(item).startswith("ABANDONED: refused: 2 excluded nodes")


@pytest.mark.parametrize("state", ["ALLOCATED+NOT_RESPONDING", "DOWN*"])
def test_a_node_that_may_still_write_is_waited_for(state: str) -> None:
    nodes = make_nodes(4, node1=state)
    item = planned(make_held(), advise(), landed=LANDED, nodes=nodes)
    assert words(item) == "wait: node1 doesn't answer and may still be writing"
    fenced = make_held(comment='{"relume": {"run": "opus", "fenced_checkpoints": true}}')
    assert isinstance(planned(fenced, advise(), landed=LANDED, nodes=nodes), Step)
    elsewhere = make_nodes(4, node3=state)
    assert isinstance(planned(make_held(), advise(), landed=LANDED, nodes=elsewhere), Step)


@pytest.mark.parametrize("operation", [Operation.RESTART, Operation.STOP, Operation.OBSERVE])
def test_nothing_is_released_or_cancelled_on_an_unsettled_word(operation: Operation) -> None:
    item = planned(make_held(), advise(operation, settled=False), landed=LANDED)
    assert words(item) == "wait: held until the Advice is settled"


def test_nothing_is_released_while_it_completes() -> None:
    item = planned(make_held(state="COMPLETING"), advise(), landed=LANDED)
    assert words(item) == "wait: the job is COMPLETING"


def test_special_exit_is_ours_only_when_the_attempt_was_seen_running() -> None:
    job = make_held(state="SPECIAL_EXIT", reason="JobHeldUser", admin_comment=MARKED_HELD)
    ours = planned(job, advise(), seen(), seen(1), landed=LANDED)
    assert step_of(ours).action is Action.RELEASE
    unseen = planned(job, advise(), seen(running_at=None), seen(1), landed=LANDED)
    assert words(unseen) == "ABANDONED: held by its user or an admin"


@pytest.mark.parametrize(
    "job",
    [
        make_held(reason="JobHeldUser"),
        make_held(reason="JobHeldAdmin"),
        make_held(reason="JobHoldMaxRequeue"),
        make_held(state="SPECIAL_EXIT", reason="JobHeldAdmin"),
    ],
)
@pytest.mark.parametrize("operation", [*RESTARTS, Operation.STOP, Operation.HOLD])
def test_a_foreign_hold_is_left_alone(job: SlurmJob, operation: Operation) -> None:
    item = planned(job, advise(operation), landed=LANDED)
    assert words(item) == "ABANDONED: held by its user or an admin"


def test_a_users_own_requeue_hold_is_foreign() -> None:
    job = make_held(admin_comment=MARKED)
    assert words(planned(job, advise(), seen(), seen(1), landed=LANDED)).startswith("ABANDONED")
    refused = deed(Action.HOLD, outcome=Outcome.REFUSED)
    item = planned(job, advise(), seen(), seen(1), refused, landed=LANDED)
    assert words(item) == "ABANDONED: held by its user or an admin"


def test_a_hold_whose_outcome_we_never_learnt_is_ours() -> None:
    unknown = deed(Action.HOLD, advise(), outcome=Outcome.UNKNOWN, intended_at=NOW)
    item = planned(make_held(), advise(), seen(), seen(1), unknown, landed=LANDED)
    assert isinstance(item, Step)


def test_observe_takes_our_hold_off() -> None:
    step = step_of(planned(make_held(), advise(Operation.OBSERVE)))
    assert (step.action, step.reason) == (Action.RELEASE, "nothing is to be done about it")


def test_observe_is_done_by_doing_nothing() -> None:
    assert words(planned(make_job(), advise(Operation.OBSERVE), seen())) == "CONVERGED: None"
    assert planned(make_job(), advise(Operation.OBSERVE, settled=False), seen()) is None


# --- the next attempt is under way ---


@pytest.mark.parametrize(
    "job",
    [
        make_held(reason="BeginTime", priority=50),
        make_held(state="RUNNING", reason=None, priority=50),
        make_held(state="COMPLETED", reason=None, priority=50),
        make_held(restart_count=3, submit_time=T1 + SECOND, state="RUNNING", priority=50),
    ],
)
@pytest.mark.parametrize("operation", RESTARTS)
def test_what_we_released_has_converged(job: SlurmJob, operation: Operation) -> None:
    released = deed(Action.RELEASE, advise(operation))
    later = seen(3, submit_time=T1 + SECOND)
    item = planned(job, advise(operation), seen(), seen(1), later, HOLD_DEED, released)
    assert words(item) == "CONVERGED: None"


def test_a_release_without_the_log_says_so() -> None:
    released = deed(Action.RELEASE, advise(), reason="missing evidence: log end")
    job = make_held(state="RUNNING", priority=50)
    item = planned(job, advise(), seen(), seen(1), HOLD_DEED, released)
    assert words(item) == "CONVERGED: missing evidence: log end"


@pytest.mark.parametrize("operation", [*RESTARTS, Operation.STOP, Operation.HOLD])
def test_an_admin_who_released_wins(operation: Operation) -> None:
    item = planned(make_held(state="RUNNING", priority=50), advise(operation))
    assert words(item) == "ABANDONED: released or restarted by somebody else"


def test_a_changed_mind_comes_too_late() -> None:
    released = deed(Action.RELEASE, advise())
    job = make_held(state="RUNNING", priority=50)
    item = planned(job, advise(Operation.STOP), seen(), seen(1), HOLD_DEED, released)
    assert words(item) == "ABANDONED: restarted before this was decided"


def test_a_user_who_cancelled_wins() -> None:
    item = planned(make_held(state="CANCELLED"), advise(), landed=LANDED)
    assert words(item) == "ABANDONED: cancelled by its user or an admin"


@pytest.mark.parametrize(
    ("operation", "last", "disposition"),
    [
        (Operation.RESTART, None, "ABANDONED"),
        (Operation.RESTART, Action.RELEASE, "CONVERGED"),
        (Operation.STOP, Action.CANCEL, "CONVERGED"),
        (Operation.STOP, None, "ABANDONED"),
    ],
)
def test_a_job_that_is_gone(operation: Operation, last: Action | None, disposition: str) -> None:
    deeds = () if last is None else (deed(last, advise(operation)),)
    item = planned(None, advise(operation), seen(), HOLD_DEED, *deeds)
    assert words(item) == f"{disposition}: the job is gone"


# --- stop ---


def test_a_running_job_may_end_by_itself_before_it_is_stopped() -> None:
    stop = advise(Operation.STOP)
    memory = remember(seen(), accepted={stop.advice_id: Accepted(stop, NOW)})
    assert words(planned(make_job(), stop, memory=memory)) == "wait: it may still end by itself"
    step = step_of(planned(make_job(), stop, memory=memory, now=NOW + 30 * SECOND))
    assert step.action is Action.MARK
    message = (read_marker(step.text) or Marker(0)).message or ""
    assert "would fail the same way again (gpu_lost)" in message
    job = make_job(admin_comment=step.text)
    assert step_of(planned(job, stop, memory=memory, now=NOW + 30 * SECOND)).action is Action.CANCEL


def test_a_held_job_is_stopped_and_its_user_is_told() -> None:
    stop = advise(Operation.STOP)
    step = step_of(planned(make_held(), stop))
    message = (read_marker(step.text) or Marker(0)).message or ""
    assert step.action is Action.MARK
    assert "FAILED" in message
    assert "CANCELLED" in message
    assert step_of(planned(make_held(admin_comment=step.text), stop)).action is Action.CANCEL
    cancelled = make_held(state="CANCELLED", reason="JobHeldUser", admin_comment=step.text)
    done = deed(Action.CANCEL, stop)
    item = planned(cancelled, stop, seen(), seen(1), HOLD_DEED, done)
    assert words(item) == "CONVERGED: cancelled; FAILED became CANCELLED"


@pytest.mark.parametrize("state", ["FAILED", "CANCELLED", "TIMEOUT"])
def test_a_job_that_ended_by_itself_is_stopped_already(state: str) -> None:
    item = planned(make_job(state=state), advise(Operation.STOP), seen())
    assert words(item) == f"CONVERGED: ended {state}"


def test_a_job_that_completed_was_not_stopped() -> None:
    item = planned(make_job(state="COMPLETED"), advise(Operation.STOP), seen())
    assert words(item) == "ABANDONED: ended COMPLETED"


# --- deadlines ---


def test_a_hold_lasts_until_it_expires() -> None:
    hold = advise(Operation.HOLD, expires_at=NOW + 60 * SECOND)
    assert words(planned(make_held(), hold)) == "wait: held until the Advice expires"
    step = step_of(planned(make_held(), hold, now=NOW + 60 * SECOND))
    assert (step.action, step.reason) == (Action.RELEASE, "its deadline has passed")
    done = deed(Action.RELEASE, hold, intended_at=NOW + 60 * SECOND)
    free = make_held(reason=None, priority=50)
    item = planned(free, hold, seen(), seen(1), HOLD_DEED, done, now=NOW + 61 * SECOND)
    assert words(item) == "CONVERGED: expired"


def test_a_restart_past_its_deadline_is_let_go_and_says_so() -> None:
    late = advise(expires_at=NOW)
    assert step_of(planned(make_held(), late)).reason == "its deadline has passed"
    done = deed(Action.RELEASE, late, intended_at=NOW)
    free = make_held(reason=None, priority=50)
    item = planned(free, late, seen(), seen(1), HOLD_DEED, done)
    assert words(item) == "ABANDONED: expired before it was carried out; the hold was taken off"
    in_time = deed(Action.RELEASE, late, intended_at=NOW - SECOND)
    item = planned(free, late, seen(), seen(1), HOLD_DEED, in_time)
    assert words(item) == "CONVERGED: None"


def test_expired_advice_about_a_running_job_does_nothing() -> None:
    item = planned(make_job(), advise(expires_at=NOW), seen())
    assert words(item) == "ABANDONED: expired before it was carried out"


@pytest.mark.parametrize("operation", [Operation.HOLD, Operation.RESTART])
def test_no_advice_holds_a_job_for_ever(operation: Operation) -> None:
    """A service that means ill, or a deadline of next year: the hold is taken off all the same."""
    endless = advise(operation, expires_at=NOW + 10**9 * SECOND)
    short = {"max_hold_seconds": 600.0, "log_wait_seconds": 3600.0}

    def at(seconds: int, *what: Any, job: SlurmJob | None = None) -> Item | None:
        now = T1 + seconds * SECOND
        held = seen(), seen(1, held_at=T1), HOLD_DEED, *what
        return planned(job or make_held(), endless, *held, now=now, settings=short)

    assert isinstance(at(599), Wait)
    step = step_of(at(600))
    assert (step.action, step.reason) == (Action.RELEASE, "held for too long")
    free = make_held(priority=100, reason="BeginTime")
    released = deed(Action.RELEASE, endless, reason="held for too long", intended_at=T1)
    assert words(at(610, released, job=free)).startswith("CONVERGED")


def test_a_foreign_hold_is_left_when_the_advice_expires() -> None:
    item = planned(make_held(reason="JobHeldUser"), advise(expires_at=NOW))
    assert words(item) == "ABANDONED: expired before it was carried out"


def test_advice_that_the_service_took_back_is_abandoned() -> None:
    taken = advise()
    memory = remember(seen(), seen(1), accepted={taken.advice_id: Accepted(taken, NOW)})
    facts = make_facts(make_held(), memory=memory)
    (item,) = plan(facts, make_settings(), NOW)
    assert words(item) == "ABANDONED: withdrawn by the service"
    assert words(plan(facts, make_settings(), taken.expires_at)[0]).startswith("ABANDONED: expired")


# --- whose job it is ---


@pytest.mark.parametrize(
    "comment", [None, "", "debug", "{}", '{"relume": 1}', '{"APS": {"auto_resume_mode": "no"}}']
)
@pytest.mark.parametrize("job", [make_job(), make_job(state="FAILED"), make_held()])
@pytest.mark.parametrize("operation", [*RESTARTS, Operation.STOP, Operation.HOLD])
def test_a_job_without_opt_in_is_left_alone(
    comment: str | None, job: SlurmJob, operation: Operation
) -> None:
    fields = {name: getattr(job, name) for name in job.__slots__}
    item = planned(make_job(**(fields | {"comment": comment})), advise(operation), landed=LANDED)
    assert words(item).startswith("ABANDONED: the job did not opt in: ")


@pytest.mark.parametrize(
    "comment", [COMMENT, '{"APS": {"auto_resume_mode": "requeue"}}', '{"relume": {}, "x": 1}']
)
def test_both_spellings_opt_in(comment: str) -> None:
    assert isinstance(planned(make_job(state="FAILED", comment=comment), advise(), seen()), Step)


@pytest.mark.parametrize(
    ("partition", "allowed", "acts"),
    [
        ("gpu", ["gpu"], True),
        ("gpu", ["*"], True),
        ("gpu,debug", ["gpu", "debug"], True),
        ("gpu,debug", ["gpu"], False),
        ("gpu", [], False),
        ("gpu", ["gp"], False),
        ("", ["gpu"], False),
    ],
)
def test_only_listed_partitions_are_touched(
    partition: str,
    allowed: list[str],
    acts: bool,  # noqa: FBT001 - a row of the table
) -> None:
    job = make_job(state="FAILED", partition=partition)
    item = planned(job, advise(), seen(), settings={"partitions": allowed})
    assert isinstance(item, Step) is acts
    assert acts or "is not allowed" in words(item)


def test_a_job_that_must_not_run_twice_is_not_let_go_again() -> None:
    """RequeueExitHold holds --no-requeue jobs too; a release would be the second run."""
    job = make_held(state="SPECIAL_EXIT", reason="JobHeldUser", requeue=False)
    item = planned(job, advise(), seen(), seen(1), landed=LANDED)
    assert words(item) == "ABANDONED: the job can't be requeued (--no-requeue)"
    facts = make_facts(job, memory=remember(seen(), seen(1, held_at=T0)))
    assert plan(facts, make_settings(orphan_hold_seconds=1), NOW) == []


def test_a_component_of_a_heterogeneous_job_is_left() -> None:
    attempt = f"lab/7+1@{T0 // SECOND}.0"
    item = planned(make_job(job_id="7+1", state="FAILED"), advise(attempt=attempt))
    assert words(item) == "ABANDONED: components of heterogeneous jobs are not handled"


def test_a_job_id_that_was_given_out_again_is_another_job() -> None:
    job = make_job(state="FAILED", submit_time=T1)
    unseen = planned(job, advise(), seen())
    assert words(unseen) == "ABANDONED: the job was resubmitted: its submit time was never seen"
    other = seen(key=type(KEY)("lab", "7", T1), submit_time=T1)
    item = planned(job, advise(), seen(), other)
    assert words(item).startswith(
        "ABANDONED: the job was resubmitted: its id now belongs to lab/7@"
    )


def test_an_older_state_of_slurm_is_waited_out() -> None:
    about_next = advise(attempt=f"{KEY}.1")
    item = planned(make_job(), about_next, seen())
    assert words(item) == "wait: Slurm shows an earlier attempt"


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": Mode.MONITOR},
        {"mode": Mode.APPROVE},
        {"scope": Scope.CLUSTER, "operation": Operation.HOLD},
        {"attempt": f"other/7@{T0 // SECOND}.0"},
    ],
)
def test_other_advice_is_not_for_us(changes: dict[str, Any]) -> None:
    assert planned(make_job(state="FAILED"), advise(**changes), seen()) is None


@pytest.mark.parametrize("operation", [Operation.RESTART, Operation.STOP])
def test_what_a_person_must_approve_is_carried_out_after_that_only(operation: Operation) -> None:
    def answered(answer: Answer | None) -> Item | None:
        approval = None if answer is None else Approval(answer, "on call", None, NOW)
        asked = advise(operation, mode=Mode.APPROVE, approval=approval)
        return planned(make_job(state="FAILED"), asked, seen())

    for refused in (None, Answer.REJECTED, Answer.EXPIRED):
        assert answered(refused) is None
    asked = answered(Answer.APPROVED)
    expected = planned(make_job(state="FAILED"), advise(operation), seen())
    assert asked is not None
    assert expected is not None
    if isinstance(expected, Step):
        assert step_of(asked).action is expected.action
    else:
        assert words(asked) == words(expected)


@pytest.mark.parametrize("answer", [Answer.REJECTED, Answer.EXPIRED])
def test_a_hold_is_let_go_when_nobody_wants_it(answer: Answer) -> None:
    now = T1 + SECOND + 900 * SECOND
    approval = Approval(answer, "on call", None, now)
    refused = advise(mode=Mode.APPROVE, expires_at=now + 900 * SECOND, approval=approval)
    what = (seen(), seen(1), HOLD_DEED)
    (item,) = alone(make_held(admin_comment=MARKED), *what, now=now, advice=(refused,))
    assert step_of(item).action is Action.RELEASE


def test_an_attempt_that_is_no_attempt_is_abandoned() -> None:
    assert words(planned(make_job(), advise(attempt="7-0"), seen())).startswith("ABANDONED")


def test_only_the_newest_generation_counts() -> None:
    old, new = advise(settled=False), advise(Operation.STOP)
    facts = make_facts(make_job(state="FAILED"), advice=(new, old), memory=remember(seen()))
    assert [words(item) for item in plan(facts, make_settings(), NOW)] == [
        "CONVERGED: ended FAILED"
    ]


def test_closed_advice_is_over() -> None:
    done = advise()
    memory = remember(seen(), accepted={done.advice_id: Accepted(done, NOW, closed=True)})
    facts = make_facts(make_job(state="FAILED"), advice=(done,), memory=memory)
    assert plan(facts, make_settings(), NOW) == []


# --- patience and limits ---


@pytest.mark.parametrize("outcome", [Outcome.DONE, Outcome.UNKNOWN, Outcome.REFUSED])
def test_a_step_is_not_repeated_at_once(outcome: Outcome) -> None:
    def at(seconds: int, count: int = 1) -> Item | None:
        tried = deed(Action.HOLD, advise(), outcome=outcome, intended_at=NOW)
        tries = [tried] * count
        now = NOW + seconds * SECOND
        return planned(make_job(state="FAILED"), advise(), seen(), *tries, now=now)

    assert words(at(29)) == "wait: hold was sent; its effect doesn't show yet"
    assert isinstance(at(30), Step)
    assert words(at(30, count=5)).startswith("ABANDONED: hold didn't succeed in 5 tries")


def test_a_clock_that_was_put_back_stops_nothing() -> None:
    """When a deed of the future was done is not known: not that it was just now."""
    tried = deed(Action.HOLD, advise(), outcome=Outcome.UNKNOWN, intended_at=NOW + 3600 * SECOND)
    assert isinstance(planned(make_job(state="FAILED"), advise(), seen(), tried), Step)
    again = deed(Action.HOLD, advise(), outcome=Outcome.UNKNOWN, intended_at=NOW)
    waits = planned(make_job(state="FAILED"), advise(), seen(), tried, again)
    assert words(waits).startswith("wait: hold was sent")


def test_the_other_kind_of_hold_may_still_come() -> None:
    """It ended while we asked Slurm to requeue it as a running job."""

    def after(outcome: Outcome, seconds: int) -> Item | None:
        tried = deed(Action.HOLD_RUNNING, advise(), outcome=outcome, intended_at=NOW)
        now = NOW + seconds * SECOND
        return planned(make_job(state="FAILED"), advise(), seen(), tried, now=now)

    assert step_of(after(Outcome.REFUSED, 1)).action is Action.HOLD
    assert step_of(after(Outcome.DONE, 1)).action is Action.HOLD
    assert words(after(Outcome.UNKNOWN, 1)).startswith("wait: hold was sent")
    assert step_of(after(Outcome.UNKNOWN, 30)).action is Action.HOLD


def test_attempts_wait_for_their_turn_in_the_hour() -> None:
    others = {f"lab/{number}@1.0": NOW - number * SECOND for number in range(1, 4)}
    job = make_job(state="FAILED")
    full = planned(
        job, advise(), memory=remember(seen(), tried=others), settings={"max_actions_per_hour": 3}
    )
    assert "max_actions_per_hour" in words(full)
    begun = remember(seen(), tried=others | {f"{KEY}.0": NOW})
    item = planned(job, advise(), memory=begun, settings={"max_actions_per_hour": 3})
    assert isinstance(item, Step)
    old = dict.fromkeys(others, NOW - 3600 * SECOND)
    item = planned(
        job, advise(), memory=remember(seen(), tried=old), settings={"max_actions_per_hour": 3}
    )
    assert isinstance(item, Step)


def test_a_job_is_restarted_only_so_often_a_day() -> None:
    often = {str(KEY): (NOW, NOW - 1)}
    limit = {"max_restarts_per_day": 2}
    memory = remember(seen(), seen(1), HOLD_DEED, restarts=often)
    for job in (make_job(state="FAILED"), make_held()):
        item = planned(job, advise(), memory=memory, landed=LANDED, settings=limit)
        assert "max_restarts_per_day" in words(item)
    expired = advise(expires_at=NOW)
    item = planned(make_held(), expired, memory=memory, settings=limit)
    assert "max_restarts_per_day" in words(item)


# --- without Advice ---


def alone(job: SlurmJob, *what: Any, now: int = NOW, **changes: Any) -> list[Item]:
    return plan(make_facts(job, memory=remember(*what), **changes), make_settings(), now)


def test_running_jobs_are_marked_once() -> None:
    (item,) = alone(make_job(admin_comment='{"ticket": 3}'), seen())
    step = step_of(item)
    assert (step.action, step.advice_id) == (Action.MARK, None)
    assert (
        step.text
        == f'{{"ticket":3,"relume":{{"first_submit":{T0 // SECOND},"seen":[{T0 // SECOND}]}}}}'
    )
    assert alone(make_job(admin_comment=step.text), seen()) == []
    assert alone(make_job(admin_comment="by hand"), seen()) == []
    assert alone(make_job(comment=None), seen()) == []
    assert alone(make_job()) == []
    tried = deed(Action.MARK, intended_at=NOW - SECOND)
    assert alone(make_job(), seen(), tried) == []


def test_a_marker_learns_the_next_submit_time_and_keeps_its_words() -> None:
    text = with_marker(None, Marker(T0, (T0,), "id", "words"))
    job = make_held(state="RUNNING", priority=50, admin_comment=text)
    (item,) = alone(job, seen(), seen(1))
    assert read_marker(step_of(item).text) == Marker(T0, (T0, T1), "id", "words")


def test_a_hold_without_a_marker_gets_one() -> None:
    """A job that failed before it was seen running has none; the journal may be lost."""
    (item,) = alone(make_held(), seen(), seen(1), HOLD_DEED)
    step = step_of(item)
    assert (step.action, step.advice_id) == (Action.MARK, None)
    assert read_marker(step.text) == Marker(T0, (T1,))
    assert alone(make_held(admin_comment=step.text), seen(), seen(1), HOLD_DEED) == []
    assert alone(make_held(reason="JobHeldUser"), seen(), seen(1), HOLD_DEED) == []
    waits, mark = alone(make_held(), seen(), seen(1), HOLD_DEED, advice=(advise(Operation.HOLD),))
    assert words(waits) == "wait: held until the Advice expires"
    assert step_of(mark).action is Action.MARK


def test_a_hold_that_nobody_asks_for_is_taken_off() -> None:
    what = (seen(), seen(1), HOLD_DEED)
    since = T1 + SECOND
    assert alone(make_held(admin_comment=MARKED), *what, now=since + 900 * SECOND - 1) == []
    (item,) = alone(make_held(admin_comment=MARKED), *what, now=since + 900 * SECOND)
    assert (step_of(item).action, step_of(item).attempt) == (Action.RELEASE, f"{KEY}.0")
    assert alone(make_held(admin_comment=MARKED), seen(), seen(1), now=since + 900 * SECOND) == []
    assert (
        alone(
            make_held(reason="JobHeldUser", admin_comment=MARKED), *what, now=since + 900 * SECOND
        )
        == []
    )
    asked = advise(Operation.HOLD, expires_at=since + 9_000 * SECOND)
    items = alone(make_held(admin_comment=MARKED), *what, now=since + 900 * SECOND, advice=(asked,))
    assert words(items[0]) == "wait: held until the Advice expires"
    unanswered = advise(mode=Mode.APPROVE, expires_at=since + 90_000 * SECOND)
    assert (
        alone(
            make_held(admin_comment=MARKED), *what, now=since + 900 * SECOND, advice=(unanswered,)
        )
        == []
    )
    (item,) = alone(
        make_held(admin_comment=MARKED), *what, now=since + 7200 * SECOND, advice=(unanswered,)
    )
    assert (step_of(item).action, step_of(item).reason) == (Action.RELEASE, "held for too long")
    seen_only = advise(mode=Mode.MONITOR, expires_at=since + 9_000 * SECOND)
    (item,) = alone(
        make_held(admin_comment=MARKED), *what, now=since + 900 * SECOND, advice=(seen_only,)
    )
    assert step_of(item).action is Action.RELEASE
