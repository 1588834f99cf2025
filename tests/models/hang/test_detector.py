"""The hang detector: silence is judged by the job's own gaps, phase by phase, and by its family's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.models.family.prior import Family
from relume.models.hang.detector import HangDetector, Level
from relume.models.hang.known import MICROSECONDS, Known
from relume.models.hang.patience import Basis
from relume.models.hang.settings import HangSettings


def trained(
    gap: float, steps: int = 30, *, family: Family | None = None, **settings: Any
) -> tuple[HangDetector, int]:
    known = Known(framework="nanogpt", nodes=4)
    detector = HangDetector(HangSettings(**settings), family or Family(), known)
    detector.start(0)
    now = 0
    for _ in range(steps):
        now += int(gap * MICROSECONDS)
        detector.progress(now)
        assert detector.advance(now) == []
    return detector, now


def paused(detector: HangDetector, now: int, seconds: float) -> int:
    """Let a silence pass and end by a step."""
    now += int(seconds * MICROSECONDS)
    detector.advance(now)
    detector.progress(now)
    return now


def levels(detector: HangDetector, begin: int, seconds: int) -> list[tuple[int, str]]:
    return [
        (second, found.level.value)
        for second in range(seconds)
        for found in detector.advance(begin + second * MICROSECONDS)
    ]


JOB = "lab/1@1"


def taught(*pauses: float, gap: float = 1.0, steps: int = 600, **changes: Any) -> Family:
    """One earlier attempt of the job, with some pauses in it."""
    detector, now = trained(gap, steps)
    for seconds in pauses:
        now = paused(detector, now, seconds)
        now = paused(detector, now, gap)
    for name, value in changes.items():
        setattr(detector.known, name, value)
    return Family([detector.left(f"{JOB}.0", now)], JOB)


def test_what_is_not_known_yet_takes_five_minutes() -> None:
    detector, now = trained(1.0)
    assert levels(detector, now, 400) == [(31, "suspicion"), (301, "actionable")]
    assert detector.thresholds().basis is Basis.UNKNOWN


def test_an_attempt_like_an_earlier_one_takes_ninety_seconds() -> None:
    detector, now = trained(1.0, family=taught())
    assert detector.thresholds().basis is Basis.FAMILY
    assert levels(detector, now, 300) == [(31, "suspicion"), (91, "actionable")]


def test_the_family_s_long_pauses_are_no_hang_in_the_first_minute_either() -> None:
    for steps, patience in ((1, 1801), (4, 931)):  # its pace must be known, too
        detector, now = trained(1.0, steps=steps, family=taught(600, 610, 620))
        found = levels(detector, now, 2000)
        assert found == [(31, "suspicion"), (patience, "actionable")]


def test_a_pause_that_came_once_or_twice_may_be_twice_as_long() -> None:
    detector, now = trained(1.0, family=taught(600))
    assert levels(detector, now, 1300)[1:] == [(1201, "actionable")]


def test_an_attempt_at_another_pace_is_another_job_in_the_same_clothes() -> None:
    for gap, patience in ((1.4, 90.0), (1.6, 300.0), (0.5, 300.0)):
        detector, _ = trained(gap, family=taught())
        assert detector.thresholds().actionable_seconds == patience


@pytest.mark.parametrize("change", [{"nodes": 8}, {"framework": "megatron"}, {"nodes": None}])
def test_another_size_or_framework_teaches_that_there_are_pauses_only(
    change: dict[str, Any],
) -> None:
    detector, now = trained(1.0, family=taught(600, 600, 600, **change))
    assert levels(detector, now, 1000)[1:] == [(901, "actionable")]
    detector, now = trained(1.0, family=taught(20, 20, 20, **change))
    assert levels(detector, now, 400)[1:] == [(301, "actionable")]
    detector, now = trained(1.0, family=taught(9000, 9000, 9000, **change))
    assert levels(detector, now, 4000)[1:] == [(3601, "actionable")]


def test_beyond_what_the_family_has_trained_nothing_is_known() -> None:
    detector, now = trained(1.0, steps=800, family=taught(steps=600))
    assert levels(detector, now, 400)[1:] == [(301, "actionable")]


def test_after_a_day_an_attempt_knows_its_own_pauses() -> None:
    detector, now = trained(25.0, steps=24 * 144 + 2)
    assert detector.thresholds().basis is Basis.OWN
    assert levels(detector, now, 400) == [(76, "suspicion"), (91, "actionable")]


def test_a_slow_job_that_nobody_knows_may_evaluate_for_twenty_of_its_gaps() -> None:
    detector, now = trained(60.0)
    found = levels(detector, now, 1300)
    assert found == [(181, "suspicion"), (1201, "actionable")]


def test_a_very_slow_job_may_evaluate_for_an_hour() -> None:
    detector, _ = trained(900.0)
    assert detector.thresholds().actionable_seconds == 3600.0


def test_a_job_whose_pace_is_not_known_yet_may_be_slow() -> None:
    detector, now = trained(1.0, steps=3)
    assert [level for _, level in levels(detector, now, 1800)] == ["suspicion"]
    assert [level for _, level in levels(detector, now, 1900)] == ["actionable"]


def test_many_steps_at_the_first_look_are_a_pace_too() -> None:
    detector = HangDetector()
    detector.start(0)
    detector.progress(15 * MICROSECONDS, 22)
    found = levels(detector, 15 * MICROSECONDS, 400)
    assert found == [(31, "suspicion"), (301, "actionable")]


def test_steps_that_come_in_lumps_are_no_hang() -> None:
    detector = HangDetector()
    detector.start(0)
    for lump in range(1, 6):
        detector.progress(lump * 400 * MICROSECONDS, 400)
        found = levels(detector, lump * 400 * MICROSECONDS, 400)
        assert {level for _, level in found} <= {"suspicion"}


def test_quiet_is_what_is_long_for_the_job() -> None:
    detector, now = trained(60.0)
    assert not detector.is_quiet(now + 180 * MICROSECONDS)
    assert detector.is_quiet(now + 181 * MICROSECONDS)
    fresh, now = trained(1.0, steps=2)
    assert not fresh.is_quiet(now + 300 * MICROSECONDS)
    assert fresh.is_quiet(now + 301 * MICROSECONDS)


def test_half_an_hour_that_was_seen_before_is_no_hang() -> None:
    detector, now = trained(1.0)
    now = paused(detector, now, 1800)
    assert [level for _, level in levels(detector, now, 1900)] == ["suspicion"]


def test_a_checkpoint_that_was_never_seen_may_take_long() -> None:
    detector, now = trained(1.0)
    detector.enter("checkpoint")
    assert levels(detector, now, 3600) == [(301, "suspicion")]
    assert [level for _, level in levels(detector, now, 4000)] == ["actionable"]


def test_checkpoints_that_were_announced_before_have_their_own_length() -> None:
    detector, now = trained(1.0)
    for _ in range(3):
        detector.enter("checkpoint")
        now = paused(detector, now, 200)
        now = paused(detector, now, 1)
    detector.enter("checkpoint")
    assert levels(detector, now, 1000)[-1] == (301, "actionable")
    assert detector.known.gaps["train"].longest_seconds == 1.0


def test_a_start_up_of_which_nothing_is_known_is_suspected_but_never_actionable() -> None:
    detector = HangDetector()
    assert levels(detector, 0, 100) == []
    detector.start(0)
    assert levels(detector, 0, 9000) == [(1801, "suspicion")]


def test_a_start_up_takes_three_times_as_long_as_the_family_s_before_anything_is_done() -> None:
    members = []
    for number in range(3):
        detector, now = trained(700.0, steps=2)
        members.append(detector.left(f"lab/{number}@1.0", now))
    detector = HangDetector(family=Family(members), known=Known(nodes=4))
    detector.start(0)
    assert levels(detector, 0, 3000) == [(1051, "suspicion"), (2101, "actionable")]
    young = HangDetector(family=Family(members[:2]), known=Known(nodes=4))
    young.start(0)
    assert levels(young, 0, 9000) == [(1051, "suspicion")]


def test_a_job_that_stops_where_one_before_it_stopped_gets_twice_the_time() -> None:
    before, now = trained(1.0, steps=600)
    before.known.last_step = 4000
    family = Family([before.left(f"{JOB}.0", now + 700 * MICROSECONDS)], JOB)
    detector, now = trained(1.0, family=family)
    detector.progress(now, step=3999)
    assert detector.thresholds().actionable_seconds == 90.0
    detector.progress(now, step=4000)
    assert detector.thresholds().actionable_seconds == 1400.0


def test_a_log_that_goes_on_is_no_silence_for_half_an_hour() -> None:
    detector, now = trained(1.0)
    for minute in range(1, 29):
        detector.talk(now + minute * 60 * MICROSECONDS)
        found = detector.advance(now + (minute * 60 + 59) * MICROSECONDS)
        assert all(one.level is Level.SUSPICION for one in found)
    detector.talk(now + 1790 * MICROSECONDS)
    assert levels(detector, now + 1800 * MICROSECONDS, 100) == [(1, "actionable")]


def test_a_new_step_ends_the_silence_and_late_steps_change_nothing() -> None:
    detector, now = trained(1.0)
    levels(detector, now, 100)
    detector.progress(now + 100 * MICROSECONDS)
    detector.progress(now)
    assert detector.known.last_progress == now + 100 * MICROSECONDS
    assert levels(detector, now + 100 * MICROSECONDS, 60)[0] == (31, "suspicion")


def test_suspicions_that_come_to_nothing_too_often_wait_for_a_longer_silence() -> None:
    detector, now = trained(1.0, suspicions_per_day=3.0)
    for _ in range(3):
        now = paused(detector, now, 60)
        now = paused(detector, now, 1)
    assert levels(detector, now, 100) == [(61, "suspicion")]


def test_what_nobody_looked_at_is_no_gap() -> None:
    detector, now = trained(1.0)
    detector.excuse(now + 5000 * MICROSECONDS)
    detector.progress(now + 5001 * MICROSECONDS)
    assert detector.known.gaps["train"].longest_seconds == 1.0


def test_a_smaller_budget_waits_longer_where_nothing_is_known() -> None:
    waits = [HangSettings.of_budget(one).unknown_seconds for one in (0.001, 0.01, 0.1)]
    assert waits == sorted(waits, reverse=True)
    assert HangSettings.of_budget() == HangSettings(unknown_seconds=waits[1])
    for wrong in (0.0, -1.0, 2.0, float("nan")):
        with pytest.raises(InputError, match="accepted false alarms"):
            HangSettings.of_budget(wrong)


GAPS = st.lists(st.floats(0.1, 50.0), min_size=5, max_size=60)


@given(GAPS, st.booleans())
def test_no_gap_below_one_and_a_half_times_the_longest_is_actionable(
    gaps: list[float],
    has_family: bool,  # noqa: FBT001 - drawn
) -> None:
    family = taught(*gaps) if has_family else Family()
    detector = HangDetector(family=family, known=Known(framework="nanogpt", nodes=4))
    detector.start(0)
    now = 0
    for gap in gaps:
        now += int(gap * MICROSECONDS)
        detector.progress(now)
    longest = max(gaps) if has_family else max(gaps[1:])
    quiet = now + int(max(90.0, 1.5 * longest) * MICROSECONDS)
    assert all(one.level is Level.SUSPICION for one in detector.advance(quiet))


def test_its_state_is_bounded_and_what_is_no_state_is_refused() -> None:
    detector, now = trained(1.0, steps=2000)
    before = len(detector.save())
    for _ in range(2000):
        now = paused(detector, now, 50)
    assert len(detector.save()) <= min(4096, before + 256)
    with pytest.raises(InputError, match="state of a hang detector"):
        HangDetector.restore(b"{")
