from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom, poisson

from relume.errors import InputError
from relume.models.lemons.evidence import HARDWARE_GRADE
from relume.models.lemons.score import (
    PUBLIC_SIZE,
    Blame,
    chance_of,
    discoveries,
    fitted_size,
    score_nodes,
)
from relume.verdict import Domain

DAYS = {f"n{number}": 28.0 for number in range(200)}


def blames(node: str, count: int, domain: Domain = Domain.HARDWARE) -> list[Blame]:
    return [Blame(node, f"{node}-{number}", domain) for number in range(count)]


def ordinary(count: int = 80) -> list[Blame]:
    return [blame for number in range(count) for blame in blames(f"n{100 + number}", 1)]


@pytest.mark.parametrize("domain", sorted(set(Domain) - HARDWARE_GRADE))
def test_failures_of_other_domains_say_nothing_of_a_node(domain: Domain) -> None:
    scores = score_nodes([*ordinary(), *blames("n1", 30, domain)], DAYS)
    assert {score.faults for score in scores if score.node == "n1"} == {0.0}
    assert not any(score.is_lemon for score in scores)


def test_many_failures_of_one_attempt_are_no_lemon() -> None:
    once = [Blame("n1", "the same", Domain.HARDWARE)] * 8
    scores = score_nodes([*ordinary(), *once], DAYS)
    assert (scores[0].node, scores[0].attempts, scores[0].is_lemon) == ("n1", 1, False)
    again = score_nodes([*ordinary(), *once, Blame("n1", "another", Domain.NETWORK)], DAYS)
    assert again[0].is_lemon


def test_shared_blame_counts_as_much_as_its_share() -> None:
    shared = [Blame(f"n{node}", "job", Domain.HARDWARE, 1 / 16) for node in range(16)]
    scores = {score.node: score for score in score_nodes([*ordinary(), *shared], DAYS)}
    assert scores["n3"].faults == 1 / 16
    assert not scores["n3"].is_lemon


def test_a_fleet_without_faults_has_no_lemon() -> None:
    scores = score_nodes([], DAYS)
    assert len(scores) == len(DAYS)
    assert {(score.excess, score.p_value, score.is_lemon) for score in scores} == {(0, 1, False)}


def test_nodes_that_never_worked_are_not_scored() -> None:
    assert "idle" not in {score.node for score in score_nodes([], DAYS | {"idle": 0.0})}
    with pytest.raises(InputError, match="blame on ghost; found no node-days"):
        score_nodes(blames("ghost", 1), DAYS)
    with pytest.raises(InputError, match="0 to 1"):
        score_nodes([Blame("n1", "job", Domain.HARDWARE, 1.5)], DAYS)


@given(count=st.integers(1, 30), mean=st.floats(0.01, 20), size=st.floats(0.1, 50))
def test_chance_is_that_of_the_distribution(count: int, mean: float, size: float) -> None:
    expected = nbinom.sf(count - 1, size, size / (mean + size))
    assert chance_of(count, mean, size) == pytest.approx(expected, rel=1e-6, abs=1e-12)
    assert chance_of(count, mean, math.inf) == pytest.approx(poisson.sf(count - 1, mean), rel=1e-6)


def test_the_size_is_fitted_where_a_fleet_has_enough_faults() -> None:
    assert fitted_size([(0.0, 0.1)] * 50) == PUBLIC_SIZE
    counts = nbinom.rvs(0.93, 0.93 / (1.46 + 0.93), size=20_000, random_state=3)
    assert fitted_size([(float(count), 1.46) for count in counts]) == pytest.approx(0.93, rel=0.08)


@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=40))
def test_discoveries_are_the_smallest_values(p_values: dict[str, float]) -> None:
    found = discoveries(p_values, 0.05)
    assert all(p_values[name] <= 0.05 for name in found)
    if found:
        worst = max(p_values[name] for name in found)
        assert {name for name, p in p_values.items() if p < worst} <= found
    assert {name for name, p in p_values.items() if p * len(p_values) <= 0.05} <= found
