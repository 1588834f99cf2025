from __future__ import annotations

from collections.abc import Sequence

import pytest

from relume.features.progress.measures import Paces, skip_warm_up
from relume.features.progress.pace import GATES, find_drift, find_shift, noise
from relume.features.progress.samples import Sample
from relume.features.progress.waits import find_irregular, find_waiting, wait_share

PRINTED = GATES["printed"][0]


def paces(values: Sequence[float], measure: str = "printed", first: int = 100) -> Paces:
    samples = tuple(
        Sample(first + i, line=i, steps=1, printed_seconds=value) for i, value in enumerate(values)
    )
    return Paces(measure, tuple(values), samples)


def waits(pairs: Sequence[tuple[float, float]], first: int = 100) -> Paces:
    series = paces([step for step, _ in pairs], first=first)
    for sample, (_, wait) in zip(series.samples, pairs, strict=True):
        sample.data_seconds = wait
    return series


def test_noise_of_few_values_is_not_zero_by_chance() -> None:
    assert noise([10.0, 10.0, 11.0]) == pytest.approx(1.0 / 1.693)
    assert noise([5.0] * 4) == 0.0
    assert noise([7.0]) == 0.0


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([100.0, 100.1, 101.0, 106.2, 107.1], 3),
        ([10.0, 10.0, 10.1, 10.0, 10.0, 20.0, 75.0], 5),
        ([10.0] * 30 + [12.0] * 10, 30),
        ([10.0, 10.2] * 20 + [14.0, 14.3] * 8, 40),
    ],
)
def test_a_sustained_shift_is_found_where_it_begins(values: list[float], line: int) -> None:
    finding = find_shift(paces(values), PRINTED)
    assert finding is not None
    assert finding.at.line == line
    assert finding.ratio > 1.05


@pytest.mark.parametrize(
    "values",
    [
        [10.0] * 12,
        [10.0, 10.0, 10.0, 10.0, 14.0],  # one slow step is none
        [10.0] * 40 + [14.0] * 3,  # a long calm part asks for more
        [10.0] * 8 + [13.0] * 4 + [10.0] * 8,  # it recovered
        [14.0] * 8 + [10.0] * 8,  # faster
        [10.0] * 8 + [10.3] * 8,  # too small
        [10.0, 12.0, 9.0, 11.0, 8.5, 12.5, 10.0, 9.5, 12.4, 12.6],  # noise
        [10.0 + 0.04 * i for i in range(50)],  # a drift
        [10.0, 10.0, 10.0, 15.0] * 6,  # checkpoints
        [10.0, 11.0],
        [],
    ],
)
def test_what_is_no_shift(values: list[float]) -> None:
    assert find_shift(paces(values), PRINTED) is None


def test_a_bar_must_show_more() -> None:
    mild, strong = [10.0] * 9 + [14.0] * 6, [10.0] * 4 + [40.0] * 2
    assert not any(find_shift(paces(mild, "bar"), gate) for gate in GATES["bar"])
    assert any(find_shift(paces(strong, "bar"), gate) for gate in GATES["bar"])
    assert any(find_shift(paces([10.0] * 9 + [16.0] * 6), gate) for gate in GATES["bar"])


def test_a_large_shift_needs_fewer_points() -> None:
    large, small = paces([0.5, 0.5, 5.1, 5.0]), paces([0.5, 0.5, 0.8, 0.8])
    assert any(find_shift(large, gate) for gate in GATES["printed"])
    assert not any(find_shift(small, gate) for gate in GATES["printed"])


def test_only_a_strong_drift_counts() -> None:
    weak = paces([10.0 + 0.1 * i for i in range(21)])
    strong = paces([10.0 + 0.5 * i for i in range(21)])
    assert find_drift(weak) is None
    finding = find_drift(strong)
    assert finding is not None
    assert 7 <= finding.at.line <= 14
    assert find_drift(paces([20.0 - 0.5 * i for i in range(21)])) is None
    assert find_drift(paces([10.0, 16.0, 22.0])) is None


def test_the_first_steps_of_a_run_are_left_out() -> None:
    from_zero = skip_warm_up(paces([155.0, 0.3, 5.6, 5.4, 5.5], first=0))
    assert [sample.step for sample in from_zero.samples] == [3, 4]
    resumed = skip_warm_up(paces([50.0, 11.0, 10.0, 10.0, 10.0], first=5000))
    assert resumed.values == (11.0, 10.0, 10.0, 10.0)
    steady = skip_warm_up(paces([10.0, 10.0, 10.1, 10.0], first=5000))
    assert len(steady.values) == 4
    begun = skip_warm_up(paces([10.0] * 40, first=10))
    assert begun.samples[0].step == 15
    under_way = skip_warm_up(paces([10.0] * 40, first=5000))
    assert under_way.samples[0].step == 5000
    assert skip_warm_up(paces([])).values == ()


def test_a_short_calm_beginning_counts_when_the_slow_part_is_long_and_twice_as_slow() -> None:
    gates = GATES["printed"]
    series = paces([1.0, 1.01, 2.3, 2.31, 2.29, 2.3], first=100)
    assert any(find_shift(series, gate) is not None for gate in gates)
    short = paces([1.0, 1.01, 2.3, 2.31], first=100)
    assert all(find_shift(short, gate) is None for gate in gates)


def test_slow_again_and_again_is_irregular() -> None:
    values = [4.0, 44.0, 4.5, 43.0, 4.2, 45.0, 4.1, 4.0]
    finding = find_irregular(paces(values), paces([900.0, *values]))
    assert finding is not None
    assert finding.at.line == 0
    assert finding.ratio == pytest.approx(10.0, rel=0.2)


@pytest.mark.parametrize(
    "values",
    [
        [4.0] * 10,
        [4.0, 4.0, 44.0, 45.0, 46.0, 4.0, 4.0],  # one pause
        [
            4.0,
            4.0,
            4.0,
            44.0,
            4.0,
            4.0,
            4.0,
            44.0,
            4.0,
            4.0,
            4.0,
            44.0,
        ],  # a checkpoint now and then
        [0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1],  # short steps vary
        [4.0, 8.0, 4.0, 8.0, 4.0, 8.0, 4.0],  # not by much
    ],
)
def test_what_is_not_irregular(values: list[float]) -> None:
    assert find_irregular(paces(values), paces(values)) is None


def test_short_steps_are_irregular_when_waits_explain_it() -> None:
    series = waits([(0.15, 0.0), (3.0, 2.9), (0.16, 0.0), (15.0, 14.9), (0.15, 0.0), (9.0, 8.9)])
    assert find_irregular(series, series) is not None


def test_waits_as_a_share_of_the_step() -> None:
    assert wait_share(Sample(1, printed_seconds=4.0, data_seconds=3.0)) == 0.75
    assert wait_share(Sample(1, printed_seconds=1.0, data_seconds=3.0)) == 1.0
    assert wait_share(Sample(1, printed_seconds=0.02, data_seconds=0.01)) == 0.0
    assert wait_share(Sample(1, elapsed_delta=4.0, data_seconds=1.0)) == 0.25
    assert wait_share(Sample(1, clock_delta=4.0, data_seconds=1.0)) == 0.25
    assert wait_share(Sample(1, printed_seconds=4.0)) is None
    assert wait_share(Sample(1, data_seconds=4.0)) is None


def test_steps_that_mostly_wait_are_data_bound() -> None:
    finding = find_waiting(waits([(3.0, 2.2), (3.1, 2.4), (2.9, 2.1), (3.0, 2.3)]))
    assert finding is not None
    assert finding.at.line == 0
    assert find_waiting(waits([(3.0, 2.2), (3.1, 2.4)])) is not None


@pytest.mark.parametrize(
    "series",
    [
        waits(
            [(33.0, 31.0), (18.0, 17.0), (13.0, 12.0)], first=1
        ),  # a running mean on its way down
        waits([(3.0, 2.2), (3.1, 2.4)], first=1),  # two lines of a start
        waits([(3.0, 2.2), (3.0, 0.1), (3.0, 0.1), (3.0, 0.1)]),  # the first batch only
        waits([(0.3, 0.19), (0.31, 0.19), (0.3, 0.19)]),  # too short to matter
        paces([3.0, 3.0, 3.0]),
        paces([]),
    ],
)
def test_what_is_not_data_bound(series: Paces) -> None:
    assert find_waiting(series) is None


def test_one_later_line_twice_as_slow_and_all_of_it_waiting() -> None:
    series = paces([0.8, 2.2], first=1000)
    series.samples[1].step, series.samples[1].data_seconds = 4800, 3.5
    finding = find_waiting(series)
    assert finding is not None
    assert finding.at.step == 4800
    series.samples[1].data_seconds = 0.1
    assert find_waiting(series) is None
    series.samples[1].data_seconds, series.samples[1].step = 3.5, 1010
    assert find_waiting(series) is None
