"""Which failures of a run are the same again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.policy.repeats import streaks, with_progress
from relume.models.policy.view import PastAttempt

FAILURES = st.sampled_from(["a", "b", None])
STEPS = st.one_of(st.none(), st.integers(0, 30))
RUNS = st.lists(st.tuples(FAILURES, STEPS), max_size=12).map(
    lambda told: [PastAttempt(n, name, None, step) for n, (name, step) in enumerate(told)]
)


def run(*told: tuple[str | None, int | None]) -> list[PastAttempt]:
    return [PastAttempt(n, name, None, step) for n, (name, step) in enumerate(told)]


def lengths(attempts: list[PastAttempt]) -> list[tuple[str, int]]:
    return [(streak.fingerprint, len(streak)) for streak in streaks(attempts)]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([], []),
        ([("a", 10)], [("a", 1)]),
        ([("a", 10), ("a", 10)], [("a", 2)]),
        ([("a", 10), ("a", 11)], [("a", 1), ("a", 1)]),
        # It fell back and came up again: nothing new was reached.
        ([("a", 40), ("a", 20), ("a", 30)], [("a", 3)]),
        ([("a", None), ("a", None)], [("a", 2)]),
        ([("a", None), ("a", 0)], [("a", 1), ("a", 1)]),
        ([("a", 10), ("b", 10), ("a", 10)], [("a", 1), ("b", 1), ("a", 1)]),
        # A preemption between two failures is no failure, and takes nothing away.
        ([("a", 10), (None, 10), ("a", 10)], [("a", 2)]),
        ([("a", 10), (None, 50), ("a", 50)], [("a", 1), ("a", 1)]),
    ],
)
def test_streaks(
    told: list[tuple[str | None, int | None]], expected: list[tuple[str, int]]
) -> None:
    assert lengths(run(*told)) == expected


@given(RUNS, st.randoms(use_true_random=False))
def test_every_failure_is_in_one_streak_and_order_is_that_of_the_attempts(
    attempts: list[PastAttempt], shuffled: object
) -> None:
    mixed = list(attempts)
    shuffled.shuffle(mixed)  # type: ignore[attr-defined] # hypothesis gives a Random
    found = streaks(mixed)
    failed = [one for one in attempts if one.fingerprint is not None]
    assert [one for streak in found for one in streak.attempts] == failed
    assert found == streaks(attempts)


@given(RUNS)
def test_within_a_streak_nothing_new_was_reached(attempts: list[PastAttempt]) -> None:
    advanced = {one.restart_count for one, passed in with_progress(attempts) if passed}
    for streak in streaks(attempts):
        assert {one.fingerprint for one in streak.attempts} == {streak.fingerprint}
        assert not advanced & {one.restart_count for one in streak.attempts[1:]}
