"""What speaks for slowdowns of one attempt: windows of a day, and evidence that only grows."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from relume.models.baselines.fdr import CONFIRMING, e_value
from relume.models.straggler.windows import (
    MAX_EVIDENCE,
    MAX_WINDOWS,
    Scale,
    Window,
    Windows,
)

SCALE = Scale(alpha=1e-4, readings=1000)
FIRST, AGAIN = e_value(1e4, 1000), e_value(1e4, CONFIRMING)


def watched(readings: int, *alarms: int, scale: Scale = SCALE) -> list[Window]:
    windows = Windows()
    for number in range(readings):
        windows.take("train", number, scale, alarmed=number in alarms)
    return windows.all


def test_a_window_is_a_day_of_readings() -> None:
    assert watched(2500) == [Window("train", begin) for begin in (0, 1000, 2000)]


def test_an_alarm_that_is_followed_by_another_one_counts_for_much_more() -> None:
    [window] = watched(900, 100, 112, 130)
    assert [time for time, _ in window.evidence] == [100, 112, 130]
    values = [value for _, value in window.evidence]
    assert values == pytest.approx([FIRST, FIRST * AGAIN, FIRST * AGAIN**2])


def test_alarms_of_other_stretches_add_up() -> None:
    [window] = watched(900, 100, 500, 510)
    values = [value for _, value in window.evidence]
    assert values == pytest.approx([FIRST, 2 * FIRST, FIRST + FIRST * AGAIN])


def test_evidence_belongs_to_the_window_of_its_reading() -> None:
    first, second = watched(1500, 990, 1010)
    assert [len(one.evidence) for one in (first, second)] == [1, 1]


def test_a_stream_that_begins_anew_has_a_window_of_its_own() -> None:
    windows = Windows()
    for number in range(10):
        windows.take("train", number, SCALE, alarmed=False)
    windows.close("evaluation")
    windows.take("train", 10, SCALE, alarmed=False)
    windows.close("train")
    windows.take("train", 11, SCALE, alarmed=False)
    windows.close()
    windows.take("train", 12, SCALE, alarmed=False)
    assert [one.begin for one in windows.all] == [0, 11, 12]


def test_it_is_bounded_whatever_comes() -> None:
    windows = watched(MAX_WINDOWS + 50, *range(MAX_WINDOWS + 50), scale=Scale(0.5, 1))
    assert len(windows) == MAX_WINDOWS
    spread = range(0, 5000, CONFIRMING + 1)
    [window] = watched(5000, *spread, scale=Scale(1e-6, 1_000_000))
    assert len(window.evidence) == MAX_EVIDENCE
    [dense] = watched(200, *range(200), scale=Scale(1e-6, 1_000_000))
    assert dense.evidence[-1][1] < float("inf")


def test_it_goes_on_from_what_was_saved() -> None:
    alarms, half = {100, 112, 700}, Windows()
    for number in range(110):
        half.take("train", number, SCALE, alarmed=number in alarms)
    other = msgspec.msgpack.decode(msgspec.msgpack.encode(half), type=Windows)
    for number in range(110, 900):
        other.take("train", number, SCALE, alarmed=number in alarms)
    assert other.all == watched(900, *alarms)


def test_without_a_change_the_evidence_is_one_on_average() -> None:
    """A detector that alarms with probability alpha at each reading, at least that far apart."""
    rng, scale, values = np.random.default_rng(7), Scale(alpha=1e-2, readings=200), []
    for _ in range(500):
        alarms = np.flatnonzero(rng.random(200) < scale.alpha)
        [window] = watched(200, *alarms.tolist(), scale=scale)
        # Its alarms after a first one are confirmations: what they multiply by is 1 on average.
        values.append(window.evidence[-1][1] if window.evidence else 0.0)
    assert np.mean(values) < 4.0
