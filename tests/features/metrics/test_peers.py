from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.features.metrics.peers import against_peers, all_against_peers
from relume.features.metrics.points import Answer, Series
from relume.features.metrics.yardstick import PeerSettings, Worse, compare, outliers
from relume.verdict import Health

CLOCK, THROTTLE, POWER = "gpu_sm_clock_hertz", "gpu_throttle_reasons_bits", "gpu_power_watts"


def window(
    metric: str, levels: dict[str, list[float]], points: int = 5
) -> dict[Series, list[tuple[int, float]]]:
    """Each node with the level of each of its GPUs."""
    return {
        Series(metric, node, str(gpu)): [(time, level) for time in range(points)]
        for node, gpus in levels.items()
        for gpu, level in enumerate(gpus)
    }


def health(answer: Answer) -> Health:
    assert answer.reason
    return answer.health


def test_a_gpu_with_a_low_clock_makes_its_node_unhealthy_and_no_other() -> None:
    clocks = {f"n{n}": [1.98e9 - 1e6 * gpu for gpu in range(8)] for n in range(4)}
    clocks["n2"][5] = 1.4e9
    found = {node: health(against_peers(window(CLOCK, clocks), node)) for node in clocks}
    assert found == {node: Health.UNHEALTHY if node == "n2" else Health.HEALTHY for node in clocks}


def test_a_little_less_is_nothing_however_alike_the_others_are() -> None:
    clocks = {f"n{n}": [1.98e9] * 8 for n in range(4)} | {"n9": [1.95e9] * 8}
    assert health(against_peers(window(CLOCK, clocks), "n9")) is Health.HEALTHY


def test_what_varies_a_lot_is_no_yardstick() -> None:
    draw = random.Random(6)
    clocks = {f"n{n}": [draw.uniform(1.2e9, 2.0e9) for _ in range(8)] for n in range(8)}
    assert {health(against_peers(window(CLOCK, clocks), node)) for node in clocks} == {
        Health.HEALTHY
    }


def test_a_higher_clock_is_no_fault() -> None:
    clocks = {"n1": [1.4e9] * 8, "n2": [1.4e9] * 8, "n3": [1.98e9] * 8}
    assert health(against_peers(window(CLOCK, clocks), "n3")) is Health.HEALTHY


@pytest.mark.parametrize(
    ("bits", "expected"),
    [
        (0x40, Health.UNHEALTHY),  # HW thermal
        (0x80 | 0x04, Health.UNHEALTHY),  # HW power brake
        (0x08, Health.UNHEALTHY),
        (0x04, Health.HEALTHY),  # power cap: normal under load
        (0x01, Health.HEALTHY),  # idle
        (0x00, Health.HEALTHY),
    ],
)
def test_hardware_reasons_for_throttling_count_others_do_not(bits: int, expected: Health) -> None:
    reasons = {"n1": [0.0] * 4, "n2": [4.0] * 4, "n3": [0.0, 0.0, float(bits), 0.0]}
    assert health(against_peers(window(THROTTLE, reasons), "n3")) is expected


def test_what_all_show_is_no_fault_of_one() -> None:
    """A hot room, or a power brake of the whole row."""
    reasons = {f"n{n}": [64.0] * 8 for n in range(4)}
    clocks = {f"n{n}": [1.1e9] * 8 for n in range(4)}
    both = window(THROTTLE, reasons) | window(CLOCK, clocks)
    assert {health(against_peers(both, node)) for node in reasons} == {Health.HEALTHY}


def test_throttling_now_and_then_is_nothing() -> None:
    values = window(THROTTLE, {"n1": [0.0] * 4, "n2": [0.0]}, points=10)
    values[Series(THROTTLE, "n2", "0")] = [(t, 64.0 if t < 4 else 0.0) for t in range(10)]
    assert health(against_peers(values, "n2")) is Health.HEALTHY


def test_low_power_alone_decides_nothing() -> None:
    """Who waits for a slow one draws less than it does."""
    power = {"n1": [600.0] * 8, "n2": [600.0] * 8, "n3": [300.0] * 8}
    answer = against_peers(window(POWER, power), "n3")
    assert answer.health is Health.UNKNOWN
    assert answer.signals["power"] is Health.UNHEALTHY


def test_a_job_on_one_node_compares_its_gpus_with_each_other() -> None:
    assert health(against_peers(window(CLOCK, {"n1": [1.98e9] * 7 + [1.2e9]}), "n1")) is (
        Health.UNHEALTHY
    )
    assert health(against_peers(window(CLOCK, {"n1": [1.98e9, 1.2e9]}), "n1")) is Health.UNKNOWN


def test_only_the_named_peers_count() -> None:
    clocks = {"n1": [1.2e9] * 4, "n2": [1.2e9] * 4, "other": [1.98e9] * 40}
    values = window(CLOCK, clocks)
    assert health(against_peers(values, "n1")) is Health.UNHEALTHY
    assert health(against_peers(values, "n1", peers={"n2"})) is Health.HEALTHY


def test_without_enough_values_nothing_is_known() -> None:
    for answer in (
        against_peers({}, "n1"),
        against_peers(window(CLOCK, {"n1": [1.0], "n2": [1.0] * 8}, points=2), "n1"),
        against_peers(window(CLOCK, {"n2": [1.0] * 8}), "n1"),
        against_peers(window(CLOCK, {"n1": [math.nan], "n2": [1.0] * 8}), "n1"),
    ):
        assert health(answer) is Health.UNKNOWN


def test_instances_of_a_gpu_are_left_out() -> None:
    values = window(CLOCK, {"n1": [1.98e9] * 4, "n2": [1.98e9] * 4})
    values[Series(CLOCK, "n2", "0", "mig1")] = [(t, 1e9) for t in range(5)]
    assert health(against_peers(values, "n2")) is Health.HEALTHY


def test_the_worse_side_can_be_the_higher_one() -> None:
    degrees = [60.0, 61.0, 62.0, 61.5]
    assert compare(95.0, degrees, worse=Worse.HIGHER).health is Health.UNHEALTHY
    assert compare(95.0, degrees).health is Health.HEALTHY


@given(
    st.lists(st.floats(0.98, 1.02), min_size=5, max_size=40),
    st.floats(1e-6, 1e9),
    st.integers(0, 39),
)
def test_only_who_is_far_off_is_an_outlier(values: list[float], unit: float, odd: int) -> None:
    named = {number: unit * value for number, value in enumerate(values)}
    assert {answer.health for answer in outliers(named).values()} == {Health.HEALTHY}
    named[odd % len(values)] = 0.3 * unit
    found = outliers(named)
    assert [k for k, answer in found.items() if answer.health is Health.UNHEALTHY] == [
        odd % len(values)
    ]


@given(st.floats(), st.lists(st.floats(), max_size=6))
def test_any_numbers_get_an_answer(value: float, peers: list[float]) -> None:
    assert compare(value, peers, settings=PeerSettings(min_peers=1)).reason


@given(st.lists(st.lists(st.sampled_from([1.98e9, 1.97e9, 1.2e9]), max_size=4), max_size=9))
def test_all_at_once_is_each_against_the_others(levels: list[list[float]]) -> None:
    clocks = {f"n{k}": gpus for k, gpus in enumerate(levels)}
    seen = window(CLOCK, clocks) | window(THROTTLE, {"n0": [64.0], "n1": [0.0] * 8})
    assert all_against_peers(seen, clocks) == {
        node: against_peers(seen, node, peers=clocks) for node in clocks
    }


def test_of_very_many_nodes_each_is_compared_with_some() -> None:
    clocks = {f"n{k:03d}": [1.98e9] * 2 for k in range(300)} | {"n007": [1.1e9, 1.98e9]}
    found = all_against_peers(window(CLOCK, clocks), clocks)
    assert [node for node, one in found.items() if one.health is not Health.HEALTHY] == ["n007"]
    assert all(
        "of 126 peers" in one.reason or "of 128 peers" in one.reason for one in found.values()
    )
