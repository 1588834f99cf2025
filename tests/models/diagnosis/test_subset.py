"""What only some nodes lack is theirs, what all lack is the job's."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from making import make_episode, make_hit, make_signature
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import Episode, SchedulerFacts
from relume.models.ranks.mapping import RankMap, RankPlace
from relume.models.signatures.rule import Implicates, Signature
from relume.reasons import ReasonCode
from relume.verdict import Domain, Locator, Retry

MISSING = make_signature("missing", cause="missing_file", implicates=Implicates.PRINTER)
PROGRAM = make_signature("program", cause="user_exception", implicates=Implicates.PRINTER)
NODES = ("n1", "n2", "n3", "n4")


def episode_of(
    printers: Iterable[int], signature: Signature = MISSING, per_node: int = 4
) -> Episode:
    hits = [make_hit(signature, rank, rank=rank) for rank in printers]
    episode = make_episode(*hits)
    world = per_node * len(NODES)
    places = {rank: RankPlace(NODES[rank // per_node]) for rank in range(world)}
    episode.ranks = RankMap(places, world_size=world, nodes=NODES)
    episode.scheduler = SchedulerFacts("FAILED", 1, nodes=NODES)
    return episode


def test_all_processes_of_one_node_accuse_the_node() -> None:
    verdict = diagnose(episode_of(range(4, 8)))
    assert verdict.culprit == Locator(node="n2")
    assert (verdict.domain, verdict.retry) == (Domain.PLATFORM, Retry.YES)
    assert verdict.exclude_nodes == ("n2",)
    assert ReasonCode.SOME_NODES_ONLY in {reason.code for reason in verdict.reasons}


def test_two_nodes_that_fail_alike_are_named_but_not_excluded() -> None:
    verdict = diagnose(episode_of(range(4, 12)))
    assert verdict.culprit.node in {"n2", "n3"}
    assert verdict.domain is Domain.PLATFORM
    assert verdict.exclude_nodes == ()


def test_what_all_nodes_lack_is_the_jobs() -> None:
    verdict = diagnose(episode_of(range(16)))
    assert verdict.culprit == Locator()
    assert (verdict.domain, verdict.retry) == (Domain.WORKLOAD, Retry.NO)
    assert ReasonCode.ALL_NODES_ALIKE in {reason.code for reason in verdict.reasons}


@pytest.mark.parametrize(
    ("printers", "signature"),
    [([0], MISSING), ([5], MISSING), (range(12), MISSING), (range(4, 8), PROGRAM)],
)
def test_one_process_most_nodes_and_program_errors_accuse_no_node(
    printers: Iterable[int], signature: Signature
) -> None:
    verdict = diagnose(episode_of(printers, signature))
    assert verdict.domain is Domain.WORKLOAD
    assert verdict.exclude_nodes == ()
    assert ReasonCode.SOME_NODES_ONLY not in {reason.code for reason in verdict.reasons}


def test_one_process_on_each_node_is_a_whole_node() -> None:
    assert diagnose(episode_of([2], per_node=1)).culprit == Locator(node="n3")


def test_a_printer_of_unknown_node_leaves_it_open() -> None:
    episode = episode_of(range(4, 8))
    episode.ranks = RankMap({4: RankPlace("n2")}, world_size=16, nodes=NODES)
    verdict = diagnose(episode)
    assert verdict.domain is Domain.WORKLOAD
    assert verdict.exclude_nodes == ()


@pytest.mark.parametrize(
    ("printers", "per_node", "node"),
    [(range(4, 8), 4, "n2"), (range(4, 7), 4, None), ([2], 1, None)],
)
def test_a_service_that_does_not_answer_leaves_no_node_out(
    printers: Iterable[int], per_node: int, node: str | None
) -> None:
    service = make_signature("hub", cause="hub_unavailable", implicates=Implicates.NOBODY)
    verdict = diagnose(episode_of(printers, service, per_node))
    assert verdict.culprit.node == node
    assert verdict.exclude_nodes == ()
