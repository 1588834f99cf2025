"""Clocks of log lines, as UTC microseconds. A line without a full clock has no time: null."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from relume.errors import InputError

SECOND_MICROS = 1_000_000
DAY_MICROS = 24 * 3600 * SECOND_MICROS

_MONTH_NAMES = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?))?"
_PLAIN = re.compile(
    r"((?:19[7-9]|2\d\d)\d[-/]\d\d[-/]\d\d[T _-]\d\d:\d\d):(\d\d)(?:[.,](\d{1,9}))?", re.ASCII
)
"""Most clocks: the first of `FORMS` without a zone. Its minute is read once."""
_EPOCH = re.compile(r"(1\d{9})(?:\.(\d{1,9})|((?:\d{3}){1,3}))?")  # journald and zap: no point
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)?")
FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        rf"(?P<year>\d{{4}})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T _-]{_CLOCK}{_ZONE}",
        rf"(?P<month>\d\d)/(?P<day>\d\d)/(?P<year>\d{{4}}|\d\d) {_CLOCK}",
        rf"\w{{3}} (?P<month>[A-Za-z]{{3}}) +(?P<day>\d{{1,2}}) {_CLOCK} (?P<year>\d{{4}})",
        rf"(?P<month>[A-Za-z]{{3}}) +(?P<day>\d{{1,2}}) (?:(?P<year>\d{{4}}) )?{_CLOCK}",
        rf"(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d{{4}}) {_CLOCK}",
        rf"(?P<month>\d\d)[-/](?P<day>\d\d) {_CLOCK}",
        # glog and c10: the month without a leading zero
        rf"(?P<year>\d{{4}})(?P<month>\d\d)(?P<day>\d\d) {_CLOCK}",
        rf"(?P<month>\d{{1,2}})(?P<day>\d\d) {_CLOCK}",
    )
)
"""What a clock may look like; the fields are named groups."""
_CENTURY = 2000


class Clock:
    """Reads the clocks of one log, line by line.

    A clock without a year takes that which brings it closest to the last full date of the same log;
    before there is one, the latest year that is not past `latest`. So a line of December in a log
    that ends in January belongs to the year before.

    Parameters
    ----------
    zone
        Zone of clocks that name none: an IANA name or an offset such as ``+02:00``.
    latest
        UTC microseconds that the log's lines are not past, within a day: its modification, or the
        end of the attempt. Null when unknown, and clocks without a year then give null.
    near
        UTC microseconds to which the log's first lines are close; stands for a full date before
        them. Null when unknown.

    Raises
    ------
    InputError
        For an unknown zone.

    Examples
    --------
    >>> Clock().read("2026-01-02 03:04:05,678")
    1767323045678000
    >>> Clock().read("Mar 02 10:00:00") is None
    True
    >>> clock = Clock("Europe/Berlin")
    >>> clock.read("2026-01-02T03:04:05+01:00")
    1767319445000000
    >>> clock.read("Dec 31 23:59:59")
    1767221999000000
    """

    def __init__(
        self, zone: str = "UTC", latest: int | None = None, near: int | None = None
    ) -> None:
        self._zone = zone_of(zone)
        self._latest = latest
        self._last_full = near

    def read(self, text: str, *, remember: bool = True) -> int | None:
        """Return UTC microseconds of a clock's text, null when it is none or lacks its year.

        With `remember` off the date is not kept for the clocks without a year that come later.
        """
        if found := _PLAIN.fullmatch(text):
            minute = _minute(found[1], self._zone)
            if minute is None:
                return None
            # A leap second counts as the second before it.
            plain = (minute + min(int(found[2]), 59)) * SECOND_MICROS + _micros(found[3])
            self._last_full = plain if remember else self._last_full
            return plain
        if found := _EPOCH.fullmatch(text):
            return int(found[1]) * SECOND_MICROS + _micros(found[2] or found[3])
        for form in FORMS:
            if found := form.fullmatch(text):
                fields = found.groupdict()
                break
        else:
            return None
        if fields.get("year") is None:
            return self._without_year(fields)
        year = fields["year"]
        time = self._at(fields, int(year) if len(year) == len("yyyy") else int(year) + _CENTURY)
        if remember and time is not None:
            self._last_full = time
        return time

    def _without_year(self, fields: dict[str, str]) -> int | None:
        near = self._latest if self._last_full is None else self._last_full
        around = None if near is None else _year(near)
        if near is None or around is None:
            return None
        years = (around + 1, around, around - 1)
        times = [time for year in years if (time := self._at(fields, year)) is not None]
        if self._last_full is None:
            return next((time for time in times if time <= near + DAY_MICROS), None)
        return min(times, key=lambda time: abs(time - near), default=None)

    def _at(self, fields: dict[str, str], year: int) -> int | None:
        month = fields["month"]
        number = int(month) if month.isdigit() else _MONTHS.get(month.lower(), 0)
        moment = (year, number, *(int(fields[f]) for f in ("day", "hour", "minute", "second")))
        zone = fields.get("zone")
        second = _second(moment, self._zone if zone is None else _offset(zone))
        return None if second is None else second * SECOND_MICROS + _micros(fields["fraction"])


def _micros(fraction: str | None) -> int:
    return int(fraction[:6].ljust(6, "0")) if fraction else 0


def _year(time: int) -> int | None:
    try:
        return datetime.fromtimestamp(time // SECOND_MICROS, UTC).year
    except (ValueError, OverflowError, OSError):
        return None  # a file may claim any date


@lru_cache(maxsize=4096)
def _minute(text: str, zone: tzinfo) -> int | None:
    """POSIX seconds of ``2026-01-02 03:04``; null for what is on no calendar."""
    date, clock = text[:10], text[11:]
    year, month, day = date[:4], date[5:7], date[8:]
    return _second((int(year), int(month), int(day), int(clock[:2]), int(clock[3:]), 0), zone)


@lru_cache(maxsize=4096)
def _second(moment: tuple[int, ...], zone: tzinfo) -> int | None:
    """POSIX seconds; null for what is on no calendar, such as February 31."""
    *date, second = moment
    try:
        # A leap second counts as the second before it.
        return int(datetime(*date, min(second, 59), tzinfo=zone).timestamp())  # type: ignore[arg-type, misc]
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=64)
def _offset(text: str) -> tzinfo:
    found = _OFFSET.fullmatch(text)
    if found is None:
        return UTC  # Z, UTC, GMT
    size = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"] or 0))
    if size >= timedelta(days=1):
        return UTC
    return timezone(-size if found["sign"] == "-" else size)


def zone_of(name: str) -> tzinfo:
    """Return the zone of an IANA name or an offset such as ``+02:00``.

    Raises
    ------
    InputError
        For an unknown zone.
    """
    if name == "UTC":
        return UTC  # works without a time-zone database
    if _OFFSET.fullmatch(name):
        return _offset(name)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            "unknown time zone",
            found=name,
            expected="an IANA name such as UTC or Europe/Berlin, or an offset such as +02:00",
            hint="set cluster.timezone",
        ) from error
