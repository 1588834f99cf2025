from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from relume.events import Sample
from relume.features.metrics import recent as module
from relume.features.metrics.points import Series
from relume.features.metrics.recent import KEPT, RecentMetrics

if TYPE_CHECKING:
    import pytest

CLOCK, ERRORS = "gpu_sm_clock_hertz", "nic_symbol_errors_count_total"


def sample(time: int | None, value: float, metric: str = CLOCK, node: str = "n1") -> Sample:
    return Sample(source="x", metric=metric, value=value, node=node, event_time=time)


@given(st.lists(st.tuples(st.integers(0, 40), st.floats(0, 9)), max_size=60))
def test_the_latest_values_are_kept_in_the_order_of_time(points: list[tuple[int, float]]) -> None:
    recent, plain = RecentMetrics({CLOCK}), dict[int, float]()
    for time, value in points:
        recent.take(sample(time, value))
        if time not in plain:
            plain[time] = value
            if len(plain) > KEPT:
                del plain[min(plain)]
    expected = [point for point in sorted(plain.items()) if point[0] > 5]
    assert recent.window(5).get(Series(CLOCK, "n1"), []) == expected


def test_counters_are_rates_and_what_is_no_measurement_is_ignored() -> None:
    recent = RecentMetrics({CLOCK, ERRORS})
    for second, count in ((10, 5.0), (20, 45.0), (30, 10.0)):
        recent.take(sample(second * 1_000_000, count, ERRORS))
    recent.take(sample(1, math.nan))
    recent.take(sample(None, 1.0))
    recent.take(sample(1, 1.0, "node_load_count"))
    assert recent.window(0) == {
        Series(ERRORS, "n1"): [(20_000_000, 4.0), (30_000_000, 1.0)],
    }


def test_a_series_that_was_not_measured_lately_is_left_out() -> None:
    recent = RecentMetrics({CLOCK})
    recent.take(sample(10, 1.0))
    recent.take(sample(20, 1.0, node="n2"))
    assert [series.node for series in recent.window(0, seen_since=15)] == ["n2"]


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SERIES", 3)
    recent = RecentMetrics({CLOCK})
    for time in range(100):
        for node in "abcde":
            recent.take(sample(time, 1.0, node=node))
    window = recent.window(-1)
    assert [len(points) for points in window.values()] == [KEPT] * 3
    assert recent.left_out == 200
