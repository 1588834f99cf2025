from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from relume.features.metrics.counters import MAX_GAP_SECONDS, Counter, rates
from relume.features.metrics.edges import Latched, Rises
from relume.features.metrics.points import Series
from relume.features.metrics.stale import STALE, is_stale

SECOND = 1_000_000
XID = Series("gpu_xid_code", "n1", "0")


def test_a_rate_is_per_second_whatever_the_interval() -> None:
    points = [(0, 0.0), (15 * SECOND, 30.0), (75 * SECOND, 150.0)]
    assert rates(points) == [(15 * SECOND, 2.0), (75 * SECOND, 2.0)]


def test_a_counter_that_fell_has_risen_from_zero() -> None:
    assert rates([(0, 1e12), (10 * SECOND, 50.0), (20 * SECOND, 60.0)]) == [
        (10 * SECOND, 5.0),
        (20 * SECOND, 1.0),
    ]


def test_over_a_long_gap_there_is_no_rate_and_after_it_there_is() -> None:
    gap = int(MAX_GAP_SECONDS) * SECOND
    points = [(0, 0.0), (gap + 1, 10.0), (gap + SECOND + 1, 11.0)]
    assert rates(points) == [(gap + SECOND + 1, 1.0)]
    assert rates([(0, 0.0), (gap, 600.0)]) == [(gap, 1.0)]


def test_what_is_no_number_or_comes_late_or_again_is_left_out() -> None:
    points = [(10, 1.0), (20, math.nan), (20, math.inf), (20, 2.0), (20, 9.0), (15, 1.5), (30, 3.0)]
    assert [time for time, _ in rates(points)] == [20, 30]


@given(st.lists(st.tuples(st.integers(0, 10**12), st.floats(allow_nan=True)), max_size=30))
def test_a_rate_is_never_negative_and_never_at_a_time_before(
    points: list[tuple[int, float]],
) -> None:
    found = rates(points, max_gap_seconds=1e9)
    assert all(rate >= 0 for _, rate in found)
    assert [time for time, _ in found] == sorted({time for time, _ in found})


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 100)), max_size=40))
def test_counters_side_by_side_are_as_each_alone(steps: list[tuple[int, int]]) -> None:
    counter = Counter[int]()
    together: dict[int, list[float]] = {key: [] for key in range(4)}
    for at, (key, value) in enumerate(steps):
        rate = counter.take(key, at * SECOND, float(value))
        together[key] += [] if rate is None else [rate]
    for key in range(4):
        alone = [(at * SECOND, float(value)) for at, (of, value) in enumerate(steps) if of == key]
        assert together[key] == [rate for _, rate in rates(alone)]


def test_a_code_that_stays_is_one_event_however_long_it_stays() -> None:
    latched = Latched()
    codes = [0.0] * 3 + [79.0] * 500
    changes = [latched.take(XID, at, code) for at, code in enumerate(codes)]
    [change] = [one for one in changes if one]
    assert (change.after, change.at, change.before, change.value) == (2, 3, 0.0, 79.0)


def test_a_code_that_was_there_when_it_was_first_looked_is_no_event() -> None:
    latched = Latched()
    assert [latched.take(XID, at, 31.0) for at in range(3)] == [None] * 3


def test_a_new_start_of_the_exporter_is_no_event_and_the_next_code_is() -> None:
    latched = Latched()
    codes = [48.0, 0.0, 0.0, 48.0, math.nan, 48.0]
    changes = [latched.take(XID, at, code) for at, code in enumerate(codes)]
    assert [change.at for change in changes if change] == [3]


def test_a_code_that_came_in_a_gap_came_at_some_time_of_it() -> None:
    latched = Latched()
    latched.take(XID, 10, 0.0)
    change = latched.take(XID, 5_000, 94.0)
    assert change is not None
    assert (change.after, change.at) == (10, 5_000)


def test_late_values_change_nothing() -> None:
    latched = Latched()
    latched.take(XID, 10, 0.0)
    latched.take(XID, 20, 79.0)
    assert latched.take(XID, 15, 31.0) is None
    assert latched.take(XID, 20, 31.0) is None
    assert latched.take(XID, 30, 79.0) is None


def test_a_counter_of_faults_that_starts_anew_is_no_event() -> None:
    rises = Rises()
    values = [7.0, 7.0, 0.0, 0.0, 1.0]
    changes = [rises.take(XID, at, value) for at, value in enumerate(values)]
    assert [(one.at, one.before, one.value) for one in changes if one] == [(4, 0.0, 1.0)]
    rises = Rises()
    assert [rises.take(XID, at, value) for at, value in enumerate([9.0, 3.0])] == [None, None]


def test_memory_is_bounded_and_the_oldest_goes() -> None:
    latched = Latched(max_series=2)
    a, b, c = (XID._replace(gpu=gpu) for gpu in "abc")
    latched.take(a, 1, 0.0)
    latched.take(b, 2, 0.0)
    latched.take(a, 3, 0.0)
    latched.take(c, 4, 0.0)  # b goes
    assert set(latched.save()) == {a, c}
    assert latched.take(b, 5, 79.0) is None  # first of its series, as far as anybody knows


def test_what_was_saved_goes_on() -> None:
    latched, other = Latched(), Latched()
    latched.take(XID, 1, 0.0)
    other.restore(latched.save())
    assert other.take(XID, 2, 79.0) == latched.take(XID, 2, 79.0)


def test_the_marker_of_a_series_that_ended_is_told_from_other_nans() -> None:
    assert is_stale(STALE)
    assert not any(map(is_stale, (math.nan, -math.nan, math.inf, 0.0, 1.0)))
