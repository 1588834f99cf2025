"""The setting that a hang's report names would have kept the detector silent, and no other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.models.family.prior import Family
from relume.models.hang.detector import HangDetection, HangDetector
from relume.models.hang.known import MICROSECONDS, Known
from relume.models.hang.settings import HangSettings, budget_for
from relume.models.hang.signs import Sign
from relume.verdict import Health

ACTIONABLE, BUDGET = "hang.actionable_seconds", "hang.false_alarms_per_job_day"


def trained(
    settings: HangSettings, family: Family | None = None, steps: int = 100, phase: str = "train"
) -> HangDetector:
    """A job with a step a second; silent from then on."""
    detector = HangDetector(settings, family or Family(), Known(framework="nanogpt", nodes=2))
    detector.start(0)
    for second in range(1, steps + 1):
        detector.progress(second * MICROSECONDS)
    if phase != "train":
        detector.enter(phase)
    return detector


def family() -> Family:
    left = trained(HangSettings(), steps=200).left("lab/1@1.0", 300 * MICROSECONDS)
    return Family([left], "lab/1@1")


def alarm(detector: HangDetector, seconds: int) -> HangDetection | None:
    """The hang that is called in so many seconds of silence, if any."""
    since = detector.known.silent_since or 0
    for second in range(seconds + 1):
        for found in detector.advance(since + second * MICROSECONDS):
            if found.level.value == "actionable":
                return found
    return None


def test_what_is_known_goes_by_the_least_actionable_silence() -> None:
    found = alarm(trained(HangSettings(), family()), 200)
    assert found is not None
    assert found.setting == ACTIONABLE
    assert alarm(trained(HangSettings(actionable_seconds=200.0), family()), 200) is None
    assert alarm(trained(HangSettings(actionable_seconds=199.0), family()), 200) is not None


def test_what_is_not_known_goes_by_the_budget() -> None:
    found = alarm(trained(HangSettings()), 400)
    assert found is not None
    assert found.setting == BUDGET
    budget = budget_for(400.0)
    assert budget is not None
    assert alarm(trained(HangSettings.of_budget(budget)), 400) is None


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [({"steps": 0}, 3700), ({"steps": 2}, 1900), ({"phase": "evaluation"}, 3700)],
    ids=["start-up", "no pace", "announced"],
)
def test_what_no_setting_decides_names_none(changes: dict[str, Any], seconds: int) -> None:
    members = [
        trained(HangSettings(), steps=200).left(f"lab/{job}@1.0", 300 * MICROSECONDS)
        for job in range(3 if changes.get("steps") == 0 else 0)
    ]
    found = alarm(trained(HangSettings(), Family(members), **changes), seconds)
    assert found is not None
    assert found.setting is None


@pytest.mark.parametrize(("is_known", "setting"), [(True, None), (False, ACTIONABLE)])
def test_a_second_signal_leaves_time_little_to_say(is_known: bool, setting: str | None) -> None:  # noqa: FBT001
    detector = trained(HangSettings(), family() if is_known else None)
    for second in range(101, 250):
        now = second * MICROSECONDS
        detector.sign(
            Sign(
                source="gpu_power",
                health=Health.UNHEALTHY,
                since=101 * MICROSECONDS,
                event_time=now,
                reason="idle",
            )
        )
        for found in detector.advance(now):
            if found.level.value == "actionable":
                assert (found.agreed, found.setting) == ("gpu_power", setting)
                return
    pytest.fail("no hang was called")


@given(st.floats(1.0, 3000.0))
def test_a_budget_waits_as_long_as_it_is_asked_to(seconds: float) -> None:
    budget = budget_for(seconds)
    if budget is None:
        assert seconds <= HangSettings.of_budget(1.0).unknown_seconds or seconds > 1000.0
        return
    assert 0.0 < budget <= 1.0
    assert HangSettings.of_budget(budget).unknown_seconds >= seconds
