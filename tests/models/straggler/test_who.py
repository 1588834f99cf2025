"""Who is to blame: a node only on evidence of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.straggler.evidence import Answer, Blame, Condition, Evidence
from relume.models.straggler.ranks import RankTimes
from relume.models.straggler.who import who
from relume.verdict import Domain, Health

if TYPE_CHECKING:
    from numpy.typing import NDArray

RANKS = 16
NODES = ("n0", "n1", "n2", "n3")
HEALTHY = {node: Condition(Health.HEALTHY) for node in NODES}


def ranks(change: Any = None, *, noise: float = 0.01, **known: Any) -> RankTimes:
    draws = np.random.default_rng(1)
    times: NDArray[np.float64] = 4.0 * np.exp(noise * draws.standard_normal((24, RANKS)))
    if change is not None:
        change(times)
    nodes = tuple(NODES[rank // 4] for rank in range(RANKS))
    return RankTimes(times, tuple(range(RANKS)), **({"nodes": nodes} | known))


def slow_rank(times: NDArray[np.float64]) -> None:
    times[:, 6] *= 1.4


def slow_node(times: NDArray[np.float64]) -> None:
    times[:, 4:8] *= 1.4


def slow_stage(times: NDArray[np.float64]) -> None:
    times[:, 8:] *= 1.4


def all_slow(times: NDArray[np.float64]) -> None:
    times *= 1.4


def sick(node: str, cause: str = "thermal") -> dict[str, Condition]:
    return HEALTHY | {node: Condition(Health.UNHEALTHY, cause, "hot")}


def test_a_rank_that_works_longer_is_to_blame_with_its_node() -> None:
    answer = who(Evidence(1.4, ranks=ranks(slow_rank)))
    assert (answer.blame, answer.cause) == (Blame.NODE, "slow_worker")
    assert (answer.nodes, answer.ranks, answer.domain) == (("n1",), (6,), Domain.HARDWARE)


def test_a_node_all_ranks_of_which_work_longer_is_to_blame() -> None:
    answer = who(Evidence(1.4, ranks=ranks(slow_node)))
    assert (answer.blame, answer.nodes, answer.ranks) == (Blame.NODE, ("n1",), ())


def test_metrics_that_agree_give_the_cause() -> None:
    answer = who(Evidence(1.4, ranks=ranks(slow_rank), conditions=sick("n1")))
    assert (answer.cause, answer.nodes, answer.ranks) == ("thermal", ("n1",), (6,))
    assert answer.confidence > 0.95


def test_metrics_alone_accuse_and_never_acquit() -> None:
    assert who(Evidence(1.4, conditions=sick("n2"))).nodes == ("n2",)
    assert who(Evidence(1.4, conditions=HEALTHY)).blame is Blame.UNKNOWN


def test_a_throttled_node_whose_ranks_are_as_fast_as_the_others_is_not_to_blame() -> None:
    answer = who(Evidence(1.4, ranks=ranks(all_slow), conditions=sick("n1")))
    assert (answer.blame, answer.nodes) == (Blame.JOB, ())


def test_a_bad_link_makes_no_rank_work_longer_and_is_blamed_all_the_same() -> None:
    answer = who(Evidence(1.4, ranks=ranks(), conditions=sick("n1", "network")))
    assert (answer.blame, answer.nodes, answer.domain) == (Blame.NODE, ("n1",), Domain.NETWORK)


def test_what_half_of_the_nodes_have_is_no_fault_of_theirs() -> None:
    hot = sick("n0") | {"n1": Condition(Health.UNHEALTHY, "thermal")}
    assert who(Evidence(1.4, conditions=hot)).nodes == ()


def test_a_slow_stage_is_the_jobs_own() -> None:
    stages = tuple(rank // 8 for rank in range(RANKS))
    answer = who(Evidence(1.4, ranks=ranks(slow_stage, stages=stages)))
    assert (answer.blame, answer.cause, answer.nodes) == (Blame.JOB, "stage_imbalance", ())


def test_of_a_stage_on_a_node_of_its_own_it_may_be_either() -> None:
    stages = tuple(rank // 4 for rank in range(RANKS))
    evidence = Evidence(1.4, ranks=ranks(slow_node, stages=stages))
    assert who(evidence).blame is Blame.UNKNOWN
    known = Evidence(1.4, ranks=evidence.ranks, conditions=HEALTHY)
    assert (who(known).blame, who(known).cause) == (Blame.JOB, "stage_imbalance")


def test_uneven_sequences_are_the_jobs_own() -> None:
    answer = who(Evidence(1.4, ranks=ranks(noise=0.25)))
    assert (answer.blame, answer.cause) == (Blame.JOB, "sequence_imbalance")


def test_several_slow_ranks_are_nobodys_fault_that_can_be_named() -> None:
    def some(times: NDArray[np.float64]) -> None:
        times[:, [1, 6, 11]] *= 1.4

    answer = who(Evidence(1.4, ranks=ranks(some)))
    assert (answer.blame, answer.nodes) == (Blame.UNKNOWN, ())


@pytest.mark.parametrize(
    ("beside", "cause", "domain"),
    [(0, "data_loading", Domain.WORKLOAD), (5, "storage", Domain.FACILITY)],
)
def test_waiting_for_input(beside: int, cause: str, domain: Domain) -> None:
    answer = who(Evidence(1.4, waits=0.9, slow_beside=beside))
    assert (answer.blame, answer.cause, answer.domain) == (Blame.JOB, cause, domain)


def test_own_work_as_long_as_before_puts_it_between_the_ranks() -> None:
    known = ranks(before=np.full(RANKS, 4.0))
    assert who(Evidence(1.4, ranks=known)).cause == "between_steps"
    assert who(Evidence(1.4, ranks=known, waits=0.0)).cause == "network"


def test_steps_as_usual_between_slow_ones_have_something_mixed_in() -> None:
    assert who(Evidence(1.4, slow_share=0.4)).cause == "mixed_in"


@pytest.mark.parametrize(
    ("gradual", "cause"), [(True, "gradual_drift"), (False, "all_ranks_alike")]
)
def test_all_ranks_alike(*, gradual: bool, cause: str) -> None:
    answer = who(Evidence(1.4, ranks=ranks(all_slow), is_gradual=gradual))
    assert (answer.blame, answer.cause) == (Blame.JOB, cause)


def test_times_that_hold_waiting_for_the_others_never_acquit() -> None:
    answer = who(Evidence(1.4, ranks=ranks(all_slow, own_work=False)))
    assert answer.blame is Blame.UNKNOWN
    assert who(Evidence(1.4, ranks=ranks(slow_rank, own_work=False))).nodes == ("n1",)


def test_a_rank_that_is_slow_by_less_than_the_job_is_does_not_explain_it() -> None:
    def a_little(times: NDArray[np.float64]) -> None:
        times *= 1.4
        times[:, 6] *= 1.08

    assert who(Evidence(1.4, ranks=ranks(a_little))).nodes == ()


def test_the_same_node_in_other_slow_jobs_is_to_blame_unless_all_are_slow() -> None:
    often = {"n1": 3, "n2": 1}
    assert who(Evidence(1.4, slow_elsewhere=often)).nodes == ("n1",)
    assert who(Evidence(1.4, slow_elsewhere=often, slow_beside=4)).nodes == ()
    assert who(Evidence(1.4, slow_elsewhere={"n1": 3, "n2": 3})).nodes == ()


conditions = st.builds(Condition, st.sampled_from(list(Health)))
evidences = st.builds(
    Evidence,
    st.floats(1.0, 10.0),
    waits=st.none() | st.floats(0, 1),
    slow_share=st.floats(0, 1),
    is_gradual=st.booleans(),
    slow_beside=st.integers(0, 5),
    conditions=st.dictionaries(st.sampled_from(NODES), conditions),
    slow_elsewhere=st.dictionaries(st.sampled_from(NODES), st.integers(0, 5)),
)


@given(evidences)
def test_a_node_is_named_only_if_it_is_blamed(evidence: Evidence) -> None:
    answer: Answer = who(evidence)
    assert bool(answer.nodes) == (answer.blame is Blame.NODE)
    assert set(answer.nodes) <= {*evidence.conditions, *evidence.slow_elsewhere}
    assert 0.0 <= answer.confidence <= 1.0
    assert answer.why
