"""Made-up slow jobs: what happens in them is what is seen, and the truth decides nothing."""

from __future__ import annotations

import numpy as np
import pytest

from relume.benchmarks.straggler import node_or_job
from relume.benchmarks.straggler.cases import case
from relume.benchmarks.straggler.causes import AS_PUBLISHED, NODE_CAUSES, Cause, draw_causes
from relume.benchmarks.straggler.node_or_job import Judged, judge
from relume.models.straggler.evidence import Answer, Blame
from relume.verdict import Domain, Health


@pytest.mark.parametrize("cause", Cause)
def test_a_case_is_the_same_whenever_it_is_made(cause: Cause) -> None:
    one, same = case(5, cause), case(5, cause)
    assert one.node == same.node
    assert one.evidence.ratio == same.evidence.ratio
    assert (one.node is not None) == one.is_node == (cause in NODE_CAUSES)


@pytest.mark.parametrize("cause", Cause)
def test_a_case_is_slow(cause: Cause) -> None:
    ratios = [case(number, cause).evidence.ratio for number in range(20)]
    assert np.median(ratios) > 1.1


def test_what_is_seen_follows_from_what_happens() -> None:
    seen = [case(number, Cause.SLOW_WORKER) for number in range(40)]
    with_ranks = [one for one in seen if one.shows_ranks]
    assert with_ranks
    for one in with_ranks:
        known = one.evidence.ranks
        assert known is not None
        assert known.nodes is not None
        slowest = int(np.nanargmax(np.nanmedian(known.times, axis=0)))
        assert known.nodes[slowest] == one.node


def test_healthy_nodes_look_healthy() -> None:
    for number in range(10):
        conditions = case(number, Cause.SEQUENCES).evidence.conditions
        assert Health.UNHEALTHY not in {one.health for one in conditions.values()}


def test_the_published_mix_has_a_bad_worker_in_two_of_a_hundred() -> None:
    causes = draw_causes(20_000, AS_PUBLISHED, 3)
    share = sum(cause in {Cause.SLOW_WORKER, Cause.SLOW_NODE} for cause in causes) / len(causes)
    assert share == pytest.approx(0.017, abs=0.004)
    assert sum(AS_PUBLISHED.values()) == pytest.approx(1.0)


def answer(*nodes: str, blame: Blame = Blame.NODE) -> Answer:
    return Answer(blame, None, Domain.UNKNOWN, 0.9, nodes, why=("said",))


def test_the_very_node_must_be_named() -> None:
    node, job = case(1, Cause.SLOW_NODE), case(1, Cause.DATA)
    assert node.node is not None
    assert Judged(node, answer(node.node)).is_right
    assert not Judged(node, answer("n999")).is_right
    assert not Judged(node, answer(blame=Blame.JOB)).is_right
    assert Judged(job, answer(blame=Blame.JOB)).is_right
    assert Judged(job, answer("n001")).excludes
    assert not Judged(job, answer(blame=Blame.UNKNOWN)).is_answered


def test_it_counts_by_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_or_job, "QUICK_CASES", 12)
    monkeypatch.setattr(node_or_job, "QUICK_HALF_CASES", 12)
    result = node_or_job.run(None, quick=True)
    assert result.corpus["cases"] <= 12
    assert set(result.bars) <= set(result.measures)
    said = result.notes["said"]["half_nodes"]
    assert sum(sum(told.values()) for told in said.values()) == result.corpus["half_nodes_cases"]


def test_most_of_a_few_are_right() -> None:
    judged = judge(30, AS_PUBLISHED, 9)
    answered = [one for one in judged if one.is_answered]
    assert sum(one.is_right for one in answered) >= 0.9 * len(answered)
