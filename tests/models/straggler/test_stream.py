"""One stream of step times: what is found, when, and what changes nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.errors import InputError
from relume.models.baselines.guaranteed import EDetector, GuaranteedSettings, alpha_of
from relume.models.straggler.levels import Change, Level
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.stream import PaceStream, warm_up

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETTINGS = StragglerSettings()
SMALL = StragglerSettings(calibration=200, eta=0.1, budget=1.0, fast_blocks=10)


def steps(count: int, seconds: float = 5.0, seed: int = 0) -> NDArray[np.float64]:
    return seconds * (1 + 0.02 * np.random.default_rng(seed).standard_normal(count))


def stream(settings: StragglerSettings = SETTINGS) -> PaceStream:
    return PaceStream(settings, "lab/7@1.0", "0.0")


def levels(changes: list[Change]) -> list[tuple[str, int]]:
    return [(change.level.name, change.place) for change in changes]


def test_a_slowdown_is_suspected_within_five_steps_and_sure_within_a_dozen() -> None:
    one = stream()
    one.take(steps(3000), span_seconds=5.0)
    found = one.take(steps(40, 6.0, 1), span_seconds=6.0)
    assert [change.level for change in found] == [Level.SUSPICION, Level.ACTIONABLE]
    assert found[0].place < 5
    assert found[1].place < 13
    assert found[1].back == found[1].place  # since the first slow step
    assert found[1].usual == pytest.approx(5.0, rel=0.01)
    assert found[1].ratio == pytest.approx(1.2, rel=0.02)


def test_a_slowdown_is_told_once_until_it_is_over_and_then_again() -> None:
    one = stream()
    one.take(steps(2000), span_seconds=5.0)
    parts = [one.take(steps(100, seconds, n)) for n, seconds in enumerate((6.0, 5.0, 6.0))]
    assert [[change.level.name for change in part] for part in parts] == [
        ["SUSPICION", "ACTIONABLE"],
        ["NONE"],
        ["SUSPICION", "ACTIONABLE"],
    ]
    assert one.level is Level.ACTIONABLE


def test_its_surer_alarms_are_those_of_the_e_detector() -> None:
    values = np.concatenate([steps(1500), steps(30, 6.0, 1)])
    detector = EDetector(
        GuaranteedSettings(alpha_of(0.01, 5.0), full_bets=True), "lab/7@1.0", "0.0"
    )
    sure = [c.place for c in stream().take(values, span_seconds=5.0) if c.level == 2]
    assert sure == detector.take(values).tolist()[:1]


def test_before_the_calibration_nothing_is_sure() -> None:
    one = stream()
    one.take(steps(300), span_seconds=5.0)
    found = one.take(steps(60, 6.0, 1), span_seconds=6.0)
    assert [change.level for change in found] == [Level.SUSPICION]
    assert not one.is_guaranteed


def test_a_larger_budget_alarms_sooner() -> None:
    delays = []
    for budget in (0.001, 0.01, 1.0):
        one = stream(replace(SETTINGS, budget=budget))
        one.take(steps(2000), span_seconds=5.0)
        delays.append(next(c.place for c in one.take(steps(40, 6.0, 1)) if c.level == 2))
    assert delays == sorted(delays, reverse=True)
    assert delays[0] > delays[-1]


def test_readings_that_stand_for_longer_need_less_evidence() -> None:
    delays = []
    for span in (1.0, 500.0):
        one = stream()
        one.take(steps(2000), span_seconds=span)
        delays.append(next(c.place for c in one.take(steps(40, 6.0, 1)) if c.level == 2))
    assert delays[1] < delays[0]


def test_what_is_within_the_gate_is_nothing() -> None:
    one = stream()
    one.take(steps(2000), span_seconds=5.0)
    assert one.take(steps(20_000, 5.15, 1)) == []


def test_faster_is_nothing() -> None:
    one = stream()
    one.take(steps(2000), span_seconds=5.0)
    assert one.take(steps(5000, 2.0, 1)) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0, 0.0])
def test_what_is_no_time_is_passed_over_and_keeps_its_place(value: float) -> None:
    one, other = stream(), stream()
    one.take(steps(2000))
    other.take(np.insert(steps(2000), [5, 700], value))
    slow = steps(40, 6.0, 1)
    expected = levels(one.take(slow))
    found = levels(other.take(np.concatenate([[value], slow])))
    assert found == [(name, place + 1) for name, place in expected]


def test_a_constant_pace_is_judged_too() -> None:
    one = stream()
    one.take(np.full(1500, 5.0), span_seconds=5.0)
    assert one.take(np.full(3000, 5.0)) == []
    assert [c.level for c in one.take(np.full(40, 6.0))] == [Level.SUSPICION, Level.ACTIONABLE]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=8), st.integers(0, 5))
def test_how_values_are_cut_changes_nothing(cuts: list[int], seed: int) -> None:
    values = np.concatenate([steps(400, 5.0, seed), steps(60, 6.0, seed), steps(60, 5.0, 9)])
    whole, parts = stream(SMALL), stream(SMALL)
    found, begin = [], 0
    for cut in (*cuts, len(values)):
        part = values[begin : begin + cut]
        found += [(c.level.name, c.place + begin) for c in parts.take(part, span_seconds=5.0)]
        begin += len(part)
    assert levels(whole.take(values, span_seconds=5.0)) == found
    more = np.concatenate([steps(50, 5.0, 7), steps(50, 6.0, 8)])
    assert whole.take(more) == parts.take(more)  # nothing else is different either


@pytest.mark.parametrize("at", [10, 150, 390, 405])
def test_what_is_restored_goes_on(at: int) -> None:
    values = np.concatenate([steps(400), steps(60, 6.0, 1), steps(40, 5.0, 2)])
    one, other = stream(SMALL), stream(SMALL)
    one.take(values[:at], span_seconds=5.0)
    other.restore(one.save())
    rest = [part.take(values[at:], span_seconds=5.0) for part in (one, other)]
    assert rest[0] == rest[1]
    more = np.concatenate([steps(50, 5.0, 7), steps(50, 6.0, 8)])
    assert one.take(more) == other.take(more)


def test_what_does_not_fit_can_not_be_restored() -> None:
    with pytest.raises(InputError, match="can't be restored"):
        stream().restore(b"PK")
    one = stream(SMALL)
    one.take(steps(300))
    with pytest.raises(InputError, match="can't be restored"):
        stream().restore(one.save())


def test_its_memory_does_not_grow() -> None:
    one = stream()
    one.take(steps(2000))
    before = len(one.save())
    one.take(steps(200_000, seed=1))
    assert len(one.save()) <= before + 64


@pytest.mark.parametrize(
    "name", ["budget", "effect", "calibration", "eta", "fast_blocks", "fast_threshold", "warm_up"]
)
def test_settings_out_of_their_range_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"straggler.{name}"):
        replace(SETTINGS, **{name: -2})  # type: ignore[arg-type]


def test_warming_up_needs_nothing_and_leaves_nothing() -> None:
    warm_up()
    assert stream().take(steps(50)) == []


def test_without_a_gate_whatever_is_slower_is_slow() -> None:
    one = stream(replace(SETTINGS, effect=0.0))
    one.take(steps(2000), span_seconds=5.0)
    assert [c.level for c in one.take(steps(200, 5.15, 1))][-1] is Level.ACTIONABLE
