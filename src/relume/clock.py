"""Times: UTC int64 microseconds everywhere, and the one place that may read the clock.

Everything else takes time from its events, or takes a `Clock`.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from relume.errors import InputError

if TYPE_CHECKING:
    from datetime import tzinfo

MICROSECONDS_PER_SECOND = 1_000_000
MICROSECONDS_PER_MILLISECOND = 1_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LIMIT = 2**63 - 1


class Clock(Protocol):
    """What says what time it is; only the outermost layers hold one."""

    def now(self) -> int:
        """Return the present time in UTC microseconds; it may jump, backwards too."""
        ...

    def steady(self) -> int:
        """Return microseconds since an unknown moment; they never go back, nor jump."""
        ...


class SystemClock:
    """The machine's clocks: the one that people set, and the one that only goes on."""

    def now(self) -> int:
        """Return the machine's time in UTC microseconds."""
        return time.time_ns() // 1_000

    def steady(self) -> int:
        """Return the microseconds that the machine has run: for durations."""
        return time.monotonic_ns() // 1_000


class ManualClock:
    """A clock that moves only when told to, for tests, demos and replays.

    Examples
    --------
    >>> clock = ManualClock(1_000_000)
    >>> clock.advance(2.5)
    >>> clock.now()
    3500000
    """

    def __init__(self, now: int = 0) -> None:
        self._now, self._passed = now, 0

    def now(self) -> int:
        """Return the time it was set to, in UTC microseconds."""
        return self._now

    def steady(self) -> int:
        """Return the microseconds by which it was moved forward; the machine's don't count."""
        return self._passed

    def advance(self, seconds: float) -> None:
        """Move forward by `seconds`; a negative number moves back, as system clocks do."""
        moved = from_seconds(seconds)
        self._now += moved
        self._passed += max(0, moved)


def from_datetime(moment: datetime) -> int:
    """Return the UTC microseconds of an aware datetime, exactly.

    Raises
    ------
    InputError
        For a datetime without a zone.

    Examples
    --------
    >>> from_datetime(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
    1767323045000006
    """
    if moment.utcoffset() is None:
        raise InputError(
            f"time {moment.isoformat()}",
            found="no time zone",
            expected="a time with a zone",
            hint="attach the configured cluster.timezone where the text is parsed",
        )
    return (moment - _EPOCH) // _MICROSECOND


def from_iso(text: str, zone: tzinfo | None = None) -> int:
    """Return the UTC microseconds of an ISO 8601 time; digits below a microsecond are cut off.

    Parameters
    ----------
    text
        For example ``2026-01-02T03:04:05.25Z``, or Slurm's ``2026-01-02T03:04:05``.
    zone
        The zone of a text that names none. In the hour that a zone repeats in autumn the first one
        is meant.

    Raises
    ------
    InputError
        For another format, and for a text without a zone when `zone` is null.

    Examples
    --------
    >>> from_iso("2026-01-02T04:04:05+01:00") == from_iso("2026-01-02T03:04:05", UTC)
    True
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"time {text!r}",
            found=str(error),
            expected="ISO 8601, for example 2026-01-02T03:04:05Z",
        ) from error
    return from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=zone))


def from_seconds(seconds: float | str | Decimal) -> int:
    """Return the microseconds of epoch seconds (or of a duration), rounded half to even.

    Exact for integers, decimals and texts; a float near today's date resolves about 0.2 us.

    Raises
    ------
    InputError
        For what is no finite number, or is out of the range of int64 microseconds.

    Examples
    --------
    >>> from_seconds("1767323045.000006")
    1767323045000006
    """
    try:
        microseconds = Decimal(seconds) * MICROSECONDS_PER_SECOND
        # Compared before it is rounded: 1E+999999 would be an integer of a million digits.
        if abs(microseconds) < _LIMIT:
            return round(microseconds)
    except (ArithmeticError, ValueError) as error:  # decimal's own errors are arithmetic ones
        raise _bad_number(seconds) from error
    raise _bad_number(seconds)


def from_millis(milliseconds: int) -> int:
    """Return the microseconds of epoch milliseconds."""
    return milliseconds * MICROSECONDS_PER_MILLISECOND


def to_datetime(microseconds: int) -> datetime:
    """Return the UTC datetime of `microseconds`.

    Raises
    ------
    InputError
        For a time outside the years 1 to 9999.
    """
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError as error:
        raise InputError(
            f"time {microseconds}",
            found="a time outside the years 1 to 9999",
            expected="UTC microseconds since 1970",
            hint="is it in nanoseconds?",
        ) from error


def to_iso(microseconds: int) -> str:
    """Return ISO 8601 in UTC with six decimals and ``Z``, so that texts sort as times do.

    Examples
    --------
    >>> to_iso(1767323045000006)
    '2026-01-02T03:04:05.000006Z'
    """
    moment = to_datetime(microseconds)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _bad_number(seconds: float | str | Decimal) -> InputError:
    return InputError(
        f"time {str(seconds)[:40]!r}",
        found="no number of seconds that fits into 64 bits of microseconds",
        expected="seconds since 1970",
        hint="is it in another unit?",
    )
