"""The straggler detector of one attempt: who is listened to, and what is never mixed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from relume.errors import InputError
from relume.models.straggler.detector import LEADS, MAX_STREAMS, Slowdown, StragglerDetector
from relume.models.straggler.levels import Level
from relume.models.straggler.settings import StragglerSettings
from relume.models.straggler.steps import Printer, StepTime

SETTINGS = StragglerSettings(calibration=300, eta=0.1, budget=1.0, fast_blocks=10)
RANK0 = Printer("megatron", "job.log", 0)


def paces(count: int, seconds: float = 5.0, seed: int = 0) -> list[float]:
    noise = np.random.default_rng(seed).standard_normal(count)
    return [float(value) for value in seconds * (1 + 0.01 * noise)]


def feed(
    detector: StragglerDetector, values: Iterable[float], begin: int = 0, **known: Any
) -> list[Slowdown]:
    found = []
    for number, value in enumerate(values, begin):
        step = StepTime(value=value, span_seconds=value, step=number, line=number, **known)
        found += detector.take(RANK0, step)
    return found


def calibrated() -> StragglerDetector:
    detector = StragglerDetector(SETTINGS, "lab/7@1.0")
    assert feed(detector, paces(400)) == []
    return detector


def test_a_slowdown_says_since_when_and_by_how_much() -> None:
    detector = calibrated()
    found = feed(detector, paces(30, 6.0, 1), 400)
    assert [slow.level for slow in found] == [Level.SUSPICION, Level.ACTIONABLE]
    last = found[-1]
    assert (last.since.step, last.since.line) == (400, 400)
    assert last.ratio == pytest.approx(1.2, rel=0.01)
    assert "1.20 times as long since step 400" in last.reason
    assert "(by few steps)" in found[0].reason
    assert detector.slowdown == last


def test_it_is_over_when_steps_are_as_usual_again() -> None:
    detector = calibrated()
    feed(detector, paces(30, 6.0, 1), 400)
    feed(detector, paces(30, 5.0, 2), 430)
    assert detector.slowdown is None


def test_steps_around_an_evaluation_are_another_stream() -> None:
    detector = calibrated()
    for number in range(40):  # more and more of them, each five times as long
        assert feed(detector, [25.0], 400 + 2 * number, disturbed=True) == []
        assert feed(detector, paces(1, 5.0, number), 401 + 2 * number) == []


def test_a_restart_is_calibrated_anew() -> None:
    detector = calibrated()
    assert feed(detector, paces(400, 6.0, 1), 400, run=1) == []
    assert [s.level for s in feed(detector, paces(30, 7.2, 2), 800, run=1)][-1] == 2


def test_a_larger_batch_is_no_slowdown_and_the_same_batch_is() -> None:
    detector = StragglerDetector(SETTINGS, "lab/7@1.0")
    assert feed(detector, paces(400), work=512.0) == []
    assert feed(detector, paces(60, 7.5, 1), 400, work=768.0) == []
    other = StragglerDetector(SETTINGS, "lab/7@1.0")
    feed(other, paces(400), work=512.0)
    assert feed(other, paces(60, 7.5, 1), 400, work=512.0)


def test_work_that_only_seems_to_change_because_the_rate_lags_hides_nothing() -> None:
    detector = StragglerDetector(SETTINGS, "lab/7@1.0")
    rate, found = 100.0, []
    for number, value in enumerate([*paces(400), *paces(60, 6.5, 1)]):
        rate += 0.05 * (500.0 / value - rate)  # a running mean of samples a second
        step = StepTime(value=value, span_seconds=value, step=number, work=rate * value)
        found += detector.take(RANK0, step)
    assert [slow.level for slow in found][-1] is Level.ACTIONABLE


def test_steps_of_the_warm_up_count_nowhere() -> None:
    detector = StragglerDetector(SETTINGS, "lab/7@1.0")
    assert feed(detector, [500.0] * (LEADS + SETTINGS.warm_up)) == []
    assert feed(detector, paces(400)) == []
    assert feed(detector, paces(30, 6.0, 1))


def test_many_ranks_that_print_the_same_are_one() -> None:
    alone, among = calibrated(), StragglerDetector(SETTINGS, "lab/7@1.0")
    found: dict[str, list[Slowdown]] = {"alone": feed(alone, paces(30, 6.0, 1), 400), "among": []}
    for number, value in enumerate([*paces(400), *paces(30, 6.0, 1)]):
        for rank in range(4):
            step = StepTime(value=value, span_seconds=value, step=number, line=number)
            found["among"] += among.take(Printer("megatron", "job.log", rank), step)
    assert found["among"] == found["alone"]


def test_a_printer_that_tells_more_takes_over() -> None:
    detector = StragglerDetector(SETTINGS, "lab/7@1.0")
    clock, timer = Printer("mllog", "job.log"), Printer("detectron", "job.log")
    found = []
    for number, value in enumerate([*paces(400), *paces(30, 6.0, 1)]):
        odd = 40.0 if number % 3 == 0 else value  # what a clock holds beside the steps
        found += detector.take(clock, StepTime(value=odd, trust=1, step=number))
        found += detector.take(timer, StepTime(value=value, trust=4, step=number))
    assert [slow.level for slow in found] == [Level.SUSPICION, Level.ACTIONABLE]


def test_another_printer_takes_over_from_one_that_fell_silent() -> None:
    detector = calibrated()
    other = Printer("megatron", "rank1.log", 1)
    found = []
    for number, value in enumerate([*paces(700, 5.0, 3), *paces(30, 6.0, 1)]):
        found += detector.take(other, StepTime(value=value, span_seconds=value, step=number))
    assert [slow.level for slow in found] == [Level.SUSPICION, Level.ACTIONABLE]


def test_it_says_how_much_of_the_delay_is_waiting_for_input() -> None:
    detector = StragglerDetector(SETTINGS, "lab/7@1.0")
    feed(detector, paces(400), wait_seconds=0.1)
    slow = feed(detector, paces(30, 6.0, 1), 400, wait_seconds=0.9)[-1]
    assert slow.waits == pytest.approx(0.8, abs=0.1)
    assert feed(calibrated(), paces(30, 6.0, 1), 400)[-1].waits is None


def test_it_says_whether_it_came_bit_by_bit() -> None:
    at_once = feed(calibrated(), paces(30, 6.0, 1), 400)[-1]
    drifting = [value * (1 + 0.0008 * k) for k, value in enumerate(paces(400, 5.0, 1))]
    bit_by_bit = feed(calibrated(), drifting, 400)[-1]
    assert (at_once.is_gradual, bit_by_bit.is_gradual) == (False, True)


@pytest.mark.parametrize("at", [8, 30, 200, 403, 420])
def test_what_is_restored_goes_on(at: int) -> None:
    steps = [
        StepTime(value=v, span_seconds=v, step=n, work=512.0 * (1 + (n > 450)), run=n // 380)
        for n, v in enumerate([*paces(400), *paces(40, 6.0, 1), *paces(100, 5.0, 2)])
    ]
    whole, first, second = (StragglerDetector(SETTINGS, "lab/7@1.0") for _ in range(3))
    found = [slow for step in steps[:at] for slow in first.take(RANK0, step)]
    second.restore(first.save())
    found += [slow for step in steps[at:] for slow in second.take(RANK0, step)]
    assert found == [slow for step in steps for slow in whole.take(RANK0, step)]
    assert (second.slowdown, second.regimes) == (whole.slowdown, whole.regimes)


@pytest.mark.parametrize("saved", [b"", b"PK", b"\x97\x90\xc0"])
def test_what_does_not_fit_can_not_be_restored(saved: bytes) -> None:
    with pytest.raises(InputError, match="can't be restored"):
        StragglerDetector(SETTINGS, "lab/7@1.0").restore(saved)
    other = StragglerDetector(StragglerSettings(), "lab/7@1.0")
    with pytest.raises(InputError, match="can't be restored"):
        other.restore(calibrated().save())


def test_streams_are_bounded() -> None:
    detector = StragglerDetector(SETTINGS, "lab/7@1.0")
    for run in range(40):
        feed(detector, paces(30), run=run)
    assert len(detector.regimes) == MAX_STREAMS
    assert detector.regimes[-1] == "39.0"


def test_what_speaks_for_a_slowdown_is_kept_by_windows() -> None:
    detector = StragglerDetector(SETTINGS, "lab/7@1.0")
    values = [*paces(400), *paces(40, 6.0, 1)]
    for number, value in enumerate(values):
        step = StepTime(value=value, span_seconds=value, step=number, time=5 * number)
        detector.take(RANK0, step)
    [window] = detector.windows.all
    assert window.stream == detector.regimes[-1]
    assert window.begin == 5 * (LEADS - 1 + SETTINGS.warm_up + SETTINGS.calibration)
    times = [time for time, _ in window.evidence]
    assert len(times) >= 2
    assert 400 * 5 < times[0] < times[1] < 440 * 5


def test_steps_without_a_clock_are_in_no_window() -> None:
    detector = calibrated()
    feed(detector, paces(40, 6.0, 1), 400)
    assert detector.windows.all == []


def test_what_was_kept_of_windows_goes_on_after_a_restore() -> None:
    values = [*paces(400), *paces(40, 6.0, 1)]
    whole, parts = (StragglerDetector(SETTINGS, "lab/7@1.0") for _ in range(2))
    for number, value in enumerate(values):
        if number in {350, 413}:
            saved = parts.save()
            parts = StragglerDetector(SETTINGS, "lab/7@1.0")
            parts.restore(saved)
        for detector in (whole, parts):
            step = StepTime(value=value, span_seconds=value, step=number, time=number)
            detector.take(RANK0, step)
    assert parts.windows == whole.windows
    assert whole.windows.all[0].evidence
