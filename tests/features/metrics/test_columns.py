"""Many samples at once are judged as one after the other, whatever they are."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.events import Sample
from relume.features.metrics import job as job_module
from relume.features.metrics import recent as recent_module
from relume.features.metrics.columns import LastCounts, LastPoints
from relume.features.metrics.counters import Counter
from relume.features.metrics.job import JobMetrics
from relume.features.metrics.points import Series
from relume.features.metrics.recent import RecentMetrics

SECOND = 1_000_000
NAMES = ("gpu_power_watts", "nic_sent_bytes_total", "node_cpu_seconds_total")
SERIES = [Series(name, node, gpu) for name in NAMES for node in "ab" for gpu in (None, "0")]
SERIES += SERIES[:3]  # as of two ranks
TIMES = st.integers(0, 60).map(lambda tens: tens * 10 * SECOND)
VALUES = st.floats(0, 1e9) | st.sampled_from([math.nan, math.inf, -1.0, 1e308])
ROWS = st.lists(st.tuples(st.integers(0, len(SERIES) - 1), TIMES, VALUES), max_size=20)
BATCHES = st.lists(st.tuples(ROWS, st.none() | TIMES), max_size=6)
Rows = list[tuple[int, int, float]]


def samples(rows: Rows) -> list[Sample]:
    return [
        Sample(
            source="x",
            metric=SERIES[number].metric,
            node=SERIES[number].node,
            gpu=SERIES[number].gpu,
            event_time=time,
            value=value,
        )
        for number, time, value in rows
    ]


def take(metrics: JobMetrics | RecentMetrics, rows: Rows) -> None:
    numbers, times, values = ([row[i] for row in rows] for i in range(3))
    metrics.take_many(
        SERIES, np.array(numbers, np.int32), np.array(times, np.int64), np.array(values, float)
    )


@given(BATCHES, st.sampled_from([3, 100]))
def test_a_job_hears_many_as_one_by_one(batches: list[tuple[Rows, int | None]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_module, "MAX_SERIES", most)
        many, single = JobMetrics(metrics=NAMES), JobMetrics(metrics=NAMES)
        for rows, progress in batches:
            take(many, rows)
            for one in samples(rows):
                single.take(one)
            if progress is not None:
                many.progressed(progress)
                single.progressed(progress)
        assert repr(many.window()) == repr(single.window())
        assert repr(many.usual()) == repr(single.usual())
        assert many.left_out == single.left_out
        for of_gpus in (False, True):
            assert many.nodes_since(90 * SECOND, of_gpus=of_gpus) == {
                series.node
                for series, points in single.window().items()
                if points and points[-1][0] > 90 * SECOND and (series.gpu or not of_gpus)
            }


@given(BATCHES, st.sampled_from([3, 100]))
def test_the_last_values_are_those_of_one_by_one(
    batches: list[tuple[Rows, int | None]], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recent_module, "MAX_SERIES", most)
        many, single = RecentMetrics(NAMES[:2]), RecentMetrics(NAMES[:2])
        for rows, since in batches:
            take(many, rows)
            for one in samples(rows):
                single.take(one)
            assert repr(many.window(since or 0)) == repr(single.window(since or 0))
        assert many.left_out == single.left_out


@given(st.lists(st.tuples(TIMES, VALUES.filter(math.isfinite)), max_size=12))
def test_counts_are_those_of_a_counter(points: list[tuple[int, float]]) -> None:
    counts, counter = LastCounts(), Counter[int]()
    assert [counts.take_one(0, *one) for one in points] == [counter.take(0, *one) for one in points]


@given(st.lists(st.tuples(TIMES, VALUES.filter(math.isfinite)), max_size=40), TIMES)
def test_points_are_kept_in_the_order_of_time_and_dropped_oldest_first(
    given_points: list[tuple[int, float]], until: int
) -> None:
    points, plain = LastPoints(4), dict[int, float]()
    place = points.add(SERIES[0])
    for time, value in given_points:
        points.put(place, time, value)
        plain.setdefault(time, value)
        if len(plain) > 4:
            del plain[min(plain)]
    kept = sorted(plain.items())
    assert points.of(place) == kept
    assert points.newest[place] == (kept[-1][0] if kept else np.iinfo(np.int64).min)
    dropped = [(int(at[0]), float(of[0])) for _, at, of in points.drop(np.array([place]), until)]
    assert dropped == [one for one in kept if one[0] <= until]
    assert dict(points.every()) == {SERIES[0]: [one for one in kept if one[0] > until]}


def test_there_is_room_for_many_series_and_what_is_kept_goes_on() -> None:
    """Places are made as they are needed; a table is looked up anew after a restart."""
    series = [Series("gpu_power_watts", f"n{number}", "0") for number in range(1000)]
    numbers, ones = np.arange(1000, dtype=np.int32), np.ones(1000)
    job = JobMetrics()
    job.progressed(1)
    for time in (2, 3):
        job.take_many(series, numbers, np.full(1000, time), ones)
    job.progressed(2)
    read: JobMetrics = pickle.loads(pickle.dumps(job))  # noqa: S301 - our own
    read.take_many(series, numbers, np.full(1000, 4), 2 * ones)
    assert read.usual() == dict.fromkeys(series, 1.0)
    assert read.window() == dict.fromkeys(series, ((3, 1.0), (4, 2.0)))
    assert len(read.nodes_since(3, of_gpus=True)) == 1000
