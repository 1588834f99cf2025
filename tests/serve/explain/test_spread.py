"""Bounded summaries say what the numbers said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.serve.explain.spread import MAX_POINTS, Course, Spread

seconds = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=200)


@given(seconds, st.floats(0.01, 1.0))
def test_a_quantile_is_within_its_bin(values: list[float], share: float) -> None:
    spread = Spread()
    for value in values:
        spread.add(value)
    exact = float(np.quantile(values, share, method="inverted_cdf"))
    assert spread.quantile(share) == pytest.approx(exact, rel=0.021)
    assert spread.longest == max(values)


@given(st.integers(1, 6 * MAX_POINTS), st.data())
def test_a_course_is_bounded_in_order_and_keeps_what_sticks_out(
    count: int, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, count - 1))
    course = Course()
    for time in range(count):
        course.add(time, 9.0 if time == place else 1.0)
    assert len(course.points) <= MAX_POINTS
    times = [time for time, _ in course.points]
    assert times == sorted(times)
    assert (place, 9.0) in course.points


@pytest.mark.parametrize("wild", [float("nan"), float("inf"), 0.0, -3.0])
def test_what_is_no_time_does_no_harm(wild: float) -> None:
    spread = Spread()
    spread.add(1.0)
    spread.add(wild)
    assert spread.quantile(0.5) >= 0.0
    assert np.isfinite(spread.longest)
