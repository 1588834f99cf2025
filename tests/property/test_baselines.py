"""Baselines under arbitrary samples: what a plain copy says, however they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plain_baselines import Plain
from relume.models.baselines.baselines import Baselines
from relume.models.baselines.samples import Alarms
from relume.models.baselines.series import BLOCK, NEVER, BaselineSettings, record_of

SETTINGS = BaselineSettings(calibration_blocks=2, threshold=3.0, memory=0.1)
VALUES = st.floats(width=32) | st.sampled_from([5.0, 5.1, 9.0]) | st.floats(4.9, 5.1)
SAMPLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400), VALUES), max_size=300)
CUTS = st.lists(st.integers(0, 300), max_size=6)

Sample = tuple[int, int, float]


@dataclass
class Found:
    """Alarms of several batches."""

    alarms: set[tuple[int, int, int, float]]

    def add(self, batch: Alarms) -> None:
        self.alarms.update(zip(*(part.tolist() for part in batch), strict=True))


def taken(
    samples: Sequence[Sample],
    cuts: Sequence[int] = (),
    *,
    lateness: int = 0,
    settings: BaselineSettings = SETTINGS,
) -> tuple[Baselines, Found]:
    baselines, found = Baselines(settings, lateness=lateness), Found(set())
    edges = [0, *sorted(cut for cut in cuts if cut < len(samples)), len(samples)]
    for begin, end in pairwise(edges):
        ids, times, values = zip(*samples[begin:end], strict=True) if end > begin else ((), (), ())
        found.add(baselines.update(ids, times, values))
    found.add(baselines.advance(10_000))
    return baselines, found


def equal(one: Baselines, other: Baselines) -> bool:
    count = min(len(one), len(other))  # room for what is to come may differ
    return (
        one.series[:count].tobytes() == other.series[:count].tobytes()
        and one.last_seen[:count].tobytes() == other.last_seen[:count].tobytes()
    )


def distinct(samples: Sequence[Sample]) -> list[Sample]:
    """One value a series and time: of two, the one that comes first counts."""
    return list({sample[:2]: sample for sample in samples}.values())


@given(SAMPLES, st.booleans())
def test_the_kernels_do_what_a_plain_copy_does(samples: list[Sample], again: bool) -> None:  # noqa: FBT001
    samples.sort(key=lambda sample: sample[1])
    settings = replace(SETTINGS, calibrate_again=again)
    baselines, found = taken(samples, settings=settings)
    plain = {number: Plain(settings) for number in range(4)}
    told = {
        (number, time, *alarm)
        for number, time, value in samples
        if (alarm := plain[number].take(time, value)) is not None
    }
    assert found.alarms == told
    for number in range(len(baselines)):
        one = record_of(baselines.series, number)
        names = (
            "count",
            "mean",
            "variance",
            "quantile",
            "spread",
            "base",
            "scale",
            "cusum",
            "page",
        )
        assert {name: one[name] for name in names} == {
            name: getattr(plain.get(number, Plain(SETTINGS)), name) for name in names
        }
        assert one["fill"] == len(plain[number].block) if number in plain else True
        assert one["fill"] < BLOCK


@given(SAMPLES, st.randoms(use_true_random=False))
def test_any_order_within_the_watermark_is_the_same(
    samples: list[Sample], shuffler: object
) -> None:
    samples = distinct(samples)
    shuffled = list(samples)
    shuffler.shuffle(shuffled)  # type: ignore[attr-defined]
    one, found = taken(samples, lateness=1000)
    other, again = taken(shuffled, lateness=1000)
    assert found == again
    assert equal(one, other)


@given(SAMPLES, CUTS, st.sampled_from([0, 7, 1000]))
def test_cuts_into_batches_change_nothing(
    samples: list[Sample], cuts: list[int], lateness: int
) -> None:
    if lateness == 0:
        samples.sort(key=lambda sample: sample[1])
    one, found = taken(samples, lateness=lateness)
    other, again = taken(samples, cuts, lateness=lateness)
    assert found == again
    assert equal(one, other)
    assert one.counts == other.counts


@given(SAMPLES, SAMPLES, st.sampled_from([0, 50]))
@settings(max_examples=50)
def test_what_is_saved_and_restored_goes_on(
    before: list[Sample], after: list[Sample], lateness: int
) -> None:
    one, found = taken(before, lateness=lateness)
    other, again = Baselines.restore(one.save(), SETTINGS), Found(set(found.alarms))
    for baselines, told in ((one, found), (other, again)):
        columns = tuple(zip(*after, strict=True)) or ((), (), ())
        told.add(baselines.update(*(np.array(column) for column in columns)))
        told.add(baselines.advance(20_000))
    assert found == again
    assert equal(one, other)
    assert one.counts == other.counts


@given(
    st.lists(st.integers(0, 1000), max_size=300),
    st.integers(0, 1200),
    st.integers(0, 1200) | st.integers(0, 2**32),
)
@settings(max_examples=60)
def test_who_is_silent_is_told_whoever_lies_beside(seen: list[int], now: int, limit: int) -> None:
    baselines = Baselines()
    spoke = [number for number, time in enumerate(seen) if time % 7]
    baselines.update(spoke, [seen[number] for number in spoke], [1.0] * len(spoke))
    known = baselines.last_seen.tolist()
    limits = np.random.default_rng(limit).integers(0, 1200, len(baselines))
    for longest in (np.full(len(known), limit), limits):
        silent = [
            number
            for number, last in enumerate(known)
            if last != NEVER and now - last > longest[number]
        ]
        assert baselines.silent(now, longest).tolist() == silent
    whole = [number for number, last in enumerate(known) if last != NEVER and now - last > limit]
    assert baselines.silent(now, limit).tolist() == whole
