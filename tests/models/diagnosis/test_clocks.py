"""Clocks of nodes are told from what happens everywhere at once."""

from __future__ import annotations

from making import make_hit, make_signature
from relume.models.diagnosis.clocks import MICROSECONDS, NO_OFFSETS, clock_reasons, estimate
from relume.models.ranks.mapping import RankMap, RankPlace
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Signature, Tier
from relume.verdict import Kind

WAVE = make_signature("wave", tier=Tier.TIMEOUT, kind=Kind.HANG)
OTHER = make_signature("other", role=Role.ROOT)
RANKS = RankMap({rank: RankPlace(f"n{1 + rank // 2}") for rank in range(6)}, world_size=6)


def seconds(*, rank: int, time: float, signature: Signature = WAVE) -> Hit:
    return make_hit(signature, rank, rank=rank, event_time=round(time * MICROSECONDS))


def test_a_node_that_is_late_in_every_wave_has_another_clock() -> None:
    hits = [seconds(rank=rank, time=1000 + (60 if rank >= 4 else 0)) for rank in range(6)]
    clocks = estimate(hits, [], RANKS)
    assert clocks.of("n3.example") == 60 * MICROSECONDS
    assert clocks.of("n1") == 0
    [reason] = clock_reasons(clocks, ["n3", "n1", None])
    assert reason.sentence == "the clock of n3 is 60 s ahead"


def test_ranks_that_join_their_communicator_are_a_wave() -> None:
    begun = [(rank, (1000 - 40 * (rank < 2)) * MICROSECONDS) for rank in range(6)]
    assert estimate([], begun, RANKS).of("n1") == -40 * MICROSECONDS


def test_without_a_wave_or_within_its_noise_the_offset_is_zero() -> None:
    assert estimate([], [], RANKS) is NO_OFFSETS
    near = [seconds(rank=rank, time=1000 + rank) for rank in range(6)]
    assert estimate(near, [], RANKS) is NO_OFFSETS
    causes = [seconds(rank=rank, time=1000 + 60 * rank, signature=OTHER) for rank in range(6)]
    assert estimate(causes, [], RANKS) is NO_OFFSETS
    far = [seconds(rank=rank, time=1000 + 3600 * (rank < 2)) for rank in range(6)]
    assert estimate(far, [], RANKS) is NO_OFFSETS


def test_lines_of_the_job_from_before_its_start_show_a_clock_that_is_behind() -> None:
    hits = [seconds(rank=0, time=900, signature=OTHER), seconds(rank=4, time=1100, signature=OTHER)]
    clocks = estimate(hits, [], RANKS, start=1000 * MICROSECONDS, end=1200 * MICROSECONDS)
    assert clocks.of("n1") == -98 * MICROSECONDS
    assert clocks.of("n3") == 0


def test_of_two_clocks_the_one_is_right_that_lies_within_the_attempt() -> None:
    two = RankMap({0: RankPlace("n1"), 1: RankPlace("n2")}, world_size=2)
    hits = [seconds(rank=0, time=1100), seconds(rank=1, time=1240)]
    clocks = estimate(hits, [], two, start=1000 * MICROSECONDS, end=1110 * MICROSECONDS)
    assert clocks.of("n2") - clocks.of("n1") == 140 * MICROSECONDS
    assert 1240 * MICROSECONDS - clocks.of("n2") <= 1110 * MICROSECONDS
