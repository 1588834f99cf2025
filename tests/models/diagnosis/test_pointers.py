"""Whom the launcher names: the first to end, unless it only lost others."""

from __future__ import annotations

from making import make_episode, make_hit, make_signature
from relume.models.diagnosis.diagnose import diagnose
from relume.models.diagnosis.episode import Episode, SchedulerFacts
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Exclude, Implicates, Role, Tier
from relume.reasons import ReasonCode
from relume.verdict import Domain, Locator

POINTER = make_signature(
    "pointer",
    category="slurm",
    role=Role.POINTER,
    tier=Tier.POINTER,
    implicates=Implicates.NAMED,
)
VICTIM = make_signature("victim", role=Role.CASCADE, tier=Tier.TEARDOWN, domain=Domain.UNKNOWN)
DEVICE = make_signature(
    "device",
    category="cuda",
    tier=Tier.HARDWARE,
    domain=Domain.HARDWARE,
    implicates=Implicates.PRINTER,
    exclude=Exclude.YES,
)


def ended(line: int, node: str, task: str) -> Hit:
    return make_hit(POINTER, line, captures={"nodes": node, "task": task, "exit_code": "1"})


def episode_of(*hits: Hit) -> Episode:
    episode = make_episode(*hits)
    episode.scheduler = SchedulerFacts("FAILED", 1, nodes=("n1", "n2"))
    return episode


def test_the_first_that_ended_is_named() -> None:
    verdict = diagnose(episode_of(ended(5, "n2", "3"), ended(6, "n1", "0")))
    assert verdict.culprit == Locator(node="n2", rank=3)


def test_one_that_only_lost_others_is_not() -> None:
    lost = [make_hit(VICTIM, rank, rank=rank) for rank in range(4)]
    verdict = diagnose(episode_of(*lost, ended(9, "n2", "3")))
    assert verdict.culprit == Locator()
    assert ReasonCode.VICTIM in {reason.code for reason in verdict.reasons}


def test_a_line_without_a_node_takes_it_from_the_launcher_and_excludes_nobody() -> None:
    alone = make_hit(DEVICE, 3, local_rank=3)
    verdict = diagnose(episode_of(alone, ended(9, "n2", "3")))
    assert verdict.culprit.node == "n2"
    assert verdict.exclude_nodes == ()
    twice = make_hit(DEVICE, 4, local_rank=5)
    assert diagnose(episode_of(alone, twice, ended(9, "n2", "3"))).culprit.node is None
