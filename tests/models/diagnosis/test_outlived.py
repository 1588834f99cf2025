"""What a process got past, and what victims say, is no cause."""

from __future__ import annotations

import pytest

from making import make_hit, make_signature
from relume.models.diagnosis.outlived import without_outlived, without_words_of_victims
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Tier
from relume.verdict import Domain

STALE = make_signature("stale", tier=Tier.EXCEPTION, specificity=60)
MEMORY = make_signature("memory", tier=Tier.EXCEPTION, specificity=60)
ANY = make_signature("any", tier=Tier.EXCEPTION, specificity=5)
ENDED = make_signature("ended", tier=Tier.EXCEPTION, specificity=60, domain=Domain.SCHEDULER)
VICTIM = make_signature("victim", role=Role.CASCADE, tier=Tier.FABRIC)
OF_PEERS = make_signature("misuse", category="nccl", tier=Tier.EXCEPTION, specificity=60)


def wave(rule: object, *ranks: int) -> list[Hit]:
    return [make_hit(rule, 10 + rank, rank=rank) for rank in ranks]  # type: ignore[arg-type]


def test_what_a_process_got_past_before_it_failed_as_others_did_is_left_out() -> None:
    lone, alike = make_hit(STALE, 1, rank=2), wave(MEMORY, 0, 1, 2, 3)
    assert without_outlived([lone, *alike]) == alike


@pytest.mark.parametrize(
    "hits",
    [
        [make_hit(STALE, 1, rank=7), *wave(MEMORY, 0, 1, 2, 3)],
        [make_hit(STALE, 1, rank=2), *wave(MEMORY, 0, 1, 2)],
        [make_hit(STALE, 90, rank=2), *wave(MEMORY, 0, 1, 2, 3)],
        [make_hit(STALE, 1, rank=2), *wave(ANY, 0, 1, 2, 3)],
        [make_hit(STALE, 1, rank=2), *wave(VICTIM, 0, 1, 2, 3)],
        [make_hit(STALE, 1, rank=2), *wave(OF_PEERS, 0, 1, 2, 3)],
        [make_hit(ENDED, 1, rank=2), *wave(MEMORY, 0, 1, 2, 3)],
        [make_hit(STALE, 1, rank=2), make_hit(STALE, 2, rank=3), *wave(MEMORY, 0, 1, 2, 3)],
        [make_hit(STALE, 1), *wave(MEMORY, 0, 1, 2, 3)],
    ],
    ids=["another", "few", "later", "unspecific", "victims", "of peers", "ended", "two", "unknown"],
)
def test_all_else_may_be_the_cause(hits: list[Hit]) -> None:
    assert without_outlived(hits) == hits


def test_an_exception_in_the_words_of_many_victims_is_one_of_theirs() -> None:
    lost = [make_hit(VICTIM, n, text=f"LostError: peer {n} is gone", rank=n) for n in range(3)]
    same = make_hit(ANY, 7, text="LostError: peer 8 is gone", rank=7)
    other = make_hit(ANY, 8, text="ShardError: shard 8 is gone", rank=8)
    known = make_hit(STALE, 9, text="LostError: peer 9 is gone", rank=9)
    assert without_words_of_victims([*lost, same, other, known]) == [*lost, other, known]
    assert without_words_of_victims([*lost[:2], same]) == [*lost[:2], same]
