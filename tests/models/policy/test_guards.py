"""Guards on what goes on around an attempt; those on the attempt itself are in test_decide.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies import LOST_GPU, WORKLOAD, verdict, view
from relume.advice import Operation
from relume.models.policy.decide import decide
from relume.models.policy.guards import counted_tries
from relume.models.policy.policy import Policy, Preset
from relume.models.policy.rules import RULES
from relume.models.policy.view import PastAttempt, Surroundings
from relume.verdict import Domain, Kind

HOUR = 3_600_000_000
POLICY = Policy()


def around(**facts: Any) -> dict[str, Any]:
    return {"around": Surroundings(**facts)}


@pytest.mark.parametrize(
    ("facts", "guard", "operation"),
    [
        ({"failed_together": 5, "running": 10}, "blast_radius", Operation.HOLD),
        ({"failed_together": 5}, "blast_radius", Operation.HOLD),
        ({"failed_together": 5, "running": 100}, None, Operation.RESTART_EXCLUDING),
        ({"failed_together": 4, "running": 0}, None, Operation.RESTART_EXCLUDING),
        ({"seconds_left": 500.0}, "no_time_left", Operation.STOP),
        ({"seconds_left": 4000.0, "queue_seconds": 3500.0}, "no_time_left", Operation.STOP),
        ({"seconds_left": 4000.0, "restart_seconds": 300.0}, None, Operation.RESTART_EXCLUDING),
        (
            {"partition_nodes": 100, "partition_excluded": 5},
            "partition_cap",
            Operation.RESTART,
        ),
        ({"partition_nodes": 100, "partition_excluded": 4}, None, Operation.RESTART_EXCLUDING),
        ({"partition_nodes": 4}, None, Operation.RESTART_EXCLUDING),
        ({"partition_nodes": 4, "partition_excluded": 1}, "partition_cap", Operation.RESTART),
    ],
)
def test_guards_speak_on_what_is_known(
    facts: dict[str, Any], guard: str | None, operation: Operation
) -> None:
    decision = decide(view(verdict=LOST_GPU, **around(**facts)), POLICY)
    assert decision.operation is operation
    assert [one.name for one in decision.guards] == ([] if guard is None else [guard])
    assert bool(decision.exclude_nodes) is (operation is Operation.RESTART_EXCLUDING)


def test_tries_of_the_last_day_are_counted_apart() -> None:
    policy = replace(Policy.of(Preset.AGGRESSIVE), window_restarts=2)
    history = tuple(
        PastAttempt(number, str(number), None, None, ended_at=number * 10 * HOUR)
        for number in range(4)
    )
    soon = view(history=history, **around(now=40 * HOUR))
    late = view(history=history, **around(now=55 * HOUR))
    untimed = view(
        history=tuple(replace(past, ended_at=None) for past in history), **around(now=40 * HOUR)
    )
    decision = decide(soon, policy)
    assert (decision.operation, decision.guards[0].name) == (Operation.STOP, "window_restarts")
    assert decision.guards[0].words == "2 tries in 24 hours"
    assert decide(late, policy).operation is Operation.RESTART
    assert decide(untimed, policy).operation is Operation.RESTART
    assert counted_tries(soon, since=0) == counted_tries(soon) == 4


def test_whoever_acted_knows_better() -> None:
    acted = view(verdict=LOST_GPU, **around(admin_acted="node n2 was resumed"))
    decision = decide(acted, POLICY)
    assert (decision.operation, decision.rule) == (Operation.OBSERVE, "admin_acted")
    assert "n2 was resumed" in decision.reason


def test_a_decision_says_why_every_rule_before_it_passed() -> None:
    decision = decide(view(verdict=WORKLOAD), POLICY)
    names = [rule.__name__ for rule in RULES]
    assert [one.rule for one in decision.passed] == names[: names.index(decision.rule)]
    told = {one.rule: one.why for one in decision.passed}
    assert told["identical_failure"] == "1 in a row, 2 stop it"
    assert told["network_back_off"] == "the domain is workload, not network"
    assert all(told.values())


@pytest.mark.parametrize("preset", Preset)
def test_presets_go_from_careful_to_bold(preset: Preset) -> None:
    policy, bolder = Policy.of(preset), Policy.of(Preset.AGGRESSIVE)
    assert policy.max_restarts <= bolder.max_restarts
    assert policy.exclusion_cap <= bolder.exclusion_cap
    assert policy.partition_cap <= bolder.partition_cap
    assert policy.breaker_jobs <= bolder.breaker_jobs
    assert policy.identical_failures == 2


@given(
    kind=st.sampled_from(Kind),
    domain=st.sampled_from(Domain),
    state=st.sampled_from(["FAILED", "RUNNING", "NODE_FAIL", "CANCELLED", "UNKNOWN", "TIMEOUT"]),
    facts=st.fixed_dictionaries(
        {},
        optional={
            "failed_together": st.integers(0, 99),
            "running": st.integers(0, 99),
            "partition_nodes": st.integers(0, 99),
            "partition_excluded": st.integers(0, 99),
            "seconds_left": st.floats(0, 1e6),
            "queue_seconds": st.floats(0, 1e6),
            "now": st.integers(0, 2**60),
        },
    ),
    preset=st.sampled_from(Preset),
)
def test_guards_only_make_a_decision_more_careful(
    kind: Kind, domain: Domain, state: str, facts: dict[str, Any], preset: Preset
) -> None:
    """Whatever is known beside, nothing is restarted or left out that wouldn't be without it."""
    boldness = {
        Operation.OBSERVE: 0,
        Operation.STOP: 0,
        Operation.HOLD: 0,
        Operation.RESTART: 1,
        Operation.RESTART_EXCLUDING: 2,
    }
    told = verdict(kind=kind, domain=domain, exclude_nodes=("n2",))
    plain = view(verdict=told, scheduler_state=state, ended=state != "RUNNING")
    policy = Policy.of(preset)
    free, guarded = (
        decide(one, policy) for one in (plain, replace(plain, around=Surroundings(**facts)))
    )
    assert boldness[guarded.operation] <= boldness[free.operation]
    assert free.rule == guarded.rule
