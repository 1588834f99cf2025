"""Families: who teaches whom, what falls back to what, and how much is remembered."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from relume.models.family.attempt import AttemptGaps, FamilyKey
from relume.models.family.gaps import RECENT, PhaseGaps
from relume.models.family.prior import MAX_MEMBERS, Family, Kin, Prior


def gaps_of(*seconds: float) -> PhaseGaps:
    gaps = PhaseGaps()
    for one in seconds:
        gaps.add(one)
    return gaps


def left(number: int = 1, *seconds: float, **changes: Any) -> AttemptGaps:
    fields: dict[str, Any] = {
        "attempt": f"lab/{number}@1.0",
        "known_at": number,
        "framework": "megatron",
        "nodes": 4,
        "launch_seconds": 60.0,
        "trained_seconds": sum(seconds),
        "lines": len(seconds) + 1,
        "phases": {"train": gaps_of(*seconds)},
    }
    return AttemptGaps(**(fields | changes))


JOB = "lab/1@1"


def prior(family: Family, framework: str | None, nodes: int | None) -> Prior:
    return family.prior(Kin(framework, nodes, 5.0))


def longest(family: Family, framework: str | None, nodes: int | None) -> float:
    return prior(family, framework, nodes).phases["train"].longest_seconds


def test_what_is_further_to_the_right_is_dropped_first() -> None:
    family = Family(
        [left(1, 5, 5), left(2, 5, 20, nodes=8), left(3, 5, 30, framework="nanogpt", nodes=4)], JOB
    )
    assert longest(family, "megatron", 4) == 5
    assert prior(family, "megatron", 4).is_exact
    assert longest(family, "megatron", 2) == 20
    assert longest(family, "torchtitan", 4) == 30
    assert not prior(family, "megatron", 2).is_exact


def test_one_try_of_the_same_job_is_enough_but_two_jobs_of_the_same_name() -> None:
    for members, is_exact in (
        ([left(1, 5)], True),
        ([left(2, 5)], False),
        ([left(2, 5), left(2, 5, attempt="lab/2@1.1")], False),
        ([left(2, 5), left(3, 5)], True),
    ):
        assert prior(Family(members, JOB), "megatron", 4).is_exact is is_exact
        assert longest(Family(members, JOB), "megatron", 4) == 5


def test_another_pace_or_none_yet_is_not_alike() -> None:
    family = Family([left(1, *[10.0] * 9)], JOB)
    for pace, is_exact in ((10.0, True), (15.0, True), (15.1, False), (6.6, False), (None, False)):
        assert family.prior(Kin("megatron", 4, pace)).is_exact is is_exact


def test_what_is_not_known_is_no_match() -> None:
    family = Family([left(1, 5, nodes=None), left(2, 5, framework=None)], JOB)
    for framework, nodes in ((None, None), ("megatron", None), (None, 4), ("megatron", 4)):
        assert not prior(family, framework, nodes).is_exact
    assert family.launches(None) == []


def test_an_attempt_without_steps_teaches_its_family_nothing_of_them() -> None:
    family = Family([left(1, 5), left(2, lines=0, phases={})])
    assert prior(family, "megatron", 4).attempts == 1


def test_the_longest_of_them_says_how_far_they_came() -> None:
    found = prior(Family([left(1, 5, 5, 5), left(2, 5)]), "megatron", 4)
    assert (found.covered_seconds, found.covered_lines) == (15, 4)


def test_only_the_last_ones_are_remembered() -> None:
    family = Family([left(number, number) for number in range(1, 100)])
    assert len(family.members) == MAX_MEMBERS
    assert family.members[0].attempt == f"lab/{100 - MAX_MEMBERS}@1.0"


def test_families_are_a_user_s_own_and_have_a_short_name() -> None:
    key = FamilyKey("lab", "ada", "train")
    others = [FamilyKey("lab", "bob", "train"), FamilyKey("lab", None, "train"), ("x", "y", "z")]
    assert len({key.digest, *(FamilyKey(*one).digest for one in others)}) == 4
    assert len(FamilyKey("lab", "ada", "x" * 5000).digest) == 32


@given(st.lists(st.lists(st.floats(0.1, 900.0), max_size=30), max_size=4))
def test_joined_gaps_are_as_many_and_as_long_as_all_of_them(parts: list[list[float]]) -> None:
    joined = PhaseGaps()
    for part in parts:
        joined = gaps_of(*part).joined(joined)
    together = [one for part in parts for one in part]
    assert joined.count == len(together)
    assert joined.longest_seconds == max(together, default=0.0)
    assert bool(together) <= joined.near_longest <= joined.count
    assert joined.copy() == joined.joined(PhaseGaps())
    assert joined.recent == together[-RECENT:]
