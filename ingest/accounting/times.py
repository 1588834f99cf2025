"""Times and durations as sacct prints them.

sacct prints no zone, and a clock that is set back repeats an hour. Which of the two is meant shows
when the job's other columns have to fit: it lasted as long as `Elapsed` says, and it was submitted
before it started.
"""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from functools import lru_cache

from relume.ingest.timestamps import SECOND_MICROS

_ISO = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_EPOCH = re.compile(r"[1-9]\d{8,10}", re.ASCII)  # SLURM_TIME_FORMAT=%s
_DURATION = re.compile(r"(?:(\d{1,6})-)?(?:(\d{1,4}):)?(\d{1,4}):(\d\d)(?:\.\d{1,6})?", re.ASCII)
_NUMBER = re.compile(r"\d{1,12}", re.ASCII)
TIME = re.compile(rf"{_ISO.pattern}|{_EPOCH.pattern}|Unknown|None|N/A", re.ASCII)
"""What stands in a column of times."""
DURATION = re.compile(
    rf"{_DURATION.pattern}|UNLIMITED|Partition_Limit|INVALID|Unknown|", re.ASCII | re.IGNORECASE
)
"""What stands in a column of durations."""
_DAY_HOURS, _MINUTES, _SECONDS = 24, 60, 60


def time_of(text: str, zone: tzinfo, *, before: int | None = None) -> int | None:
    """Return the UTC microseconds of a time, null for ``Unknown`` and what is none.

    Of an hour that the clock repeats the later one that is not past `before`; the first one when
    that isn't known.

    >>> from zoneinfo import ZoneInfo
    >>> berlin = ZoneInfo("Europe/Berlin")
    >>> time_of("2026-01-02T03:04:05", berlin)
    1767319445000000
    >>> first, second = times_of("2025-10-26T02:30:00", berlin)
    >>> time_of("2025-10-26T02:30:00", berlin, before=second) == second
    True
    """
    times = times_of(text, zone)
    if before is not None:
        times = tuple(time for time in times if time <= before)[-1:] or times
    return times[0] if times else None


def span_of(
    start: str, end: str, elapsed_seconds: int | None, zone: tzinfo
) -> tuple[int | None, int | None]:
    """Return start and end, each null where not known.

    In an hour that the clock repeats they are those that lie `elapsed_seconds` apart, else the
    first ones in order.
    """
    starts, ends = times_of(start, zone), times_of(end, zone)
    pairs = [(first, last) for first in starts for last in ends if last >= first]
    if not pairs:
        return (starts[0] if starts else None), (ends[0] if ends else None)
    return next(
        (pair for pair in pairs if (pair[1] - pair[0]) // SECOND_MICROS == elapsed_seconds),
        pairs[0],
    )


@lru_cache(maxsize=1 << 14)
def times_of(text: str, zone: tzinfo) -> tuple[int, ...]:
    """Return what a time may mean, UTC microseconds: one time, two of a repeated hour, or none."""
    if _EPOCH.fullmatch(text):
        return (int(text) * SECOND_MICROS,)
    if not _ISO.fullmatch(text):
        return ()
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return (int(moment.timestamp()) * SECOND_MICROS,)
        first, second = (int(moment.replace(tzinfo=zone, fold=fold).timestamp()) for fold in (0, 1))
    except (ValueError, OverflowError):
        return ()  # on no calendar
    # Of an hour left out in spring the second reading is the earlier one: no clock showed it.
    times = (first, second) if first < second else (first,)
    return tuple(time * SECOND_MICROS for time in times)


def seconds_of(text: str) -> int | None:
    """Return the seconds of ``[days-][hours:]minutes:seconds``; null for words such as UNLIMITED.

    >>> seconds_of("1-02:03:04"), seconds_of("05:00"), seconds_of("UNLIMITED")
    (93784, 300, None)
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return ((days * _DAY_HOURS + hours) * _MINUTES + minutes) * _SECONDS + seconds


def number_of(text: str) -> int | None:
    """Return a whole number, null for what is none."""
    return int(text) if _NUMBER.fullmatch(text) else None
