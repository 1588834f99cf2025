"""Combinations of settings: what one setting alone doesn't show, two of them may."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.tuning.choice import Tally
from relume.models.tuning.search import Knob, Point, around, most_trials, search

KNOBS = (
    Knob("budget", (0.001, 0.01, 0.1), larger_is_sooner=True),
    Knob("least", (60.0, 90.0, 180.0), larger_is_sooner=False),
)
PRESENT = (0.01, 90.0)


def told(
    results: dict[Point, Tally], otherwise: Tally
) -> tuple[Callable[[Point], Tally], list[Point]]:
    asked: list[Point] = []

    def evaluate(point: Point) -> Tally:
        asked.append(point)
        return results.get(point, otherwise)

    return evaluate, asked


def quiet(found: int, false: int = 0, delay: float = 300.0, days: float = 1000.0) -> Tally:
    return Tally(false, days, found, 5 - found, [delay] * found)


def test_two_settings_are_found_of_which_neither_is_worth_it_alone() -> None:
    """Sooner alone alarms too often, later alone finds less; both together find all."""
    results: dict[Point, Tally] = {
        PRESENT: quiet(3),
        (0.1, 90.0): quiet(5, false=50),
        (0.01, 180.0): quiet(2),
        (0.1, 180.0): quiet(5),
    }
    evaluate, _ = told(results, quiet(1))
    now, chosen = search(KNOBS, PRESENT, evaluate, 0.01)
    assert (now.values, chosen.values) == (PRESENT, (0.1, 180.0))
    assert chosen.is_eager


def test_settings_that_pull_the_same_way_are_found_one_after_the_other() -> None:
    results: dict[Point, Tally] = {
        PRESENT: quiet(5, false=40),
        (0.001, 90.0): quiet(5, false=20),
        (0.001, 180.0): quiet(5),
    }
    evaluate, _ = told(results, quiet(5, false=60))
    assert search(KNOBS, PRESENT, evaluate, 0.01)[1].values == (0.001, 180.0)


def test_a_combination_that_alarms_sooner_must_have_shown_that_it_keeps_to_the_budget() -> None:
    results: dict[Point, Tally] = {
        PRESENT: quiet(3, days=100.0),
        (0.1, 180.0): quiet(5, days=100.0),
    }
    evaluate, _ = told(results, quiet(1, days=100.0))
    assert search(KNOBS, PRESENT, evaluate, 0.01)[1].values == PRESENT


def test_nothing_is_tried_where_nothing_tells_one_value_from_another() -> None:
    evaluate, asked = told({}, Tally(0, 1000.0))
    now, chosen = search(KNOBS, PRESENT, evaluate, 0.01)
    assert (now, asked) == (chosen, [PRESENT])


def test_of_equal_ones_the_simplest_change_is_taken() -> None:
    evaluate, _ = told({PRESENT: quiet(3)}, quiet(5))
    chosen = search(KNOBS, PRESENT, evaluate, 0.01)[1].values
    assert sum(one != was for one, was in zip(chosen, PRESENT, strict=True)) == 1


@given(st.data())
def test_each_combination_is_asked_for_once_and_the_budget_is_kept(data: st.DataObject) -> None:
    draw = st.builds(quiet, found=st.integers(0, 5), false=st.integers(0, 40))
    points = [(a, b) for a in KNOBS[0].values for b in KNOBS[1].values]
    results: dict[Point, Tally] = {point: data.draw(draw) for point in points}
    evaluate, asked = told(results, quiet(0))
    now, chosen = search(KNOBS, PRESENT, evaluate, 0.01)
    assert len(asked) == len(set(asked)) <= most_trials(KNOBS)
    again = search(KNOBS, PRESENT, told(results, quiet(0))[0], 0.01)
    assert again == (now, chosen)
    if now.keeps(0.01):
        assert chosen.keeps(0.01)
        assert chosen.tally.found >= now.tally.found


@pytest.mark.parametrize("present", [PRESENT, (0.02, 100.0)])
def test_what_is_tried_is_what_a_configuration_may_have(present: Point) -> None:
    for point in around(present, KNOBS):
        differing = [one for one, was in zip(point, present, strict=True) if one != was]
        assert 1 <= len(differing) <= 2
        assert set(differing) <= {value for knob in KNOBS for value in knob.values}
