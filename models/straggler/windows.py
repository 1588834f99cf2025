"""What the guaranteed mode saw of one attempt, in windows of a job-day: see `across`.

A window is as many readings of one stream as a day had at the pace of its calibration. That nothing
in it was slow is one hypothesis; its e-value is what speaks against it at any time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from relume.models.baselines.fdr import CONFIRMING, e_value_of_alarms

MAX_WINDOWS: Final = 512
"""Windows kept of an attempt. What alarms after them doesn't hold across jobs."""
MAX_EVIDENCE: Final = 32
"""How often the evidence of a window may grow; more of it is passed over."""
_MAX_CHAIN: Final = 16
"""Alarms that confirm each other; so many are beyond any level."""


@dataclass(frozen=True, slots=True)
class Window:
    """One window of one stream.

    Attributes
    ----------
    stream
        The regime whose stream it is.
    begin
        Time of its first reading; UTC microseconds.
    evidence
        When its e-value grew (UTC microseconds), and to what; empty while nothing alarmed.
    """

    stream: str
    begin: int
    evidence: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Scale:
    """What an alarm of a stream weighs: its share of false alarms, and its readings a day."""

    alpha: float
    readings: int


@dataclass(slots=True)
class _Open:
    """The newest window of a stream: its place, and where in it which alarms were."""

    place: int
    readings: int = 0
    before: float = 0.0
    chain: list[int] = field(default_factory=list)

    def alarm(self, scale: Scale) -> float:
        """Take that the newest reading alarmed; return the e-value.

        Alarms that confirm each other multiply. Those of other stretches add up: each counts the
        e-processes that began after the alarm before it, and on average a reading begins one.
        """
        if self.chain and self.readings - self.chain[-1] > CONFIRMING:
            self.before += self._of_chain(scale)
            self.chain = []
        if len(self.chain) < _MAX_CHAIN:
            self.chain.append(self.readings)
        return self.before + self._of_chain(scale)

    def _of_chain(self, scale: Scale) -> float:
        return e_value_of_alarms(self.chain, scale.alpha, scale.readings)


@dataclass(slots=True)
class Windows:
    """The windows of all streams of one attempt, in the order of their begins. Bounded.

    Examples
    --------
    >>> windows, scale = Windows(), Scale(alpha=0.01 / 17_280, readings=17_280)
    >>> for reading in range(20):
    ...     windows.take("train", reading * 5_000_000, scale, alarmed=reading in {7, 19})
    >>> [(time, f"{value:.3g}") for time, value in windows.all[0].evidence]
    [(35000000, '100'), (95000000, '2.88e+06')]
    """

    all: list[Window] = field(default_factory=list)
    _open: dict[str, _Open] = field(default_factory=dict)

    def take(self, stream: str, time: int, scale: Scale, *, alarmed: bool) -> None:
        """Take one more reading of a calibrated stream, and whether it alarmed."""
        opened = self._open.get(stream)
        if opened is None or opened.readings >= scale.readings:
            if len(self.all) >= MAX_WINDOWS:
                self._open.pop(stream, None)
                return
            opened = self._open[stream] = _Open(len(self.all))
            self.all.append(Window(stream, time))
        opened.readings += 1
        if alarmed:
            self._grow(opened.place, time, opened.alarm(scale))

    def close(self, stream: str | None = None) -> None:
        """Take that a stream, or any, is given up; one of its name begins a new window."""
        if stream is None:
            self._open.clear()
        else:
            self._open.pop(stream, None)

    def _grow(self, place: int, time: int, value: float) -> None:
        window = self.all[place]
        before = window.evidence[-1][1] if window.evidence else 0.0
        if value > before and len(window.evidence) < MAX_EVIDENCE:
            self.all[place] = replace(window, evidence=(*window.evidence, (time, value)))
