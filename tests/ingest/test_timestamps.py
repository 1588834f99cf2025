"""Clocks of every form as UTC, zones, and years that a clock leaves out."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.ingest.timestamps import Clock


def micros(*fields: int) -> int:
    """UTC microseconds of year, month, day, hour, minute, second, microsecond."""
    moment = datetime(*fields, tzinfo=UTC)  # type: ignore[arg-type, misc]
    return int(moment.replace(microsecond=0).timestamp()) * 1_000_000 + moment.microsecond


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02 03:04:05", micros(2026, 1, 2, 3, 4, 5)),
        ("2026-01-02 03:04:05,678", micros(2026, 1, 2, 3, 4, 5, 678000)),
        ("2026-01-02T03:04:05.123456789Z", micros(2026, 1, 2, 3, 4, 5, 123456)),
        ("2026-01-02T03:04:05+05:30", micros(2026, 1, 1, 21, 34, 5)),
        ("2026-01-02T03:04:05-0800", micros(2026, 1, 2, 11, 4, 5)),
        ("2026-01-02T03:04:05+01", micros(2026, 1, 2, 2, 4, 5)),
        ("2026-01-02T03:04:05+99:00", micros(2026, 1, 2, 3, 4, 5)),  # no zone is that far
        ("2026-01-02 03:04:05 UTC", micros(2026, 1, 2, 3, 4, 5)),
        ("2026/01/02 03:04:05", micros(2026, 1, 2, 3, 4, 5)),
        ("2026-01-02_03:04:05", micros(2026, 1, 2, 3, 4, 5)),
        ("01/02/26 03:04:05", micros(2026, 1, 2, 3, 4, 5)),
        ("01/02/2026 03:04:05", micros(2026, 1, 2, 3, 4, 5)),
        ("Fri Jan  2 03:04:05 2026", micros(2026, 1, 2, 3, 4, 5)),
        ("Jan 02 2026 03:04:05", micros(2026, 1, 2, 3, 4, 5)),
        ("20260102 03:04:05.5", micros(2026, 1, 2, 3, 4, 5, 500000)),
        ("1767323045.000123", micros(2026, 1, 2, 3, 4, 5, 123)),
        ("2026-01-02 23:59:60", micros(2026, 1, 2, 23, 59, 59)),
        ("2024-02-29 00:00:00", micros(2024, 2, 29, 0, 0, 0)),
    ],
)
def test_full_dates(text: str, expected: int) -> None:
    assert Clock().read(text) == expected


@pytest.mark.parametrize(
    "text",
    ["Jan 02 03:04:05", "Jan  2 03:04:05.25", "0102 03:04:05.25", "102 03:04:05.25",
     "01/02 03:04:05", "01-02 03:04:05,25"],
)  # fmt: skip
def test_a_clock_without_a_year_needs_a_hint(text: str) -> None:
    assert Clock().read(text) is None
    time = Clock(latest=micros(2026, 1, 5, 0, 0, 0)).read(text)
    assert time is not None
    assert time // 1_000_000 == micros(2026, 1, 2, 3, 4, 5) // 1_000_000


def test_the_months_of_c10_have_no_leading_zero() -> None:
    clock = Clock(latest=micros(2026, 12, 31, 0, 0, 0))
    assert clock.read("327 05:11:09.318") == micros(2026, 3, 27, 5, 11, 9, 318000)
    assert clock.read("1218 02:07:08.408") == micros(2026, 12, 18, 2, 7, 8, 408000)


def test_december_in_a_log_that_ends_in_january_is_of_the_year_before() -> None:
    clock = Clock(latest=micros(2026, 1, 3, 0, 0, 0))
    assert clock.read("Dec 31 23:59:59") == micros(2025, 12, 31, 23, 59, 59)
    assert clock.read("Jan 01 00:00:01") == micros(2026, 1, 1, 0, 0, 1)


def test_a_line_may_be_a_day_past_the_last_write_since_zones_differ() -> None:
    clock = Clock(latest=micros(2025, 12, 31, 20, 0, 0))
    assert clock.read("Jan 01 02:00:00") == micros(2026, 1, 1, 2, 0, 0)
    assert clock.read("Jan 02 02:00:00") == micros(2025, 1, 2, 2, 0, 0)


def test_a_full_date_of_the_same_log_is_a_better_hint_than_the_file() -> None:
    clock = Clock(latest=micros(2030, 6, 1, 0, 0, 0))
    assert clock.read("2024-12-31 23:59:58") == micros(2024, 12, 31, 23, 59, 58)
    assert clock.read("1231 23:59:59.0") == micros(2024, 12, 31, 23, 59, 59)
    assert clock.read("101 00:00:01.0") == micros(2025, 1, 1, 0, 0, 1)


def test_february_29_takes_a_year_that_has_one() -> None:
    clock = Clock(latest=micros(2025, 3, 1, 0, 0, 0))
    assert clock.read("Feb 29 12:00:00") == micros(2024, 2, 29, 12, 0, 0)


@pytest.mark.parametrize(
    "text",
    ["", "12345.678", "2026-02-31 00:00:00", "2026-13-01 00:00:00", "Foo 02 03:04:05",
     "0000-01-01 00:00:00", "2026-01-02 25:00:00", "0230 00:00:00.0", "9999-99-99 99:99:99",
     "Jan 02", "2026-01-02T03:04:05Zx"],
)  # fmt: skip
def test_what_is_no_time_is_null(text: str) -> None:
    assert Clock(latest=micros(2026, 1, 5, 0, 0, 0)).read(text) is None


@pytest.mark.parametrize("latest", [10**20, -(10**20), 253_402_300_799 * 10**6])
def test_a_file_may_claim_any_date(latest: int) -> None:
    # The last one is the end of the year 9999: there is no year after it.
    assert Clock(latest=latest).read("Jan 02 03:04:05") in {None, micros(9999, 1, 2, 3, 4, 5)}


@pytest.mark.parametrize(
    ("zone", "hour"),
    [("UTC", 12), ("Europe/Berlin", 10), ("+02:00", 10), ("-0800", 20), ("Asia/Kolkata", 6)],
)
def test_the_zone_of_the_site(zone: str, hour: int) -> None:
    time = Clock(zone).read("2026-07-01 12:00:00")
    assert time is not None
    assert datetime.fromtimestamp(time / 1e6, UTC).hour == hour
    assert Clock(zone).read("2026-07-01T12:00:00Z") == micros(2026, 7, 1, 12, 0, 0)


@pytest.mark.parametrize("zone", ["Europe/Berlim", "", "/etc/passwd", "../../etc/passwd", "x\0"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(InputError, match=r"unknown time zone.*expected an IANA name.*cluster"):
        Clock(zone)


ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe")


@given(
    st.datetimes(datetime(1970, 1, 2), datetime(2999, 12, 31)),  # noqa: DTZ001 - a clock's text
    st.sampled_from(ZONES),
    st.sampled_from(["-", "/"]),
    st.sampled_from(["T", " ", "_"]),
)
def test_the_usual_clock_is_what_the_calendar_says(
    moment: datetime, zone: str, dash: str, between: str
) -> None:
    text = f"{moment:%Y{dash}%m{dash}%d{between}%H:%M:%S.%f}"
    seconds = int(moment.replace(microsecond=0, tzinfo=ZoneInfo(zone)).timestamp())
    clock = Clock(zone)
    assert clock.read(text) == seconds * 1_000_000 + moment.microsecond
    assert clock.read(text) == clock.read(text.partition(".")[0]) or moment.microsecond
