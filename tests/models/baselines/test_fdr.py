"""Online false discovery rate: levels as published, and few false ones among what holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.models.baselines.fdr import CONFIRMING, OnlineFdr, e_value, e_value_of_alarms


def published(outcomes: list[bool], alpha: float, share: float) -> list[float]:
    """The levels of e-LORD, word by word."""
    levels: list[float] = []
    for number in range(len(outcomes)):
        spent = sum(level / (sum(outcomes[:j]) + 1) for j, level in enumerate(levels))
        levels.append(min(1.0, share * (alpha - spent) * (sum(outcomes[:number]) + 1)))
    return levels


@given(st.lists(st.booleans(), max_size=40), st.sampled_from([0.01, 0.2, 1.0]))
def test_without_fading_the_levels_are_those_of_e_lord(outcomes: list[bool], share: float) -> None:
    fdr, levels = OnlineFdr(alpha=0.1, share=share, memory=1.0), []
    for held in outcomes:
        levels.append(fdr.begin())
        fdr.holds(1.0, 1.0 if held else 0.0)
    assert levels == pytest.approx(published(outcomes, 0.1, share), abs=1e-12)


@given(st.lists(st.booleans(), max_size=200), st.sampled_from([0.5, 0.9, 0.999, 1.0]))
def test_one_of_the_two_sums_is_always_within_alpha(outcomes: list[bool], memory: float) -> None:
    fdr = OnlineFdr(alpha=0.1, share=0.3, memory=memory)
    for held in outcomes:
        level = fdr.begin()
        assert level >= 0.0
        assert min(fdr.spent, fdr.faded) <= 0.1 + 1e-12
        fdr.holds(1.0, 1.0 if held else 0.0)


def test_levels_never_die_where_the_past_fades() -> None:
    fading, for_ever = OnlineFdr(memory=0.999), OnlineFdr(memory=1.0)
    levels = [(fading.begin(), for_ever.begin()) for _ in range(20_000)]
    assert levels[-1][0] > 0.4 * levels[0][0]
    assert levels[-1][1] < 1e-6 * levels[0][1]


@pytest.mark.parametrize("memory", [1.0, 0.99])
def test_few_of_those_that_hold_are_false(memory: float) -> None:
    rng = np.random.default_rng(3)
    shares = []
    for _ in range(200):
        fdr, false, held = OnlineFdr(alpha=0.2, share=0.05, memory=memory), 0.0, 0.0
        for _ in range(300):
            is_null = rng.random() < 0.8
            # Under the null an e-value of mean 1 that loves to exceed thresholds; 1e6 otherwise.
            value = 1e6 if not is_null else (400.0 if rng.random() < 1 / 400 else 0.0)
            found = fdr.holds(fdr.begin(), value)
            false, held = memory * false + (found and is_null), memory * held + found
        shares.append(false / max(1.0, held))
    assert np.mean(shares) <= 0.2


def test_a_window_without_room_never_holds() -> None:
    fdr = OnlineFdr(alpha=0.1, share=1.0, memory=1.0)
    assert fdr.begin() == pytest.approx(0.1)
    assert not fdr.holds(fdr.begin(), 1e300)


def test_evidence_over_no_samples_is_what_it_is() -> None:
    assert e_value(5.0, 0) == 5.0


def test_alarms_that_follow_each_other_at_once_multiply() -> None:
    alpha, day = 1e-4, 20_000
    one, two, three = (
        e_value_of_alarms(places, alpha, day)
        for places in ([5], [5, 5 + CONFIRMING], [5, 20, 21 + CONFIRMING])
    )
    assert one == pytest.approx(0.5)
    assert two == pytest.approx(one / alpha / CONFIRMING)
    assert three == two
    assert e_value_of_alarms([5, 6 + CONFIRMING], alpha, day) == one
    assert e_value_of_alarms(list(range(10_000)), alpha, day) < np.inf


@pytest.mark.parametrize("name", ["alpha", "share", "memory"])
def test_values_out_of_their_range_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"fdr.{name}"):
        OnlineFdr(**{name: 0.0})
