from __future__ import annotations

import numpy as np
import pytest

from relume.models.worth.mttf import DAY, Exposure, failure_rate


def day(number: int, failed: int = 0, nodes: int = 10) -> list[Exposure]:
    """A day on `nodes` nodes in which so many attempts fail."""
    parts = max(1, failed)
    long = DAY // parts
    return [
        Exposure(
            nodes=nodes,
            start=number * DAY + part * long,
            end=number * DAY + (part + 1) * long - 1,
            failed=part < failed,
        )
        for part in range(parts)
    ]


def test_the_rate_is_failures_over_node_days_with_its_poisson_interval() -> None:
    found = failure_rate([one for number in range(20) for one in day(number, failed=number % 2)])
    assert found.rate.count == 10
    assert found.rate.exposure == pytest.approx(200, rel=1e-6)
    assert found.rate.interval == pytest.approx((4.795 / 200, 18.39 / 200), rel=1e-3)
    value, low, high = found.mttf_seconds(10)
    assert value == pytest.approx(2 * 86_400, rel=1e-6)
    assert value is not None
    assert high is not None
    assert low < value < high


def test_an_attempt_counts_on_each_day_that_it_reaches_into() -> None:
    found = failure_rate([Exposure(nodes=2, start=DAY // 2, end=3 * DAY, failed=True)])
    assert found.rate.exposure == pytest.approx(5)
    assert found.days == 4


def test_failures_that_cluster_are_told_from_independent_ones() -> None:
    rng = np.random.default_rng(3)
    even = [one for n, k in enumerate(rng.poisson(2, 300)) for one in day(n, int(k))]
    bursts = [one for n in range(300) for one in day(n, 20 if n % 10 == 0 else 0)]
    apart, together = failure_rate(even), failure_rate(bursts)
    assert apart.dispersion == pytest.approx(1, abs=0.3)
    assert together.dispersion is not None
    assert together.dispersion > 10
    assert together.size == pytest.approx(2 / (together.dispersion - 1), rel=0.01)
    assert together.bootstrap is not None
    assert together.rate.interval is not None
    narrow = together.rate.interval[1] - together.rate.interval[0]
    assert together.bootstrap[1] - together.bootstrap[0] > 2 * narrow


def test_nothing_seen_is_no_claim() -> None:
    nothing, calm = failure_rate([]), failure_rate(day(0))
    assert nothing.rate.value is None
    assert nothing.mttf_seconds(8) == (None, 0.0, None)
    assert calm.dispersion is None
    assert calm.bootstrap is None
    value, low, high = calm.mttf_seconds(1)
    assert (value, high) == (None, None)
    assert low == pytest.approx(10 / 3 * 86_400, rel=0.01)  # none in ten node-days: 3 in them
