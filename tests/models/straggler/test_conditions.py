"""What metrics say of a slow job's nodes."""

from __future__ import annotations

import pytest

from relume.features.metrics.peers import CLOCK, THROTTLE
from relume.features.metrics.points import Points, Series
from relume.models.straggler.conditions import conditions_of
from relume.verdict import Health

NODES = ("n0", "n1", "n2", "n3", "n4")
ERRORS = "nic_symbol_errors_count_total"


def window(clocks: dict[str, float], bits: dict[str, int]) -> dict[Series, Points]:
    found: dict[Series, Points] = {}
    for node, hertz in clocks.items():
        for gpu in "01":
            found[Series(CLOCK, node, gpu)] = [(t, hertz + t) for t in range(5)]
            found[Series(THROTTLE, node, gpu)] = [(t, float(bits.get(node, 0))) for t in range(5)]
    return found


def links(rates: dict[str, float]) -> dict[Series, Points]:
    return {Series(ERRORS, n, device="mlx5_0"): [(0, rate), (1, rate)] for n, rate in rates.items()}


@pytest.mark.parametrize(("bits", "cause"), [(0x48, "thermal"), (0x80, "power"), (0x0, "clocks")])
def test_a_node_with_low_clocks_is_unhealthy_for_a_reason(bits: int, cause: str) -> None:
    clocks = dict.fromkeys(NODES, 1.98e9) | {"n2": 1.1e9}
    found = conditions_of(window(clocks, {"n2": bits}), NODES)
    assert (found["n2"].health, found["n2"].cause) == (Health.UNHEALTHY, cause)
    assert {found[node].health for node in NODES if node != "n2"} == {Health.HEALTHY}


def test_what_all_of_them_have_is_no_fault_of_one() -> None:
    low = window(dict.fromkeys(NODES, 1.1e9), dict.fromkeys(NODES, 0x48))
    assert {one.health for one in conditions_of(low, NODES).values()} == {Health.HEALTHY}


@pytest.mark.parametrize(("rate", "health"), [(20.0, Health.UNHEALTHY), (0.05, Health.HEALTHY)])
def test_links_with_errors(rate: float, health: Health) -> None:
    found = conditions_of(links(dict.fromkeys(NODES, 0.0) | {"n3": rate}), NODES)
    assert found["n3"].health is health
    assert found["n0"].health is Health.HEALTHY


def test_nodes_of_which_nothing_is_measured_and_strangers_are_left_out() -> None:
    measured = window(dict.fromkeys(NODES[:4], 1.98e9) | {"x9": 1.0e9}, {})
    assert set(conditions_of(measured, NODES)) == set(NODES[:4])


@pytest.mark.parametrize("value", [float("nan"), -1.0, float("inf")])
def test_what_can_not_be_bits_gives_no_reason(value: float) -> None:
    clocks = dict.fromkeys(NODES, 1.98e9) | {"n2": 1.1e9}
    odd = window(clocks, {}) | {Series(THROTTLE, "n2", "0"): [(t, value) for t in range(5)]}
    assert conditions_of(odd, NODES)["n2"].cause == "clocks"
