from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.scoring.intervals import (
    Proportion,
    Rate,
    poisson,
    wilson,
)


@pytest.mark.parametrize(
    ("right", "total", "low", "high"),
    [
        # The four examples of Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_gives_published_intervals(right: int, total: int, low: float, high: float) -> None:
    assert wilson(right, total) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        # Garwood's table of 1936, as printed in every collection of Poisson limits.
        (0, 0.0, 3.689),
        (1, 0.0253, 5.572),
        (2, 0.242, 7.225),
        (5, 1.623, 11.668),
        (10, 4.795, 18.390),
        (50, 37.111, 65.919),
    ],
)
def test_poisson_gives_published_limits(count: int, low: float, high: float) -> None:
    assert poisson(count) == pytest.approx((low, high), rel=1e-3)


@given(st.integers(1, 200))
def test_poisson_limits_leave_out_exactly_the_tails(count: int) -> None:
    low, high = poisson(count)

    def at_most(mean: float) -> float:
        terms = (k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(count + 1))
        return math.fsum(map(math.exp, terms))

    def exactly(mean: float) -> float:
        return math.exp(count * math.log(mean) - mean - math.lgamma(count + 1))

    assert at_most(high) == pytest.approx(0.025, abs=1e-9)
    assert 1 - at_most(low) + exactly(low) == pytest.approx(0.025, abs=1e-9)


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_proportion_lies_in_its_interval_which_narrows_with_more_of_the_same(
    right: int, wrong: int
) -> None:
    total = right + wrong
    low, high = wilson(right, total)
    assert 0 <= low <= high <= 1
    if total:
        assert low <= right / total <= high
        narrow_low, narrow_high = wilson(right * 4, total * 4)
        assert narrow_high - narrow_low < high - low
    assert wilson(wrong, total) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_a_claim_holds_by_the_lower_end_only() -> None:
    assert Proportion(20, 20).holds(0.83)
    assert not Proportion(20, 20).holds(0.84)
    assert not Proportion(0, 0).holds(0.01)
    assert Proportion(0, 0).value is None
    assert Proportion(3, 4).value == 0.75


@pytest.mark.parametrize(("bound", "needed"), [(0.9, 35), (0.99, 381)])
def test_as_many_right_answers_as_needed_hold_the_claim_and_one_less_does_not(
    bound: float, needed: int
) -> None:
    assert Proportion(needed, needed).holds(bound)
    assert not Proportion(needed - 1, needed - 1).holds(bound)


def test_three_hundred_quiet_job_days_show_a_rate_below_a_hundredth() -> None:
    quiet = Rate(0, 300.0)
    assert quiet.holds(0.01)
    assert not Rate(0, 299.0).holds(0.01)
    assert quiet.value == 0
    assert quiet.upper == pytest.approx(0.00999, abs=1e-5)
    assert quiet.interval == pytest.approx((0.0, 3.6889 / 300), rel=1e-4)


def test_a_rate_with_events_is_claimed_by_the_upper_end() -> None:
    rate = Rate(5, 10.0)
    assert rate.value == 0.5
    assert rate.interval == pytest.approx((0.1623, 1.1668), abs=1e-4)
    assert rate.upper == pytest.approx(1.1668, abs=1e-4)
    assert not rate.holds(1.0)


@pytest.mark.parametrize("count", [0, 3])
def test_nothing_can_be_said_without_exposure(count: int) -> None:
    rate = Rate(count, 0.0)
    assert (rate.value, rate.interval, rate.upper, rate.holds(1e9)) == (None, None, None, False)
