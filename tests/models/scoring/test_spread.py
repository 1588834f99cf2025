from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.scoring.spread import Spread, kaplan_meier_median, percentile, spread

SECONDS = st.floats(0, 1e6)


def test_nothing_found_has_no_percentile_but_is_counted() -> None:
    assert spread([], censored=[5.0], missed=3) == Spread(
        n=0,
        missed=3,
        p50=None,
        p90=None,
        p99=None,
        mean=None,
        largest=None,
        median_with_missed=None,
    )
    assert spread([], censored=[5.0]).missed == 1


def test_percentiles_are_latencies_that_were_measured() -> None:
    found = [float(number) for number in range(1, 11)]
    random.Random(3).shuffle(found)
    result = spread(found)
    assert (result.p50, result.p90, result.p99) == (5.0, 9.0, 10.0)
    assert (result.n, result.missed, result.mean, result.largest) == (10, 0, 5.5, 10.0)
    assert result.median_with_missed == 5.0


@given(st.lists(SECONDS, min_size=1), st.floats(0.01, 0.99))
def test_a_percentile_is_the_smallest_that_so_many_do_not_exceed(
    values: list[float], share: float
) -> None:
    ordered = sorted(values)
    value = percentile(ordered, share)
    assert value is not None
    assert sum(one <= value for one in ordered) >= share * len(ordered) - 1e-6
    assert sum(one < value for one in ordered) < share * len(ordered) + 1e-6


def test_kaplan_meier_on_the_remission_times_of_freireich_1963() -> None:
    # Weeks of remission under 6-MP, 9 of 21 relapsed; median 23. Under placebo all did; median 8.
    relapsed = [6.0, 6, 6, 7, 10, 13, 16, 22, 23]
    censored = [6.0, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    assert kaplan_meier_median(relapsed, censored) == 23
    placebo = [1.0, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
    assert kaplan_meier_median(placebo, []) == 8


def test_more_misses_than_half_leave_no_median() -> None:
    assert kaplan_meier_median([1.0, 2.0], [9.0, 9.0, 9.0]) is None
    assert kaplan_meier_median([], [9.0]) is None
    assert kaplan_meier_median([], []) is None
    assert kaplan_meier_median([1.0, 2.0], [9.0, 9.0]) == 2.0


def test_who_leaves_at_the_time_of_an_event_was_at_risk() -> None:
    assert kaplan_meier_median([5.0], [5.0]) == 5.0
    assert kaplan_meier_median([5.0], [5.0, 5.0]) is None


@given(st.lists(SECONDS, min_size=1))
def test_without_misses_it_is_the_median(found: list[float]) -> None:
    assert kaplan_meier_median(found, []) == percentile(sorted(found), 0.5)


@given(st.lists(SECONDS, min_size=1), st.lists(SECONDS))
def test_misses_never_make_the_median_smaller(found: list[float], missed: list[float]) -> None:
    without, with_missed = kaplan_meier_median(found, []), kaplan_meier_median(found, missed)
    assert without is not None
    assert with_missed is None or with_missed >= without


def test_order_changes_nothing() -> None:
    found, missed = [3.0, 0.1, 0.2, 0.3, 7.0], [2.0, 9.0]
    assert spread(found, censored=missed) == spread(found[::-1], censored=missed[::-1])
    assert spread(found).mean == pytest.approx(2.12)
