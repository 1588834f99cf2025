"""Across jobs: the same alarms hold whatever comes first, and few of them are false."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from relume.errors import InputError
from relume.models.straggler.across import Judged, across
from relume.models.straggler.windows import Window

SURE = 1e9


def fleet(seed: int, jobs: int = 400) -> list[tuple[str, Window]]:
    """Windows of jobs one after the other; one in ten is slow, one in fifty alarms for nothing."""
    draws, windows = Random(seed), []
    for number in range(jobs):
        begin = draws.randrange(10_000)
        evidence: tuple[tuple[int, float], ...] = ()
        if number % 10 == 0:
            evidence = ((begin + 5, 100.0), (begin + 9, SURE))
        elif draws.random() < 0.02:
            evidence = ((begin + 5, 50.0),)
        windows.append((f"lab/{number}@0.0", Window("train", begin, evidence)))
    return windows


def held(judged: list[Judged]) -> dict[str, int | None]:
    return {one.attempt: one.held_at for one in judged if one.window.evidence}


def test_the_order_in_which_windows_come_changes_nothing() -> None:
    windows = fleet(1)
    mixed = list(windows)
    Random(2).shuffle(mixed)
    assert across(mixed, 0.1) == across(windows, 0.1)


def test_what_confirms_itself_holds_and_what_alarmed_once_does_not() -> None:
    found = held(across(fleet(3), 0.1))
    slow = {f"lab/{number}@0.0" for number in range(0, 400, 10)}
    assert {attempt for attempt, at in found.items() if at is not None} == slow
    assert len(found) > len(slow)


def test_it_holds_from_the_time_at_which_it_was_confirmed() -> None:
    window = Window("train", 3, ((8, 10.0), (11, SURE), (14, 2 * SURE)))
    [one] = across([("lab/1@0.0", window)], 0.1)
    assert (one.held_at, one.value, one.holds) == (11, SURE, True)
    assert one.needed == pytest.approx(1.0 / one.level)


def test_a_window_knows_of_discoveries_before_it_only() -> None:
    """More was found by the time the later one begins, so it has more room; not so the earlier."""
    early, late = Window("train", 0), Window("train", 100)
    found = ("lab/1@0.0", Window("train", 1, ((50, SURE),)))
    alone = across(
        [("lab/2@0.0", early), ("lab/3@0.0", late), ("lab/1@0.0", Window("train", 1))], 0.1
    )
    beside = across([("lab/2@0.0", early), ("lab/3@0.0", late), found], 0.1)
    levels = [[one.level for one in judged] for judged in (alone, beside)]
    assert levels[0][:2] == levels[1][:2]
    assert levels[1][2] > 1.5 * levels[0][2]


def test_a_smaller_share_of_false_ones_asks_for_more() -> None:
    windows = [("lab/1@0.0", Window("train", 0, ((1, 20_000.0),)))]
    assert [across(windows, share)[0].holds for share in (0.01, 0.1)] == [False, True]


def test_of_those_that_hold_few_are_false() -> None:
    """E-values of quiet windows as heavy as they may be: their mean is one."""
    rng, shares = np.random.default_rng(5), []
    for _ in range(50):
        windows, slow = [], set()
        for number in range(400):
            attempt = f"lab/{number}@0.0"
            if rng.random() < 0.1:
                slow.add(attempt)
                value = SURE
            else:
                value = 1500.0 if rng.random() < 1 / 1500 else 0.0
            evidence = ((number, value),) if value else ()
            windows.append((attempt, Window("train", number, evidence)))
        kept = {one.attempt for one in across(windows, 0.1) if one.holds}
        shares.append(len(kept - slow) / max(1, len(kept)))
        assert slow <= kept
    assert np.mean(shares) <= 0.1


@pytest.mark.parametrize("share", [0.0, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(InputError, match="alpha"):
        across([], share)
