"""Baselines: what is taken, what alarms, what falls silent, and what is no measurement."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from relume.errors import InputError
from relume.models.baselines import kernels
from relume.models.baselines.baselines import MAX_SERIES, Baselines, warm_up
from relume.models.baselines.series import NEVER, SERIES_BYTES, BaselineSettings, record_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SECOND = 1_000_000


def fed(values: list[float] | np.ndarray, *, every: int = 5 * SECOND, worse: int = 1) -> Baselines:
    baselines = Baselines()
    baselines.watch(0, worse=worse)
    baselines.update(np.zeros(len(values), int), np.arange(len(values)) * every, values)
    return baselines


def alarms_of(values: np.ndarray, *, worse: int = 1) -> list[int]:
    """Places of the samples at which a series alarmed."""
    baselines = Baselines()
    baselines.watch(0, worse=worse)
    found = baselines.update(np.zeros(len(values), int), np.arange(len(values)), values)
    return [int(time) for time in found.times]


def noisy(count: int, level: float = 5.0, share: float = 0.02, seed: int = 1) -> np.ndarray:
    return level * (1 + share * np.random.default_rng(seed).standard_normal(count))


def test_a_series_takes_64_bytes() -> None:
    baselines = fed([1.0])
    assert baselines.series.itemsize + baselines.last_seen.itemsize == SERIES_BYTES == 64


def test_the_median_of_five_is_the_median() -> None:
    for five in itertools.product(range(5), repeat=5):
        assert kernels.median_of_five(*map(float, five)) == sorted(five)[2]


def test_mean_variance_and_quantile_follow_a_series() -> None:
    one = record_of(fed(noisy(5000)).series, 0)
    assert one["mean"] == pytest.approx(5.0, rel=0.01)
    assert one["variance"] ** 0.5 == pytest.approx(0.1, rel=0.25)
    assert one["quantile"] == pytest.approx(5.0, rel=0.01)
    assert one["spread"] == pytest.approx(0.6745 * 0.1, rel=0.25)
    assert one["base"] == pytest.approx(5.0, rel=0.01)


def test_another_quantile_is_followed() -> None:
    baselines = Baselines(BaselineSettings(quantile=0.9, memory=0.002))
    values = noisy(20_000)
    baselines.update(np.zeros(20_000, int), np.arange(20_000), values)
    assert record_of(baselines.series, 0)["quantile"] == pytest.approx(
        5 * (1 + 1.28 * 0.02), rel=0.01
    )


@pytest.mark.parametrize("share", [0.2, 0.1])
def test_what_gets_slower_alarms_soon(share: float) -> None:
    values = noisy(1000)
    values[500:] *= 1 + share
    found = alarms_of(values)
    assert 500 <= found[0] < 520


def test_what_gets_slowly_slower_is_seen_against_its_calibration() -> None:
    found = alarms_of(noisy(4000) * (1 + np.arange(4000) / 20_000))
    assert found
    assert min(found) > 1000


@pytest.mark.parametrize("values", [noisy(20_000), np.full(3000, 5.0), np.zeros(3000)])
def test_what_stays_as_it_is_does_not_alarm(values: np.ndarray) -> None:
    assert alarms_of(values) == []


def test_two_wild_samples_in_five_are_no_change() -> None:
    values = noisy(3000)
    values[600::50] = values[601::50] = 80.0
    assert alarms_of(values) == []


def test_a_change_below_the_effect_gate_is_none() -> None:
    values = noisy(20_000, share=0.005)
    values[1000:] *= 1.04
    assert alarms_of(values) == []


def test_less_is_worse_where_that_is_said() -> None:
    values = noisy(1000, level=900.0)
    values[500:] *= 0.8
    assert alarms_of(values) == []
    assert 500 <= alarms_of(values, worse=-1)[0] < 520


def test_a_level_that_stays_is_told_once_where_it_becomes_usual() -> None:
    values = noisy(3000)
    values[500:] *= 1.3
    assert len(alarms_of(values)) > 10
    baselines = Baselines(BaselineSettings(calibrate_again=True))
    found = baselines.update(np.zeros(3000, int), np.arange(3000), values)
    assert len(found.times) == 1


def test_negative_values_have_a_gate_too() -> None:
    values = noisy(1000, level=-40.0)
    values[500:] += 10.0
    assert 500 <= alarms_of(values)[0] < 520


@pytest.mark.parametrize("wild", [np.nan, np.inf, -np.inf, 1e19])
def test_what_is_no_measurement_shows_only_that_somebody_speaks(wild: float) -> None:
    baselines = fed([5.0, 5.0, wild])
    assert baselines.counts.rejected == 1
    assert baselines.counts.taken == 2
    one = record_of(baselines.series, 0)
    assert (baselines.last_seen[0], one["mean"], one["count"]) == (10 * SECOND, 5.0, 2)


def test_late_and_duplicate_samples_are_counted_and_change_nothing() -> None:
    baselines = fed([5.0, 6.0])
    before, seen = baselines.series.copy(), baselines.last_seen.copy()
    baselines.update([0, 0], [5 * SECOND, SECOND], [9.0, 9.0])
    assert (baselines.counts.duplicate, baselines.counts.late) == (1, 1)
    assert np.array_equal(baselines.series, before)
    assert np.array_equal(baselines.last_seen, seen)


def test_one_sample_is_all_that_is_known() -> None:
    one = record_of(fed([7.0]).series, 0)
    assert (one["mean"], one["quantile"], one["variance"], one["spread"]) == (7.0, 7.0, 0.0, 0.0)


def test_a_sample_may_be_late_by_what_is_allowed() -> None:
    baselines = Baselines(lateness=10)
    baselines.update([0, 0, 0], [20, 12, 9], [1.0, 1.0, 1.0])
    assert baselines.counts.late == 1
    assert baselines.counts.taken == 0
    baselines.advance(30)
    assert baselines.counts.taken == 2


def test_who_said_nothing_for_too_long_is_silent() -> None:
    baselines = Baselines()
    baselines.update([0, 1, 4], [100, 50, 100], [1.0, 1.0, 1.0])
    assert baselines.silent(160, 80).tolist() == [1]
    assert baselines.silent(160, [10, 200, 10, 10, 70][: len(baselines)]).tolist() == [0]
    assert baselines.last_seen[2] == NEVER


@pytest.mark.parametrize(
    ("ids", "times", "values", "said"),
    [
        ([0, 1], [1], [1.0], "one length"),
        ([[0]], [[1]], [[1.0]], "one length"),
        ([-1], [1], [1.0], "series -1"),
        ([MAX_SERIES], [1], [1.0], f"0 to {MAX_SERIES - 1}"),
    ],
)
def test_samples_that_do_not_fit_are_refused(
    ids: ArrayLike, times: ArrayLike, values: ArrayLike, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        Baselines().update(ids, times, values)


def test_many_may_be_silent() -> None:
    baselines = Baselines()
    baselines.update(range(5000), [100] * 5000, [1.0] * 5000)
    assert baselines.silent(200, 50)[:5000].tolist() == list(range(5000))
    with pytest.raises(InputError, match="2 limits"):
        baselines.silent(200, [1, 2])


def test_nothing_is_no_sample() -> None:
    assert Baselines().update([], [], []).ids.tolist() == []


@pytest.mark.parametrize(
    "name", ["memory", "quantile", "calibration_blocks", "threshold", "noise_floor"]
)
def test_settings_out_of_their_range_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"baselines.{name}"):
        BaselineSettings(**{name: -1})  # type: ignore[arg-type]


def test_what_was_saved_under_other_settings_is_refused() -> None:
    saved = fed([1.0, 2.0]).save()
    with pytest.raises(InputError, match="other settings"):
        Baselines.restore(saved, BaselineSettings(effect=0.1))


@pytest.mark.parametrize("damaged", [b"", b"PK", b"x" * 100])
def test_what_can_not_be_read_is_refused(damaged: bytes) -> None:
    with pytest.raises(InputError, match="can't be restored"):
        Baselines.restore(damaged)


def test_what_was_cut_short_or_changed_is_refused() -> None:
    saved = fed([1.0, 2.0]).save()
    for damaged in (saved[:-10], saved[:300] + b"x" + saved[301:]):
        with pytest.raises(InputError, match="can't be restored"):
            Baselines.restore(damaged)


def test_warming_up_leaves_nothing_to_compile() -> None:
    warm_up()
    before = compiled_forms()
    fed([1.0] * 200)
    assert compiled_forms() == before


def compiled_forms() -> list[int]:
    """For how many types of arguments each kernel is compiled."""
    names = ("update", "silent", "order_by_series", "is_in_order")
    return [len(vars(kernels)[name].signatures) for name in names]
