"""Quiet days with metrics beside the log: what is heard of them in silences that are suspected.

The samples go through the very code of the service (`Measured`); only those of silences, and of the
five minutes before them, are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from relume.benchmarks.false_alarms.nodes import (
    NODES,
    SCRAPE_SECONDS,
    USUAL_SCRAPES,
    Doing,
    Exporters,
    Traits,
)
from relume.benchmarks.false_alarms.plans import SEED, Pause, generator
from relume.benchmarks.false_alarms.quiet import QuietDay
from relume.events import Sample
from relume.models.hang.detector import HangDetector
from relume.models.hang.known import MICROSECONDS
from relume.serve.live.measured import Measured

_STREAM = 23
"""Of the draws: no other bench uses it."""


@dataclass(slots=True)
class Metered:
    """The metrics of one quiet day.

    Parameters
    ----------
    day
        Of a job whose traits are drawn by its number.
    begin
        When the day begins; UTC microseconds.
    """

    day: QuietDay
    begin: int
    _traits: Traits = field(init=False)
    _phase: float = field(init=False)
    _lines: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        """Draw what is the job's own."""
        draws = generator(SEED, self.day.plan.number, _STREAM)
        self._traits, self._phase = Traits.drawn(draws), draws.uniform(0.0, SCRAPE_SECONDS)
        self._lines = self.day.line_seconds

    def doing(self, second: float) -> Doing:
        """Say what the job does: after a line comes its pause, and then the step.

        After the last line nothing comes any more.
        """
        line = int(np.searchsorted(self._lines, second, side="right")) - 1
        if line < 0:
            return Doing.TRAIN
        if line == len(self.day.pauses):
            return Doing.HANG
        pause, lasts = Pause(self.day.pauses[line]), self.day.pause_seconds[line]
        past = second - self._lines[line]
        if pause is Pause.NONE or past >= lasts:
            return Doing.TRAIN
        if pause is Pause.EVALUATION:
            return Doing.EVALUATE
        return Doing.GATHER if past < self._traits.gathers * lasts else Doing.SAVE

    def silence(self, detector: HangDetector, since: int, until: int) -> Heard:
        """Return what a detector hears in a silence between two seconds of the day."""
        return Heard(self, detector, since, until)

    def first(self, since: int) -> float:
        """Return when measuring begins for a silence: not before there are steps."""
        return max(float(self._lines[0]), since - USUAL_SCRAPES * SCRAPE_SECONDS)

    def scrapes(self, since: int, until: int) -> Iterator[tuple[float, list[Sample]]]:
        """Yield what is scraped in a silence, and before it while what is usual is learned."""
        count = math.ceil((self.first(since) - self._phase) / SCRAPE_SECONDS)
        draws = generator(SEED, self.day.plan.number, _STREAM, self.day.day, since)
        exporters = Exporters(self._traits, self.doing, draws, self.begin)
        return exporters.scrapes(count * SCRAPE_SECONDS + self._phase, until)


@dataclass(slots=True)
class Heard:
    """What comes of metrics in one silence, second by second; nothing is drawn unless it counts."""

    metered: Metered
    detector: HangDetector
    since: int
    until: int
    _measured: Measured | None = None
    _scrapes: Iterator[tuple[float, list[Sample]]] = field(default_factory=lambda: iter(()))
    _next: tuple[float, list[Sample]] | None = None

    @property
    def next_second(self) -> float:
        """When the next samples come; infinite for never."""
        return math.inf if self._next is None else math.ceil(self._next[0])

    def tell(self, second: int) -> None:
        """Tell the detector what the samples up to a second say, as the service does."""
        since = self.detector.known.silent_since
        if since is None or not self.detector.is_suspect(self._time(second)):
            return
        measured = self._measured or self._begun()
        self._take(measured, second)
        sign = measured.sign(since, len(NODES))
        if sign is not None:
            self.detector.sign(sign)

    def _begun(self) -> Measured:
        """Take what was measured before the silence: it is usual."""
        measured = self._measured = Measured()
        measured.note_progress(self._time(math.floor(self.metered.first(self.since))))
        self._scrapes = self.metered.scrapes(self.since, self.until)
        self._next = next(self._scrapes, None)
        self._take(measured, self.since)
        measured.note_progress(self._time(self.since))
        return measured

    def _take(self, measured: Measured, until: int) -> None:
        while self._next is not None and self._next[0] <= until:
            second, samples = self._next
            for sample in samples:
                measured.take(sample, self._time(math.ceil(second)))
            self._next = next(self._scrapes, None)

    def _time(self, second: int) -> int:
        return self.metered.begin + second * MICROSECONDS
