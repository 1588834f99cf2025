"""The e-detector: what it promises, and that it keeps it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from relume.errors import InputError
from relume.models.baselines.draws import stream_key, uniform
from relume.models.baselines.guaranteed import (
    BETS,
    EDetector,
    GuaranteedSettings,
    alpha_of,
    conformal_p,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETTINGS = GuaranteedSettings(alpha=alpha_of(0.01, 5.0))


def steps(count: int, seconds: float = 5.0, seed: int = 0) -> NDArray[np.float64]:
    return seconds * (1 + 0.02 * np.random.default_rng(seed).standard_normal(count))


def detector(settings: GuaranteedSettings = SETTINGS, stream: str = "train") -> EDetector:
    return EDetector(settings, "lab/7@1.0", stream)


def plain(values: NDArray[np.float64], settings: GuaranteedSettings, stream: str) -> list[int]:
    """The definition of metrics section 4, word by word."""
    key = stream_key(settings.seed, "lab/7@1.0", stream) >> 1
    calibration = np.sort(values[: settings.calibration].astype(np.float32))
    evidence, alarms = dict.fromkeys(BETS, 0.0), []
    for index, value in enumerate(values[settings.calibration :]):
        gated = np.float32(value / (1 + settings.effect))
        above, equal = int((calibration > gated).sum()), int((calibration == gated).sum())
        p = (above + uniform(key, index) * (equal + 1)) / (settings.calibration + 1)
        p = min(1.0, p + math.sqrt(math.log(1 / settings.eta) / (2 * settings.calibration)))
        evidence = {k: (had + 1) * k * p ** (k - 1) for k, had in evidence.items()}
        if sum(evidence.values()) / len(BETS) >= 1 / settings.alpha:
            alarms.append(settings.calibration + index)
            evidence = dict.fromkeys(BETS, 0.0)
    return alarms


@pytest.mark.parametrize("seed", range(5))
def test_it_does_what_its_definition_says(seed: int) -> None:
    settings = replace(SETTINGS, alpha=0.01, calibration=100, effect=0.02)
    values = np.round(steps(600, seed=seed), 2)  # with ties
    values[400:] *= 1.06
    found = detector(settings, f"s{seed}").take(values).tolist()
    assert found == plain(values, settings, f"s{seed}")
    assert found


def test_a_slowdown_of_a_fifth_is_found_within_twenty_steps() -> None:
    one = detector()
    assert one.take(steps(20_000)).tolist() == []
    assert one.take(steps(100, 6.0))[0] < 20


def test_a_slowdown_within_the_gate_is_none() -> None:
    one = detector()
    one.take(steps(2000))
    assert one.take(steps(20_000, 5.1, seed=1)).tolist() == []


def test_false_alarms_are_rarer_than_promised() -> None:
    # A null without any room: no gate and no margin, and the bound still holds.
    settings = GuaranteedSettings(alpha=0.002, effect=0.0, eta=1.0)
    count = 200_000
    alarms = sum(
        len(detector(settings, f"{n}").take(steps(count // 10, seed=n))) for n in range(10)
    )
    assert alarms <= count * settings.alpha


@pytest.mark.parametrize(("calibration", "eta"), [(1000, 1e-3), (100, 0.1), (50, 1.0), (2, 1e-9)])
def test_a_full_bet_returns_no_more_than_its_stake(calibration: int, eta: float) -> None:
    settings = GuaranteedSettings(0.01, calibration=calibration, eta=eta, full_bets=True)
    true = (np.arange(1_000_000) + 0.5) / 1e6
    p = np.clip(true - 1 / (calibration + 1), settings.margin, 1.0)
    for bet, odds in zip(BETS, settings.odds(), strict=True):
        assert odds >= bet
        if settings.margin:  # without one there is no bound below, and bets pay what they always do
            assert np.mean(odds * p ** (bet - 1)) <= 1.0
        else:
            assert odds == bet


def test_full_bets_keep_the_promise_at_the_edge_of_the_gate() -> None:
    # Slower by just what the gate allows: the null as bad as it can be.
    settings = GuaranteedSettings(alpha=0.002, calibration=500, eta=0.1, full_bets=True)
    alarms, count = 0, 20_000
    for seed in range(20):
        one = detector(settings, f"{seed}")
        one.take(steps(500, seed=seed))
        alarms += len(one.take(steps(count, 5.0 * 1.05, seed=100 + seed)))
    assert alarms <= 20 * count * settings.alpha


def test_full_bets_find_a_slowdown_of_a_fifth_within_a_dozen_steps() -> None:
    plain_bets, full = detector(), detector(replace(SETTINGS, full_bets=True))
    delays = []
    for one in (plain_bets, full):
        one.take(steps(5000))
        delays.append(int(one.take(steps(100, 6.0))[0]) + 1)
    assert delays == [19, 12]


def test_how_values_are_cut_changes_nothing() -> None:
    values = np.concatenate([steps(1500), steps(200, 6.0)])
    whole, parts = detector(), detector()
    found = whole.take(values).tolist()
    cut = [
        p + begin for begin in range(0, 1700, 170) for p in parts.take(values[begin : begin + 170])
    ]
    assert found == cut
    assert whole.save() == parts.save()


def test_what_is_restored_goes_on() -> None:
    one, other = detector(), detector()
    one.take(steps(1200))
    other.restore(one.save())
    assert one.take(steps(100, 6.0)).tolist() == other.take(steps(100, 6.0)).tolist()


def test_what_is_no_time_of_a_step_is_passed_over() -> None:
    one, other = detector(), detector()
    one.take(steps(1200))
    other.take(np.insert(steps(1200), [3, 700, 1100], [np.nan, -1.0, np.inf]))
    assert one.save() == other.save()


def test_nothing_is_usual_before_the_calibration() -> None:
    one = detector()
    one.take(steps(999))
    assert (one.is_calibrated, one.usual) == (False, None)
    one.take([5.0])
    assert one.usual == pytest.approx(5.0, rel=0.01)


def test_a_stream_takes_at_most_8_kib() -> None:
    assert len(detector(replace(SETTINGS, calibration=1000)).save()) < 8192


def test_draws_are_uniform_and_independent_of_each_other() -> None:
    draws = np.array([uniform(stream_key(0, "a", "b") >> 1, n) for n in range(20_000)])
    assert draws.min() >= 0
    assert draws.max() < 1
    counts = np.histogram(draws, 20, (0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 45  # chi square of 19: 1 in 1000
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03


def test_p_values_of_ties_are_spread_by_the_draw() -> None:
    calibration = np.full(9, 5.0, np.float32)
    low, high = (conformal_p(calibration, np.float32(5.0), draw) for draw in (0.0, 1.0))
    assert (low, high) == (0.0, 1.0)


@pytest.mark.parametrize("name", ["alpha", "calibration", "eta", "effect"])
def test_settings_out_of_their_range_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"guaranteed.{name}"):
        replace(SETTINGS, **{name: -1})  # type: ignore[arg-type]


def test_what_does_not_fit_can_not_be_restored() -> None:
    with pytest.raises(InputError, match="calibration of 10"):
        detector().restore(detector(replace(SETTINGS, calibration=10)).save())
    with pytest.raises(InputError, match="can't be restored"):
        detector().restore(b"PK")
