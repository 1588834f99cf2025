"""Each rule and each guard of the policy, by the situation it is for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from policies import HANG, LOST_GPU, WORKLOAD, verdict, view
from relume.advice import Mode, Operation
from relume.models.policy.decide import decide
from relume.models.policy.fingerprint import fingerprint
from relume.models.policy.guards import counted_tries
from relume.models.policy.policy import Policy
from relume.models.policy.record import to_advice
from relume.models.policy.view import JobWishes, PastAttempt, Surroundings
from relume.verdict import Domain, Kind, Retry

POLICY = Policy()


@pytest.mark.parametrize(
    ("changes", "operation", "rule"),
    [
        ({}, "RESTART", "restart"),
        ({"verdict": LOST_GPU}, "RESTART_EXCLUDING", "exclude_culprit"),
        ({"verdict": LOST_GPU, "settled": False}, "RESTART", "restart"),
        ({"verdict": LOST_GPU, "wishes": JobWishes(exclude=False)}, "RESTART", "restart"),
        ({"verdict": WORKLOAD}, "RESTART", "restart"),
        ({"verdict": verdict(domain=Domain.SCHEDULER)}, "OBSERVE", "scheduler_decision"),
        ({"scheduler_state": "NODE_FAIL"}, "OBSERVE", "slurm_requeues"),
        ({"verdict": verdict(kind=Kind.UNKNOWN)}, "RESTART", "unknown_exit"),
        (
            {"verdict": verdict(kind=Kind.UNKNOWN), "ended": False, "scheduler_state": "RUNNING"},
            "OBSERVE",
            "no_failure",
        ),
        (
            {"verdict": verdict(kind=Kind.BENIGN), "scheduler_state": "COMPLETED"},
            "OBSERVE",
            "scheduler_end",
        ),
        ({"verdict": verdict(domain=Domain.NETWORK)}, "HOLD", "network_back_off"),
        ({"verdict": HANG, "ended": False}, "HOLD", "unattributed_hang"),
        (
            {"verdict": replace(HANG, rule="actionable_gap"), "ended": False},
            "RESTART",
            "confirmed_hang",
        ),
    ],
)
def test_rules(changes: dict[str, Any], operation: str, rule: str) -> None:
    decision = decide(view(**changes), POLICY)
    assert (decision.operation.value, decision.rule) == (operation, rule)
    assert decision.reason


def past(count: int, last_step: int | None, name: str | None = None) -> PastAttempt:
    return PastAttempt(count, name or fingerprint(WORKLOAD), None, last_step)


def test_the_same_workload_failure_without_progress_stops() -> None:
    stopped = decide(view(verdict=WORKLOAD, history=(past(0, 40),), last_step=40), POLICY)
    advanced = decide(view(verdict=WORKLOAD, history=(past(0, 40),), last_step=60), POLICY)
    other = decide(view(verdict=WORKLOAD, history=(past(0, 40, "x"),), last_step=40), POLICY)
    unwished = view(
        verdict=WORKLOAD,
        history=(past(0, 40),),
        last_step=40,
        wishes=JobWishes(stop_on_repeat=False),
    )
    assert stopped.operation is Operation.STOP
    assert stopped.rule == "identical_failure"
    assert advanced.operation is Operation.RESTART
    assert other.operation is Operation.RESTART
    assert decide(unwished, POLICY).operation is Operation.RESTART


@pytest.mark.parametrize("cause", [None, "host_out_of_memory"])
def test_what_no_line_shows_is_tried_again_until_the_tries_are_used_up(cause: str | None) -> None:
    """Two attempts of which accounting alone says that they failed may have failed in two ways."""
    untold = replace(WORKLOAD, cause=cause, rule=None, root_line=None, root_file=None, evidence=())
    history = tuple(past(n, 40, fingerprint(untold)) for n in range(4))
    changes: dict[str, Any] = {"verdict": untold, "scheduler_state": "OUT_OF_MEMORY"}
    again = view(**changes, history=history[:2], last_step=40)
    assert decide(again, POLICY).operation is Operation.RESTART
    assert counted_tries(again) == 1
    last = decide(view(**changes, history=history, last_step=40), POLICY)
    assert (last.operation, last.rule) == (Operation.STOP, "restart")
    assert [guard.name for guard in last.guards] == ["max_restarts"]


def test_what_was_reached_before_is_no_progress() -> None:
    history = (past(0, 40), past(1, 20))
    came_up_again = decide(view(verdict=WORKLOAD, history=history, last_step=30), POLICY)
    assert came_up_again.operation is Operation.STOP


def test_tries_that_made_progress_do_not_count() -> None:
    history = tuple(past(n, step, str(n)) for n, step in enumerate((10, 20, 20, None, 30)))
    assert counted_tries(view(history=history)) == 2


def test_no_tries_left_stops() -> None:
    history = tuple(past(n, None, str(n)) for n in range(3))
    decision = decide(view(history=history), POLICY)
    assert decision.operation is Operation.STOP
    assert [guard.name for guard in decision.guards] == ["max_restarts"]
    wished = view(history=history[:1], wishes=JobWishes(max_restarts=1))
    assert decide(wished, POLICY).operation is Operation.STOP
    greedy = view(history=history, wishes=JobWishes(max_restarts=99))
    assert decide(greedy, POLICY).operation is Operation.STOP


@pytest.mark.parametrize(
    ("changes", "guard"),
    [
        ({"run_nodes": ("n1", "n3")}, "foreign_node"),
        ({"required_nodes": ("n2",)}, "required_node"),
        ({"around": Surroundings(placeable_nodes=3), "needed_nodes": 3}, "placement"),
        (
            {
                "around": Surroundings(placeable_nodes=4),
                "needed_nodes": 3,
                "excluded_by_user": ("n4",),
            },
            "placement",
        ),
    ],
)
def test_an_exclusion_that_cannot_be_met_becomes_a_plain_restart(
    changes: dict[str, Any], guard: str
) -> None:
    decision = decide(view(verdict=LOST_GPU, **changes), POLICY)
    assert decision.operation is Operation.RESTART
    assert decision.exclude_nodes == ()
    assert [g.name for g in decision.guards] == [guard]


def test_more_nodes_than_the_cap_are_not_excluded() -> None:
    many = replace(LOST_GPU, exclude_nodes=("n1", "n2", "n3"))
    decision = decide(view(verdict=many), POLICY)
    assert [g.name for g in decision.guards] == ["exclusion_cap"]


def test_a_hold_expires_sooner_than_other_advice() -> None:
    hold = decide(view(verdict=verdict(domain=Domain.NETWORK)), POLICY)
    assert hold.expires_in_seconds == POLICY.hold_seconds


def test_an_unsettled_generation_never_excludes_and_generations_chain() -> None:
    open_view = view(verdict=LOST_GPU, settled=False)
    first = to_advice(decide(open_view, POLICY), open_view, generation=1, mode=Mode.ACT, now=10)
    settled = view(verdict=LOST_GPU)
    second = to_advice(decide(settled, POLICY), settled, generation=2, mode=Mode.ACT, now=20)
    assert (first.operation, first.exclude_nodes, first.decided_at) == (Operation.RESTART, (), None)
    assert (second.operation, second.exclude_nodes) == (Operation.RESTART_EXCLUDING, ("n2",))
    assert second.supersedes == first.advice_id
    assert second.decided_at == 20


@pytest.mark.parametrize("settled", [True, False])
def test_what_a_person_must_approve_is_not_decided_by_itself(*, settled: bool) -> None:
    one = view(verdict=LOST_GPU, settled=settled)
    advice = to_advice(decide(one, POLICY), one, generation=1, mode=Mode.APPROVE, now=10)
    assert advice.decided_at is None


NUMERIC = verdict(kind=Kind.NUMERIC, domain=Domain.WORKLOAD, retry=Retry.NO)


@pytest.mark.parametrize("wanted", [Operation.OBSERVE, Operation.HOLD, Operation.STOP])
def test_a_numeric_failure_is_only_reported_unless_the_site_says_more(wanted: Operation) -> None:
    assert decide(view(verdict=NUMERIC), POLICY).operation is Operation.OBSERVE
    policy = replace(POLICY, numeric=wanted)
    decision = decide(view(verdict=NUMERIC), policy)
    assert (decision.operation, decision.rule, decision.exclude_nodes) == (wanted, "numeric", ())
    for left_alone in (
        {"ended": False, "scheduler_state": "RUNNING"},
        {"scheduler_state": "COMPLETED"},
    ):
        running = decide(view(verdict=NUMERIC, **left_alone), policy)
        assert running.operation is Operation.OBSERVE
