from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.benchmarks.simulator import parameters
from relume.benchmarks.simulator.operators import Delay, always, from_results
from relume.benchmarks.simulator.oracle import FROZEN, fraction
from relume.errors import InputError


def results() -> dict[str, dict[str, Any]]:
    return {
        "loop": {
            "measures": {
                "crash_settled_seconds": 1.0,
                "crash_settled_seconds_worst": 7.0,
                "hang_settled_seconds": 300.0,
                "hang_released_seconds": 304.0,
            }
        },
        "hang": {
            "measures": {
                "known_p50_seconds": 90.0,
                "known_p95_seconds": 400.0,
                "known_largest_seconds": 2_000.0,
            }
        },
        "episodes": {
            "corpus": {"episodes": 1000},
            "measures": {
                "culprit_node": {"value": 0.95, "low": 0.9, "high": 0.99},
                "exclusions_of_others": 2,
                "kind": 0.99,
            },
        },
        "false-alarms": {
            "bars": {"calm": {}, "daily": {}},
            "measures": {
                "calm_per_job_day": {"value": 0.0, "low": 0.0, "high": 0.003},
                "daily_per_job_day": {"value": 0.001, "low": 0.0, "high": 0.005},
                "harsh_per_job_day": {"value": 1.0, "low": 1.0, "high": 1.0},
            },
        },
    }


def test_an_operator_is_made_of_what_was_measured() -> None:
    relume = from_results(results())
    assert [relume.crash.at(share) for share in (0.1, 0.5, 1.0)] == [1.0, 1.0, 7.0]
    found = [relume.hang.at(share) for share in (0.2, 0.95, 1.0)]
    assert found == pytest.approx([90.0, 400.0, 601.0])
    assert (relume.act, relume.names_node, relume.blames_innocent) == (4.0, 0.95, 0.002)
    assert relume.false_alarms_per_job_day == 0.005


@pytest.mark.parametrize("bench", ["loop", "hang", "episodes", "false-alarms"])
def test_what_was_not_measured_is_not_made_up(bench: str) -> None:
    missing = {name: result for name, result in results().items() if name != bench}
    with pytest.raises(InputError, match=f"no stored result.*relume bench run {bench} --store"):
        from_results(missing)


@given(st.floats(0, 1), st.floats(0, 1))
def test_delays_grow_with_the_share(first: float, second: float) -> None:
    delay = Delay(((0.0, 1.0), (0.5, 2.0), (0.95, 30.0), (1.0, 600.0)))
    assert (delay.at(first) <= delay.at(second)) or first > second
    assert always(5.0).at(first) == 5.0


def test_the_oracle_fraction_is_of_the_means() -> None:
    baseline, oracle = np.array([0.5, 1.0]), np.array([0.9, 1.0])
    found = fraction(np.array([0.8, 1.0]), baseline, oracle)
    assert found["value"] == pytest.approx(0.75)
    assert found["low"] <= found["value"] <= found["high"]
    with pytest.raises(InputError, match="gains nothing"):
        fraction(baseline, baseline, baseline)


def test_the_parameters_are_the_frozen_ones() -> None:
    assert parameters.file_hash() == FROZEN
