"""The gap rule: silence is judged by the job's own gaps, phase by phase."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from relume.models.hang.gap import MICROSECONDS, GapDetector, GapSettings, Level


def trained(gap: float, steps: int = 30, **settings: Any) -> tuple[GapDetector, int]:
    detector = GapDetector(GapSettings(**settings))
    detector.start(0)
    now = 0
    for _ in range(steps):
        now += int(gap * MICROSECONDS)
        assert detector.progress(now, "train") == []
    return detector, now


def levels(detector: GapDetector, begin: int, seconds: int) -> list[tuple[int, str]]:
    return [
        (second, found.level.value)
        for second in range(seconds)
        for found in detector.advance(begin + second * MICROSECONDS)
    ]


def test_a_fast_job_is_suspected_after_half_a_minute_and_actionable_after_five() -> None:
    detector, now = trained(1.0)
    assert levels(detector, now, 400) == [(31, "suspicion"), (301, "actionable")]


def test_a_site_may_be_quicker() -> None:
    detector, now = trained(1.0, actionable_seconds=90.0)
    assert levels(detector, now, 300) == [(31, "suspicion"), (91, "actionable")]


def test_a_slow_job_gets_its_own_thresholds() -> None:
    detector, now = trained(400.0)
    assert levels(detector, now, 1000) == [(601, "actionable")]


def test_a_job_whose_pace_is_not_known_yet_may_be_slow() -> None:
    detector, now = trained(1.0, steps=3)
    assert [level for _, level in levels(detector, now, 1800)] == ["suspicion"]
    assert [level for _, level in levels(detector, now, 1900)] == ["actionable"]


def test_many_steps_at_the_first_look_are_a_pace_too() -> None:
    detector = GapDetector()
    detector.start(0)
    detector.progress(15 * MICROSECONDS, "train", 22)
    found = levels(detector, 15 * MICROSECONDS, 400)
    assert found == [(31, "suspicion"), (301, "actionable")]


def test_steps_that_come_in_lumps_are_no_hang() -> None:
    detector = GapDetector()
    detector.start(0)
    for lump in range(1, 6):
        detector.progress(lump * 400 * MICROSECONDS, "train", 400)
        found = levels(detector, lump * 400 * MICROSECONDS, 400)
        assert {level for _, level in found} <= {"suspicion"}


def test_quiet_is_what_is_long_for_the_job() -> None:
    detector, now = trained(60.0)
    assert not detector.is_quiet(now + 180 * MICROSECONDS)
    assert detector.is_quiet(now + 181 * MICROSECONDS)
    fresh, now = trained(1.0, steps=2)
    assert not fresh.is_quiet(now + 300 * MICROSECONDS)
    assert fresh.is_quiet(now + 301 * MICROSECONDS)


def test_a_pause_seen_before_is_no_hang() -> None:
    detector, now = trained(1.0)
    now += 1200 * MICROSECONDS
    detector.progress(now, "train")
    assert [level for _, level in levels(detector, now, 1800)] == ["suspicion"]


def test_a_checkpoint_that_was_never_seen_may_take_long() -> None:
    detector, now = trained(1.0)
    detector.enter("checkpoint")
    assert [level for _, level in levels(detector, now, 3000)] == ["suspicion"]
    assert [level for _, level in levels(detector, now, 4000)] == ["actionable"]


def test_a_start_up_is_suspected_but_never_actionable() -> None:
    detector = GapDetector()
    assert levels(detector, 0, 100) == []
    detector.start(0)
    assert levels(detector, 0, 9000) == [(1801, "suspicion")]


def test_a_new_step_ends_the_silence_and_late_steps_change_nothing() -> None:
    detector, now = trained(1.0)
    levels(detector, now, 100)
    detector.progress(now + 100 * MICROSECONDS, "train")
    detector.progress(now, "train")
    assert detector.last_progress == now + 100 * MICROSECONDS
    assert levels(detector, now + 100 * MICROSECONDS, 60)[0] == (31, "suspicion")


@given(st.lists(st.floats(0.1, 50.0), min_size=5, max_size=60))
def test_no_gap_below_one_and_a_half_times_the_longest_is_actionable(gaps: list[float]) -> None:
    detector = GapDetector()
    detector.start(0)
    now = 0
    for gap in gaps:
        now += int(gap * MICROSECONDS)
        detector.progress(now, "train")
    quiet = now + int(min(1.5 * max(gaps[1:]), 1e9) * MICROSECONDS)
    found = detector.advance(min(quiet, now + 90 * MICROSECONDS))
    assert all(detection.level is Level.SUSPICION for detection in found)
