"""Moving the clocks that a log prints, each in the form in which it was printed."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta, tzinfo

from relume.ingest.prefixes import parse_prefix
from relume.ingest.timestamps import FORMS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UTC = frozenset({"Z", "UTC", "GMT"})


def with_clock(line: str, time: int, zone: tzinfo = UTC) -> str:
    """Return `line` with the clock of its prefix set to `time` (UTC microseconds).

    The form stays, and what the form doesn't show (a year, a fraction) is lost. A clock that names
    no zone is of `zone`. A line without a clock, or with one in another form, stays as it is.

    Examples
    --------
    >>> with_clock("[rank1]:[E527 09:41:26.730519 x.cpp:607] stuck", 1_767_323_045_678_000)
    '[rank1]:[E102 03:04:05.678000 x.cpp:607] stuck'
    >>> with_clock("Fri Feb 17 08:22:59 2023 lost", 1_767_323_045_678_000)
    'Fri Jan  2 03:04:05 2026 lost'
    """
    prefix = parse_prefix(line)
    if prefix.clock is None:
        return line
    printed = _printed(prefix.clock, _EPOCH + timedelta(microseconds=time), zone)
    return line if printed is None else line.replace(prefix.clock, printed, 1)


def _printed(clock: str, moment: datetime, zone: tzinfo) -> str | None:
    """The moment in the form of a clock; null for another form."""
    found = next((match for form in FORMS if (match := form.fullmatch(clock))), None)
    if found is None:
        return None
    if found.groupdict().get("zone") is None:
        moment = moment.astimezone(zone)
    parts: list[str] = []
    done = 0
    shown = _shown(found, moment)
    for name in sorted(shown, key=found.start):
        start, end = found.span(name)
        parts += [clock[done:start], shown[name]]
        done = end
    return "".join([*parts, clock[done:]])


def _shown(found: re.Match[str], moment: datetime) -> dict[str, str]:
    """The fields of a moment, each as wide as it was printed; a month's number may need more."""
    printed = {name: text for name, text in found.groupdict().items() if text is not None}
    shown = {
        name: f"{getattr(moment, name):0{len(printed[name])}d}"
        for name in ("month", "day", "hour", "minute", "second")
    }
    if not printed["month"].isdigit():
        shown["month"] = calendar.month_abbr[moment.month]
        shown["day"] = f"{moment.day:{len(printed['day'])}d}"  # ctime and syslog pad with a space
    if year := printed.get("year"):
        shown["year"] = f"{moment.year:04d}"[-len(year) :]
    if fraction := printed.get("fraction"):
        shown["fraction"] = f"{moment.microsecond * 1000:09d}"[: len(fraction)]
    if zone := printed.get("zone"):
        shown["zone"] = zone if zone in _UTC else "Z"
    return shown
