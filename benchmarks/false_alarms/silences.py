"""Detectors of hangs on quiet days: what they say, by the ticks of a service.

A service polls at every whole second, so lines of one second come together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from relume.benchmarks.false_alarms.plans import Pause
from relume.benchmarks.false_alarms.quiet import QuietDay
from relume.models.family.attempt import AttemptGaps
from relume.models.family.prior import Family
from relume.models.hang.detector import HangDetection, HangDetector, Level
from relume.models.hang.known import MICROSECONDS, Known
from relume.models.hang.settings import HangSettings

FRAMEWORK, NODES = "made_up", 8
_SHORT = 20.0
"""No detector here says anything about a shorter silence."""


class Silences(Protocol):
    """What a detector of hangs is, as far as quiet days need it."""

    def start(self, event_time: int) -> None:
        """Take the start of the attempt."""

    def progress(self, event_time: int, lines: int = 1, step: int | None = None) -> None:
        """Take new steps."""

    def enter(self, phase: str) -> None:
        """Take the begin of an announced phase."""

    def advance(self, event_time: int) -> list[HangDetection]:
        """Take the clock."""

    def next_change(self) -> int | None:
        """Return a time before which nothing is found."""


class Hears(Protocol):
    """What else is heard in one silence."""

    @property
    def next_second(self) -> float:
        """When something new comes."""

    def tell(self, second: int) -> None:
        """Tell the detector what is known by then."""


Listen: TypeAlias = Callable[[int, int], Hears]


@dataclass(frozen=True, slots=True)
class Polls:
    """The progress lines of a day as a service sees them, arrays of one length.

    `seconds` are whole; `lines` counts those that came since the poll before, `last` is the number
    of the last one, and `phases` the pause that the job announces after it (`Pause`).
    """

    seconds: np.ndarray
    lines: np.ndarray
    last: np.ndarray
    phases: np.ndarray


def polls_of(day: QuietDay) -> Polls:
    """Return what a service sees of a day, second by second."""
    times = np.ceil(day.line_seconds).astype(np.int64)
    ends = np.flatnonzero(np.append(np.diff(times) > 0, True))
    told = [one.pause for one in day.plan.schedules if one.is_announced]
    phases = np.append(np.where(np.isin(day.pauses, told), day.pauses, 0), 0)
    return Polls(times[ends], np.diff(ends, prepend=-1), ends, phases[ends])


def watch(
    detector: Silences,
    day: QuietDay,
    begin: int = 0,
    *,
    then_silent: float = 0.0,
    listen: Listen | None = None,
) -> Iterator[HangDetection]:
    """Yield what a detector says of a day that begins at `begin` (UTC microseconds).

    After its last line nothing comes for `then_silent` seconds. `listen` gives what else is heard
    in a silence between two seconds of the day; null for nothing.
    """
    detector.start(begin)
    polls = polls_of(day)
    before = 0
    columns = (polls.seconds, polls.lines, polls.last, polls.phases)
    for second, lines, last, phase in zip(*(one.tolist() for one in columns), strict=True):
        if second - before > _SHORT:
            heard = listen(before, second) if listen is not None and before else None
            yield from _silence(detector, begin, before, second, heard)
        detector.progress(begin + second * MICROSECONDS, lines, last)
        if phase:
            detector.enter(Pause(phase).name.lower())
        before = second
    if then_silent:
        end = before + math.ceil(then_silent)
        heard = listen(before, end) if listen is not None else None
        yield from _silence(detector, begin, before, end, heard)


def _silence(
    detector: Silences, begin: int, since: int, until: int, heard: Hears | None = None
) -> Iterator[HangDetection]:
    """Yield what is found at the ticks of a silence: those that may find something are enough."""
    second, level = since, None
    while level is not Level.ACTIONABLE:
        due = detector.next_change()
        after = math.inf if due is None else -((begin - due) // MICROSECONDS)
        if heard is not None and level is not None:
            after = min(after, heard.next_second)
        second = max(second + 1, int(min(after, until + 1)))
        if second > until:
            return
        if heard is not None:
            heard.tell(second)
        for found in detector.advance(begin + second * MICROSECONDS):
            level = found.level
            yield found


def detector_of(settings: HangSettings, left: Sequence[AttemptGaps] = ()) -> HangDetector:
    """Return our detector for a day after others, which were tries of the same job."""
    family = Family(list(left), left[0].job if left else "")
    return HangDetector(settings, family, Known(nodes=NODES, framework=FRAMEWORK))


def left_by(detector: HangDetector, day: QuietDay, begin: int) -> AttemptGaps:
    """Return what a day that was watched leaves; it ended with its last line."""
    ended = begin + math.ceil(day.line_seconds[-1]) * MICROSECONDS
    return detector.left(f"quiet/{day.plan.number}@0.{day.day}", ended)
