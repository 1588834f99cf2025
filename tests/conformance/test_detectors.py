"""Every detector: silent on health, finds a slowdown, bounded, cut anywhere, restored anywhere."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detecting import KINDS, Kind

CALIBRATION = 3000
"""More steps than any detector calibrates with."""

all_kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@cache
def steps(count: int, seconds: float = 5.0, seed: int = 0) -> list[float]:
    noise = np.random.default_rng(seed).standard_normal(count)
    return [float(value) for value in seconds * (1 + 0.02 * noise)]


@all_kinds
@pytest.mark.parametrize("seed", range(3))
def test_healthy_is_silent(kind: Kind, seed: int) -> None:
    assert kind.make().take(steps(30_000, seed=seed)) == []


@all_kinds
def test_a_slowdown_is_found(kind: Kind) -> None:
    detector = kind.make()
    assert detector.take(steps(CALIBRATION)) == []
    found = detector.take(steps(1000, 6.0))
    assert CALIBRATION <= found[0] < CALIBRATION + kind.within


@all_kinds
def test_its_memory_is_bounded(kind: Kind) -> None:
    detector = kind.make()
    detector.take(steps(30_000))
    before = len(detector.save())
    detector.take(steps(30_000, seed=1))
    assert len(detector.save()) <= kind.most_bytes
    assert len(detector.save()) <= before + 1024


@all_kinds
@pytest.mark.parametrize("wild", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_changes_no_finding(kind: Kind, wild: float) -> None:
    values = [*steps(CALIBRATION), *steps(1000, 6.0)]
    plain, disturbed = kind.make(), kind.make()
    found = plain.take(values)
    places = [500, 1700, CALIBRATION + 3]
    for place in reversed(places):
        values.insert(place, wild)
    shifted = [place + sum(one <= place for one in places) for place in found]
    assert disturbed.take(values)[0] == shifted[0]


@all_kinds
@given(cuts=st.lists(st.integers(0, CALIBRATION + 300), max_size=5))
def test_how_a_stream_is_cut_changes_nothing(kind: Kind, cuts: list[int]) -> None:
    values = [*steps(CALIBRATION), *steps(300, 6.0)]
    whole, parts = kind.make(), kind.make()
    found, edges = whole.take(values), [0, *sorted(cuts), len(values)]
    cut = []
    for begin, end in pairwise(edges):
        cut += parts.take(values[begin:end])
    assert cut == found
    assert parts.save() == whole.save()


@all_kinds
@given(place=st.integers(1, CALIBRATION + 300))
def test_what_is_restored_goes_on(kind: Kind, place: int) -> None:
    values = [*steps(CALIBRATION), *steps(300, 6.0)]
    whole, first, second = kind.make(), kind.make(), kind.make()
    found = first.take(values[:place])
    second.restore(first.save())
    found += second.take(values[place:])
    assert found == whole.take(values)
