from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.scoring.answers import (
    Answers,
    Bin,
    CurvePoint,
    expected_calibration_error,
    reliability,
)
from relume.models.scoring.intervals import Proportion

PAIRS = st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9, 1.0]) | st.floats(0, 1), st.booleans()))


def test_calibration_error_of_sure_answers_that_are_right_is_zero() -> None:
    assert expected_calibration_error([(1.0, True)] * 20) == 0
    assert expected_calibration_error([]) == 0


def test_calibration_error_is_the_gap_in_bins_of_equal_mass() -> None:
    low = [(0.2, False)] * 10
    high = [(0.6, True)] * 10
    assert expected_calibration_error(low + high, bins=2) == pytest.approx(0.3)
    # One bin hides what two bins show: 0.5 right, 0.4 stated.
    assert expected_calibration_error(low + high, bins=1) == pytest.approx(0.1)


def test_calibration_error_of_equal_confidences_does_not_depend_on_bins_or_order() -> None:
    pairs = [(0.8, number % 5 != 0) for number in range(50)]
    random.Random(1).shuffle(pairs)
    assert expected_calibration_error(pairs) == pytest.approx(0)
    assert expected_calibration_error(pairs, bins=7) == pytest.approx(0)


def test_the_reliability_table_has_bins_of_equal_mass() -> None:
    pairs = [(0.25, False)] * 3 + [(0.75, True)] * 3
    assert reliability(pairs, bins=2) == [
        Bin(confidence=0.25, right=0.0, n=3),
        Bin(confidence=0.75, right=1.0, n=3),
    ]
    assert [part.n for part in reliability(pairs[:3])] == [1, 1, 1]
    assert reliability([]) == []


@given(PAIRS, st.randoms())
def test_order_changes_nothing(pairs: list[tuple[float, bool]], rng: random.Random) -> None:
    shuffled = pairs.copy()
    rng.shuffle(shuffled)
    assert reliability(shuffled) == reliability(pairs)
    assert sum(part.n for part in reliability(pairs)) == len(pairs)
    assert 0 <= expected_calibration_error(pairs) <= 1


def test_abstaining_costs_coverage_and_no_selective_accuracy() -> None:
    answers = Answers()
    answers.add(0.9, right=True)
    answers.add(0.9, right=False)
    answers.add(0.3, right=True)
    answers.abstain()
    assert answers.coverage == Proportion(3, 4)
    assert answers.selective_accuracy == Proportion(2, 3)
    assert answers.accuracy == Proportion(2, 4)
    assert answers.curve() == [
        CurvePoint(confidence=0.9, coverage=0.5, accuracy=0.5),
        CurvePoint(confidence=0.3, coverage=0.75, accuracy=2 / 3),
    ]


def test_a_question_that_was_never_asked_has_no_share() -> None:
    answers = Answers()
    assert answers.accuracy.value is None
    assert answers.curve() == []
