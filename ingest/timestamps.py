"""Clocks of log lines, as UTC microseconds. A line without a full clock has no time: null."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from relume.errors import InputError

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
        start=1,
    )
}
_ISO = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?"
    r"(Z|[+-]\d\d:?\d\d)?"
)
_US = re.compile(r"(\d\d)/(\d\d)/(\d{2}|\d{4})[ -](\d\d):(\d\d):(\d\d)()")
_CTIME = re.compile(r"\w{3} (\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})")
_SYSLOG = re.compile(r"(\w{3}) +(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_GLOG = re.compile(r"(\d{1,2})(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?")
_EPOCH = re.compile(r"(1\d{9})\.(\d{1,9})")
_HALF_YEAR_DAYS = 183


class Clock:
    """Reads clocks of one log.

    Parameters
    ----------
    zone
        IANA name of the zone of clocks that name none.
    year
        Year of clocks that name none (from the file's modification or the attempt's window); null
        when unknown, and such clocks then give null.
    month
        Month that goes with `year`: a clock more than half a year later belongs to the year before.
    """

    def __init__(
        self, zone: str = "UTC", year: int | None = None, month: int | None = None
    ) -> None:
        self._zone = _zone(zone)
        self._year = year
        self._month = month

    def read(self, text: str) -> int | None:
        """Return UTC microseconds of a clock's text, null when it is none or lacks its year.

        >>> Clock().read("2026-01-02 03:04:05,678")
        1767323045678000
        >>> Clock("Europe/Berlin", 2026, 3).read("Mar 02 10:00:00")
        1772442000000000
        """
        try:
            return self._read(text)
        except (ValueError, OverflowError):
            return None  # a day 31 in February, a year beyond the calendar

    def _read(self, text: str) -> int | None:
        if found := _ISO.match(text):
            return _micros(tuple(map(int, found.groups()[:6])), found[7], self._offset(found[8]))
        if found := _EPOCH.match(text):
            return int(found[1]) * 1_000_000 + int(found[2][:6].ljust(6, "0"))
        if found := _CTIME.match(text):
            month = _MONTHS.get(found[1].lower())
            fields = (int(found[6]), month or 0, *map(int, found.group(2, 3, 4, 5)))
            return _micros(fields, None, self._zone)
        if found := _US.match(text):
            year = int(found[3]) + (2000 if len(found[3]) == 2 else 0)  # noqa: PLR2004
            fields = (year, int(found[1]), int(found[2]), *map(int, found.group(4, 5, 6)))
            return _micros(fields, None, self._zone)
        return self._read_without_year(text)

    def _read_without_year(self, text: str) -> int | None:
        if self._year is None:
            return None
        if found := _SYSLOG.match(text):
            month = _MONTHS.get(found[1].lower(), 0)
        elif found := _GLOG.match(text):
            month = int(found[1])
        else:
            return None
        fields = (self._year_of(month), month, *map(int, found.group(2, 3, 4, 5)))
        return _micros(fields, found[6], self._zone)

    def _year_of(self, month: int) -> int:
        """A December line in a log that ends in January is of the year before."""
        year = self._year or 0
        late = self._month is not None and month - self._month > _HALF_YEAR_DAYS // 30
        return year - 1 if late else year

    def _offset(self, text: str | None) -> tzinfo:
        if text is None:
            return self._zone
        if text == "Z":
            return UTC
        return datetime.strptime(text.replace(":", ""), "%z").tzinfo or UTC


def _micros(fields: tuple[int, ...], fraction: str | None, zone: tzinfo) -> int:
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    return _second(fields, zone) * 1_000_000 + micros


@lru_cache(maxsize=4096)
def _second(fields: tuple[int, ...], zone: tzinfo) -> int:
    year, month, day, hour, minute, second = fields
    # A leap second counts as the second before it.
    moment = datetime(year, month, day, hour, minute, min(second, 59), tzinfo=zone)
    return int(moment.timestamp())


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC  # works without a time-zone database
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(
            "unknown time zone",
            found=name,
            expected="an IANA name such as UTC or Europe/Berlin",
            hint="set cluster.timezone",
        ) from error
