"""Times: exact microseconds, UTC, and errors in words."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from relume.clock import (
    Clock,
    ManualClock,
    SystemClock,
    from_datetime,
    from_iso,
    from_millis,
    from_seconds,
    to_datetime,
    to_iso,
)
from relume.errors import InputError

MOMENT = 1_767_323_045_000_006
"""2026-01-02T03:04:05.000006Z."""


def test_the_manual_clock_moves_only_when_told() -> None:
    clock: Clock = (manual := ManualClock(MOMENT))
    assert clock.now() == clock.now() == MOMENT
    manual.advance(0.25)
    assert clock.now() == MOMENT + 250_000
    manual.advance(-1)
    assert clock.now() == MOMENT - 750_000


def test_the_system_clock_is_the_machines() -> None:
    clock: Clock = SystemClock()
    before, now, after = time.time_ns(), clock.now(), time.time_ns()  # noqa: TID251 - what it reads
    assert before // 1000 <= now <= after // 1000


def test_durations_by_the_manual_clock_are_those_it_was_moved_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "monotonic_ns", lambda: 10**18)  # whatever the machine's clock says
    clock: Clock = (manual := ManualClock(MOMENT))
    began = clock.steady()
    manual.advance(1.5)
    manual.advance(-60)
    manual.advance(1)
    assert clock.steady() - began == 2_500_000


def test_durations_by_the_system_clock_are_the_machines() -> None:
    clock: Clock = SystemClock()
    before, now, after = time.monotonic_ns(), clock.steady(), time.monotonic_ns()
    assert before // 1000 <= now <= after // 1000


def test_datetimes_are_exact_in_every_zone() -> None:
    east = timezone(timedelta(hours=5, minutes=30))
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert from_datetime(moment) == from_datetime(moment.astimezone(east)) == MOMENT
    assert to_datetime(MOMENT) == moment
    assert from_datetime(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


def test_a_datetime_without_a_zone_is_refused() -> None:
    with pytest.raises(InputError, match=r"found no time zone; .* cluster.timezone"):
        from_datetime(datetime(2026, 1, 2))  # noqa: DTZ001 - that is the point


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-02T03:04:05.000006Z",
        "2026-01-02 03:04:05.000006+00:00",
        "2026-01-02T04:34:05.0000069+01:30",
    ],
)
def test_iso_forms(text: str) -> None:
    assert from_iso(text) == MOMENT


def test_slurms_times_need_a_zone() -> None:
    assert to_iso(from_iso("2026-07-02T03:04:05", ZoneInfo("Europe/Paris"))) == (
        "2026-07-02T01:04:05.000000Z"
    )
    with pytest.raises(InputError, match="no time zone"):
        from_iso("2026-07-02T03:04:05")


def test_the_hour_that_comes_twice_is_the_first() -> None:
    assert to_iso(from_iso("2026-10-25T02:30:00", ZoneInfo("Europe/Paris"))) == (
        "2026-10-25T00:30:00.000000Z"
    )


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "Unknown", "٢٠٢٦-01-02"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected ISO 8601"):
        from_iso(text, UTC)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1_767_323_045, 1_767_323_045_000_000),
        ("1767323045.000006", MOMENT),
        (Decimal("1767323045.000006"), MOMENT),
        (1_767_323_045.25, 1_767_323_045_250_000),
        (-0.5, -500_000),
        ("0.0000005", 0),
        ("0.0000015", 2),
        (9_223_372_036_854, 9_223_372_036_854_000_000),
    ],
)
def test_epoch_seconds(seconds: float | str | Decimal, expected: int) -> None:
    assert from_seconds(seconds) == expected


@pytest.mark.parametrize(
    "seconds",
    ["", "soon", "nan", "-inf", float("nan"), Decimal("sNaN"), "1e13", "1e999999", -1e300],
)
def test_what_is_no_number_of_seconds_is_refused(seconds: float | str | Decimal) -> None:
    with pytest.raises(InputError, match="expected seconds since 1970"):
        from_seconds(seconds)


def test_epoch_milliseconds() -> None:
    assert from_millis(1_767_323_045_001) == 1_767_323_045_001_000


def test_texts_sort_as_times_do() -> None:
    times = [-1, 0, 1, 999_999, 1_000_000, MOMENT]
    assert sorted(map(to_iso, times)) == [to_iso(moment) for moment in times]
    assert to_iso(MOMENT) == "2026-01-02T03:04:05.000006Z"


@pytest.mark.parametrize("moment", [2**63 - 1, -(2**63), 10**30])
def test_times_beyond_the_calendar_are_refused(moment: int) -> None:
    with pytest.raises(InputError, match="years 1 to 9999"):
        to_iso(moment)
