from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.benchmarks.formulas import EARLIER, VECTORS, Vector
from relume.errors import InputError
from relume.features.goodput.formulas import (
    RunModel,
    checkpoint_waste,
    daly_interval,
    mttf_seconds,
    restart_pays,
    speed_factor,
    straggler_gain,
    young_interval,
)

STALLS = st.floats(1, 3_600)
MTTFS = st.floats(3_600, 1e8)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector.name)
def test_vectors_hold_to_the_printed_digits(vector: Vector) -> None:
    assert vector.printed(vector.compute()) == vector.expected


@pytest.mark.parametrize("vector", EARLIER, ids=lambda vector: vector.name)
def test_earlier_detection_gains_what_is_printed_within_one_digit(vector: Vector) -> None:
    assert vector.compute() == pytest.approx(float(vector.expected), abs=10.0**-vector.decimals)


@given(stall=STALLS, mttf=MTTFS, factor=st.floats(0.2, 5))
def test_young_is_the_best_interval_of_the_first_order_waste(
    stall: float, mttf: float, factor: float
) -> None:
    best = young_interval(stall, mttf)
    assert checkpoint_waste(best, stall, mttf) <= checkpoint_waste(best * factor, stall, mttf) * (
        1 + 1e-9
    )


@given(stall=STALLS, mttf=MTTFS)
def test_daly_is_young_less_the_stall_in_first_order(stall: float, mttf: float) -> None:
    if stall < mttf / 1000:
        assert daly_interval(stall, mttf) == pytest.approx(young_interval(stall, mttf), rel=0.05)
    assert 0 < daly_interval(stall, mttf) <= max(mttf, young_interval(stall, mttf) * 2)


def test_long_stalls_are_worth_one_checkpoint_in_an_mttf() -> None:
    assert daly_interval(7_200, 3_600) == 3_600


def test_stalls_queues_and_the_start_cost_their_share() -> None:
    free = RunModel(128, 3.8e-3, 300, 1_800)
    stalled = RunModel(128, 3.8e-3, 300, 1_800, checkpoint_stall_seconds=1_800)
    queued = RunModel(128, 3.8e-3, 300, 1_800, queue_seconds=mttf_seconds(128, 3.8e-3))
    short = RunModel(128, 3.8e-3, 300, 1_800, productive_seconds=300)
    assert stalled.expected_ettr() == pytest.approx(free.expected_ettr() / 2)
    assert queued.expected_ettr() == pytest.approx(free.expected_ettr() / 2)
    assert short.expected_ettr() == pytest.approx(free.expected_ettr() / 2)


def test_where_nothing_fails_nothing_is_lost() -> None:
    assert mttf_seconds(5, 0) == math.inf
    assert RunModel(5, 0, 300, 3_600).expected_ettr() == 1


def test_beyond_half_of_the_time_only_a_simulation_tells() -> None:
    with pytest.raises(InputError, match="simulate"):
        RunModel(16_384, 6.5e-3, 900, 3_600).expected_ettr()


@pytest.mark.parametrize(
    "make",
    [
        lambda: mttf_seconds(0, 1),
        lambda: mttf_seconds(1, -1),
        lambda: mttf_seconds(1, math.nan),
        lambda: RunModel(1, 0, -1, 60),
        lambda: RunModel(1, 0, 1, 0),
        lambda: RunModel(1, 0, 1, 60, productive_seconds=0),
        lambda: young_interval(-1, 60),
        lambda: daly_interval(1, math.nan),
        lambda: checkpoint_waste(0, 1, 60),
        lambda: speed_factor([(0.6, 2), (0.6, 2)]),
        lambda: speed_factor([(0.1, 0.9)]),
        lambda: straggler_gain(8, slowdown=0.5, left_seconds=1, fix_seconds=1),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InputError):
        make()


def test_a_restart_of_a_slow_job_pays_only_when_enough_time_is_left() -> None:
    assert straggler_gain(8, slowdown=2, left_seconds=100, fix_seconds=300) == -800
    assert not restart_pays(slowdown=1, left_seconds=1e9, restart_seconds=1)
