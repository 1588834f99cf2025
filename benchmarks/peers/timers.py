"""Hang detectors of others: a fixed timer, and five times the largest gap."""

from __future__ import annotations

from dataclasses import dataclass

from relume.models.hang.detector import HangDetection, Level
from relume.models.hang.known import MICROSECONDS, TRAIN


@dataclass(slots=True)
class FixedTimer:
    """A hang is so many seconds without a step, whatever the job: 600 s, PyTorch's default."""

    seconds: float = 600.0
    _since: int | None = None
    _is_told: bool = False

    def start(self, event_time: int) -> None:
        """Take the start; what comes before the first step is not looked at."""

    def enter(self, phase: str) -> None:
        """Take an announced phase, which changes nothing."""

    def progress(self, event_time: int, lines: int = 1, step: int | None = None) -> None:
        """Take new steps."""
        del lines, step
        self._since, self._is_told = event_time, False

    def patience(self) -> float:
        """Return how long the present silence may last, seconds."""
        return self.seconds

    def next_change(self) -> int | None:
        """Return when the silence will be too long; null where it was told already."""
        if self._since is None or self._is_told:
            return None
        return self._since + int(self.patience() * MICROSECONDS)

    def advance(self, event_time: int) -> list[HangDetection]:
        """Take the clock."""
        due = self.next_change()
        if due is None or self._since is None or event_time <= due:
            return []
        self._is_told = True
        gap, patience = (event_time - self._since) / MICROSECONDS, self.patience()
        reason = f"no step for {gap:.0f} s"
        return [HangDetection(Level.ACTIONABLE, TRAIN, self._since, gap, patience, reason)]


@dataclass(slots=True)
class LargestGap(FixedTimer):
    """A hang is `ratio` times the largest gap so far, once there are some.

    So does NVRx's launcher with its safety factor of 5 (metrics section 13.6); until then it waits
    for `seconds`, its default after the first heartbeat.
    """

    seconds: float = 2700.0
    ratio: float = 5.0
    least_gaps: int = 3
    _gaps: int = 0
    _largest: float = 0.0

    def progress(self, event_time: int, lines: int = 1, step: int | None = None) -> None:
        """Take new steps."""
        if self._since is not None:
            self._gaps += 1
            self._largest = max(self._largest, (event_time - self._since) / MICROSECONDS)
        FixedTimer.progress(self, event_time, lines, step)

    def patience(self) -> float:
        """Return how long the present silence may last, seconds."""
        return self.seconds if self._gaps < self.least_gaps else self.ratio * self._largest
