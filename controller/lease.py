"""The lease of a cluster: one controller acts, and knows how long it still may."""

from __future__ import annotations

from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller.doors import Doors

MIN_SECONDS = 90
"""Twice what one command may take, and more."""
MAX_SECONDS = 3600
"""What the service grants at most."""


class Lease:
    """Ours while it lasts, by two clocks.

    The time of day may be put back; the other clock stands still while a virtual machine is paused.
    Either one ends it, and both a tenth before the service does.

    Parameters
    ----------
    doors
        The service, and both clocks.
    holder
        Our name.
    interval_seconds
        How often it is renewed, at least.

    Attributes
    ----------
    token
        The fencing token, null before the lease was ever ours.
    """

    def __init__(self, doors: Doors, holder: str, interval_seconds: float) -> None:
        self._doors = doors
        self._holder = holder
        self._seconds = min(max(MIN_SECONDS, int(3 * interval_seconds)), MAX_SECONDS)
        self._ends = self._ends_by_day = 0.0
        self.token: int | None = None

    def renew(self, cluster: str) -> bool:
        """Take it or keep it; whether it is ours.

        Raises
        ------
        RelumeError
            When the service doesn't say; what is left of the lease is still ours.
        """
        # From before the question, so that ours ends before another's begins.
        asked_at, asked_by_day = self._doors.monotonic(), self._by_day()
        token = self._doors.service.take_lease(cluster, self._holder, self._seconds)
        if token is None:
            self.lose()
            return False
        self.token = token
        self._ends, self._ends_by_day = (
            moment + 0.9 * self._seconds for moment in (asked_at, asked_by_day)
        )
        return True

    def lose(self) -> None:
        """Another controller has it."""
        self._ends = self._doors.monotonic()

    def lasts(self, seconds: float = 0.0) -> bool:
        """Whether it is ours for longer than so many seconds from now."""
        left = self._ends - self._doors.monotonic()
        return min(left, self._ends_by_day - self._by_day()) > seconds

    def _by_day(self) -> float:
        return self._doors.clock.now() / MICROSECONDS_PER_SECOND
