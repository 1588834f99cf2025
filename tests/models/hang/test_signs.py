"""Second signals: who agrees with a silence, who is believed, and who is not any more."""

from __future__ import annotations

from typing import Any

from relume.models.family.prior import Family
from relume.models.hang.detector import HangDetector
from relume.models.hang.known import MICROSECONDS
from relume.models.hang.signs import FRESH_MICROS, MAX_SOURCES, Sign, Signs
from relume.verdict import Health


def sign(second: int, since: int | None = None, **changes: Any) -> Sign:
    fields: dict[str, Any] = {
        "source": "gpu_power",
        "health": Health.UNHEALTHY,
        "since": (second if since is None else since) * MICROSECONDS,
        "event_time": second * MICROSECONDS,
        "reason": "busy at idle power on all 16 GPUs",
    }
    return Sign(**(fields | changes))


def trained(family: Family | None = None) -> HangDetector:
    """Train for 100 s with a step a second."""
    detector = HangDetector(family=family or Family())
    detector.known.framework, detector.known.nodes = "megatron", 2
    detector.start(0)
    for second in range(101):
        detector.progress(second * MICROSECONDS)
    return detector


def known() -> HangDetector:
    """Train likewise, after other jobs of the family did."""
    before = [trained().left(f"lab/{job}@1.0", 300 * MICROSECONDS) for job in (1, 2)]
    return trained(Family(before))


def first(detector: HangDetector, level: str, *, begin: int, seconds: int) -> int | None:
    for second in range(begin, begin + seconds):
        for found in detector.advance(second * MICROSECONDS):
            if found.level.value == level:
                return second
    return None


def test_a_second_signal_makes_a_suspicion_actionable_within_ten_seconds() -> None:
    detector = known()
    assert first(detector, "suspicion", begin=101, seconds=40) == 131
    detector.sign(sign(150, since=120))
    found = detector.advance(151 * MICROSECONDS)
    assert [(one.level.value, one.agreed) for one in found] == [("actionable", "gpu_power")]
    assert "busy at idle power" in found[0].reason


def test_a_second_signal_alone_is_nothing() -> None:
    detector = known()
    detector.sign(sign(105))
    assert first(detector, "actionable", begin=106, seconds=25) is None
    assert first(detector, "actionable", begin=131, seconds=10) == 135


def test_where_the_pauses_are_not_known_a_second_signal_is_believed_from_ninety_seconds() -> None:
    """A first save may stand still for a while before its first byte is written."""
    detector = trained()
    detector.sign(sign(105))
    assert first(detector, "actionable", begin=106, seconds=100) == 190
    late = trained()
    late.sign(sign(210))
    assert first(late, "actionable", begin=210, seconds=100) == 215


def test_what_was_so_before_the_silence_says_nothing_of_it() -> None:
    detector = trained()
    detector.sign(sign(150, since=90))
    assert first(detector, "actionable", begin=151, seconds=100) is None


def test_what_was_said_long_ago_is_unknown_by_now() -> None:
    detector = trained()
    detector.sign(sign(102))
    late = 102 * MICROSECONDS + FRESH_MICROS + MICROSECONDS
    assert [one.level.value for one in detector.advance(late)] == ["suspicion"]


def test_an_unknown_sign_neither_accuses_nor_excuses() -> None:
    detector = trained()
    detector.sign(sign(150, health=Health.UNKNOWN))
    assert first(detector, "actionable", begin=151, seconds=300) == 401


def test_a_job_that_another_source_sees_at_work_has_half_an_hour() -> None:
    detector = trained()
    found = []
    for second in range(110, 1990, 60):
        detector.sign(sign(second, health=Health.HEALTHY))
        found.append(first(detector, "actionable", begin=second, seconds=60))
    assert [one for one in found if one] == [1901]


def test_a_source_that_was_wrong_is_believed_in_longer_silences_only() -> None:
    detector = known()
    detector.sign(sign(110))
    assert first(detector, "actionable", begin=110, seconds=40) == 135
    for second in range(160, 200):
        detector.progress(second * MICROSECONDS)
    detector.sign(sign(205))
    assert first(detector, "actionable", begin=205, seconds=100) == 289
    left = detector.left("lab/1@1.0", 300 * MICROSECONDS)
    heir = trained(Family([left]))
    heir.sign(sign(110))
    assert first(heir, "actionable", begin=111, seconds=70) is None


def test_only_so_many_sources_are_remembered() -> None:
    signs = Signs()
    for number in range(5 * MAX_SOURCES):
        signs.take(sign(10, source=f"source {number}"))
        signs.note_wrong(0, 20 * MICROSECONDS)
    assert len(signs.wrong_seconds) == MAX_SOURCES
    assert signs.agreeing(5 * MICROSECONDS, 40 * MICROSECONDS) is not None


def test_an_older_word_doesn_t_replace_a_newer_one() -> None:
    signs = Signs()
    signs.take(sign(50, health=Health.HEALTHY))
    signs.take(sign(40))
    assert signs.agreeing(0, 55 * MICROSECONDS) is None
