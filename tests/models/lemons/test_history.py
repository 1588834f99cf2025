"""Features of a node's history: what was seen by then, and nothing else."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from relume.models.lemons.history import FEATURES, MAX_FAULTS, NodeHistory
from relume.models.lemons.quarantine import DAY


def of(history: NodeHistory, node: str, day: float, began: float) -> dict[str, float]:
    values = history.returned(node, round(day * DAY), began=round(began * DAY))
    assert values is not None
    return {name: math.expm1(value) for name, value in zip(FEATURES, values, strict=True)}


def rounded(found: dict[str, float], *names: str) -> list[float]:
    return [round(found[name], 6) for name in names]


def test_faults_are_counted_by_window_and_kind() -> None:
    history = NodeHistory(nodes=10)
    for day, kind in ((0, "GPU"), (65, "GPU"), (95, "NIC"), (98, "GPU")):
        history.fault("a", day * DAY, kind)
    history.fault("b", 99 * DAY, "GPU")
    found = of(history, "a", 100, 98)
    counts = "faults_7_days", "faults_30_days", "faults_90_days", "faults", "kinds", "same_kind"
    assert rounded(found, *counts) == [2, 2, 3, 4, 2, 3]
    assert rounded(found, "days_since_fault_before", "days_since_first_fault") == [3, 100]
    assert rounded(found, "fleet_faults_30_days") == [0.3]


def test_repairs_are_remembered() -> None:
    history = NodeHistory(nodes=10)
    history.fault("a", 0, "GPU")
    of(history, "a", 4, 0)
    history.fault("a", 10 * DAY, "GPU")
    found = of(history, "a", 12, 10)
    names = "repair_days", "mean_repair_days", "longest_repair_days"
    assert rounded(found, *names) == [2, 3, 4]


def test_of_a_node_without_a_fault_nothing_is_told() -> None:
    assert NodeHistory(nodes=10).returned("a", DAY, began=0) is None


@given(st.lists(st.integers(0, 400), min_size=1, max_size=200))
def test_it_is_bounded_and_every_feature_is_a_number(days: list[int]) -> None:
    history = NodeHistory(nodes=10)
    for day in sorted(days):
        history.fault("a", day * DAY, str(day % 3))
    values = history.returned("a", (max(days) + 1) * DAY, began=max(days) * DAY)
    assert values is not None
    assert all(math.isfinite(value) and value >= 0 for value in values)
    assert values[FEATURES.index("faults")] <= math.log1p(MAX_FAULTS)
