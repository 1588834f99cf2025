"""One printer's progress: which steps are new, what each took, and a bounded memory of both."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from relume.features.progress.numerics import LossLevel

if TYPE_CHECKING:
    from relume.features.progress.point import ProgressPoint

HEAD_SAMPLES: Final = 64
"""First samples kept as they are."""
TAIL_SAMPLES: Final = 512
"""Last samples kept as they are."""
MIDDLE_SAMPLES: Final = 512
"""Samples between, thinned by halves whenever they reach this."""
BAR_SPAN_SECONDS: Final = 10.0
"""A bar's clock has whole seconds: shorter stretches would measure its rounding."""
OPENING_SECONDS: Final = 300.0
"""A bar's own mean says how fast it usually is after this long."""
OPENING_RATIO: Final = 1.5
"""How far the mean and the printed rate of a steady bar may lie apart."""
RESTART_POINTS: Final = 3
"""Growing steps behind the frontier that make a restart rather than a late rank."""


@dataclass(slots=True)
class Sample:
    """A stretch of new steps and what was printed about it. Null means not printed."""

    step: int
    line: int = 0
    file: str = ""
    segment: int = 0
    steps: int = 0
    """Steps since the sample before; 0 for the first of a segment."""
    printed_seconds: float | None = None
    """Printed time of one step."""
    rate: float | None = None
    data_seconds: float | None = None
    elapsed_delta: float | None = None
    """Seconds per step by the printer's own clock."""
    clock_delta: float | None = None
    """Seconds per step by the log's time stamps."""
    disturbed: bool = False
    """An evaluation, a checkpoint or an epoch's start lies in this stretch."""


@dataclass(slots=True)
class _Anchor:
    """Where the stretch in progress began."""

    step: int
    epoch: float | None
    elapsed: float | None
    event_time: int | None


class Thinned:
    """A bounded list: all of the first and last samples, evenly thinned ones between."""

    def __init__(self) -> None:
        self._head: list[Sample] = []
        self._middle: list[Sample] = []
        self._tail: deque[Sample] = deque()
        self._stride = 1
        self._dropped = 0

    def __len__(self) -> int:
        return len(self._head) + len(self._middle) + len(self._tail)

    def append(self, sample: Sample) -> None:
        """Add the newest sample."""
        if len(self._head) < HEAD_SAMPLES:
            self._head.append(sample)
            return
        self._tail.append(sample)
        if len(self._tail) > TAIL_SAMPLES:
            self._thin(self._tail.popleft())

    def _thin(self, sample: Sample) -> None:
        self._dropped += 1
        if self._dropped % self._stride == 0:
            self._middle.append(sample)
        if len(self._middle) > MIDDLE_SAMPLES:
            del self._middle[::2]
            self._stride *= 2

    def last(self) -> Sample | None:
        """Return the newest sample, null when there is none."""
        return self._tail[-1] if self._tail else self._head[-1] if self._head else None

    def samples(self) -> list[Sample]:
        """Return what is kept, in order."""
        return [*self._head, *self._middle, *self._tail]


@dataclass(slots=True)
class Series:
    """Progress of one printer in one format.

    Lines that repeat a step (every rank prints it, a bar is redrawn) or lag behind the furthest
    one (several processes write into one file) add nothing; steps that fall back and grow again
    open a new segment: a restart, or the next epoch of a count that starts again.
    """

    format: str
    phase: str
    is_bar: bool
    kept: Thinned = field(default_factory=Thinned)
    segment: int = 0
    restarts: int = 0
    opening: float | None = None
    """Mean seconds per step up to the first line seen, of a bar that was well under way there."""
    first_step: int | None = None
    last_step: int | None = None
    total: int | None = None
    epoch_bar: bool = False
    last_line: int = 0
    last_file: str = ""
    order: int = 0
    """Number of the fed line that advanced last, over all files."""
    level: LossLevel = field(default_factory=LossLevel)
    _anchor: _Anchor | None = None
    _furthest: _Anchor | None = None
    _behind: list[int] = field(default_factory=list)
    _disturbed: bool = False
    _restart_announced: bool = False
    _opening_confirmed: bool = False
    """Whether the second line was compared with the mean too: the first can end a catching-up."""

    def disturb(self) -> None:
        """Note that something else than training lies between the last step and the next."""
        self._disturbed = True

    def announce_restart(self) -> None:
        """Note that the next step begins anew, wherever its count stands."""
        self._restart_announced = self._furthest is not None

    def advance(
        self, point: ProgressPoint, *, line: int, file: str, event_time: int | None
    ) -> bool:
        """Take one point in; return whether it brought something new."""
        if point.step is None:
            return self._attach(point, line, file)
        here = _Anchor(point.step, point.epoch, point.elapsed_seconds, event_time)
        position = _compare(self._furthest, here, by_epoch=point.epoch_bar)
        if self._restart_announced and position != 0:
            self._open_segment()
        elif position == 0 or (position < 0 and not self._is_restart(here)):
            return False
        self._behind.clear()
        self._extend(point, here, line, file)
        return True

    def _attach(self, point: ProgressPoint, line: int, file: str) -> bool:
        """Take a line without a step: it counts by its epoch, or belongs to the step before."""
        if point.epoch is None:
            last = self.kept.last()
            if last is not None:
                _complete(last, point)
            return point.loss is not None
        furthest = self._furthest
        known = -1.0 if furthest is None or furthest.epoch is None else furthest.epoch
        if point.epoch < known and not self._restart_announced:
            return False
        self._restart_announced = False
        self._furthest = _Anchor(0, point.epoch, None, None)
        self.last_line, self.last_file = line, file
        return True

    def _is_restart(self, here: _Anchor) -> bool:
        """Whether a step behind the furthest one is a new beginning rather than a late rank."""
        behind = self._behind
        if behind and here.step <= behind[-1]:
            # Late ranks print side by side, so equal or nearly equal counts mean nothing.
            if here.step < behind[-1] - 1:
                behind.clear()
            return False
        behind.append(here.step)
        if len(behind) < (2 if _clock_fell(self._furthest, here) else RESTART_POINTS):
            return False
        self._open_segment()
        return True

    def _open_segment(self) -> None:
        # A bar, or a count per epoch, starts again without anything having been lost.
        self.restarts += not (self.epoch_bar or self.is_bar) or self._restart_announced
        self.segment += 1
        self._anchor, self._furthest, self._restart_announced = None, None, False

    def _extend(self, point: ProgressPoint, here: _Anchor, line: int, file: str) -> None:
        """Close the stretch that ends here, if it is long enough to be measured."""
        furthest = self._furthest
        if furthest is not None and point.epoch_bar and furthest.epoch != here.epoch:
            self._anchor, self._disturbed = _epoch_start(point), _is_early(point)
        self._furthest = here
        self.last_step, self.last_line, self.last_file = here.step, line, file
        self.total = point.total if point.total is not None else self.total
        self.epoch_bar |= point.epoch_bar
        if self.first_step is None:
            self.first_step, self.opening = here.step, _mean_so_far(point)
        elif not self._opening_confirmed:
            self.opening = self.opening and _mean_so_far(point)
            self._opening_confirmed = True
        if _is_too_short(point, self._anchor, here):
            return
        sample = _measure(point, self._anchor, here)
        sample.line, sample.file, sample.segment = line, file, self.segment
        sample.disturbed = self._disturbed
        self.kept.append(sample)
        self._anchor, self._disturbed = here, False


def _compare(furthest: _Anchor | None, here: _Anchor, *, by_epoch: bool) -> int:
    """Return whether `here` is ahead of (1), at (0) or behind (-1) the furthest position."""
    if furthest is None:
        return 1
    known = by_epoch and here.epoch is not None and furthest.epoch is not None
    if known and here.epoch != furthest.epoch:
        return 1 if (here.epoch or 0.0) > (furthest.epoch or 0.0) else -1
    return (here.step > furthest.step) - (here.step < furthest.step)


def _clock_fell(furthest: _Anchor | None, here: _Anchor) -> bool:
    """Whether the printer's own clock started again: a new bar, not a late one."""
    if furthest is None or furthest.elapsed is None or here.elapsed is None:
        return False
    return here.elapsed < furthest.elapsed / 2


def _mean_so_far(point: ProgressPoint) -> float | None:
    """Return a bar's mean pace, null where it hasn't run long or disagrees with the rate beside.

    A resumed bar starts at a count it never worked for; its rate tells.
    """
    if not point.is_bar or not point.rate or not point.step:
        return None
    if (point.elapsed_seconds or 0.0) < OPENING_SECONDS:
        return None
    mean = (point.elapsed_seconds or 0.0) / point.step
    return mean if 1.0 / OPENING_RATIO < mean * point.rate < OPENING_RATIO else None


def _epoch_start(point: ProgressPoint) -> _Anchor | None:
    """Return where the new epoch began: a bar's clock and count both started at zero then."""
    return _Anchor(0, point.epoch, 0.0, None) if point.is_bar else None


def _is_early(point: ProgressPoint) -> bool:
    """Whether the first batch of the epoch, slow everywhere, still weighs in this point."""
    return not point.is_bar or point.total is None or (point.step or 0) * 2 < point.total


def _is_too_short(point: ProgressPoint, anchor: _Anchor | None, here: _Anchor) -> bool:
    if anchor is None or not point.is_bar or point.step_time_seconds is not None:
        return False
    if anchor.elapsed is None or here.elapsed is None:
        return False
    return 0.0 <= here.elapsed - anchor.elapsed < BAR_SPAN_SECONDS


def _complete(sample: Sample, point: ProgressPoint) -> None:
    """Add what a second line says about the step of the line before."""
    if sample.rate is None:
        sample.rate = point.rate
    if sample.printed_seconds is None:
        sample.printed_seconds = _printed_seconds(point, sample.steps)


def _printed_seconds(point: ProgressPoint, steps: int) -> float | None:
    if point.step_time_seconds is not None or point.interval_seconds is None or steps <= 0:
        return point.step_time_seconds
    return point.interval_seconds / steps


def _measure(point: ProgressPoint, anchor: _Anchor | None, here: _Anchor) -> Sample:
    """Return what the stretch from `anchor` to `here` took, by every clock there is."""
    sample = Sample(here.step)
    sample.printed_seconds, sample.rate = point.step_time_seconds, point.rate
    sample.data_seconds = point.data_seconds
    steps = here.step - anchor.step if anchor is not None else 0
    if anchor is None or steps <= 0:
        return sample
    sample.steps = steps
    sample.printed_seconds = _printed_seconds(point, steps)
    if here.elapsed is not None and anchor.elapsed is not None:
        sample.elapsed_delta = (here.elapsed - anchor.elapsed) / steps
    if here.event_time is not None and anchor.event_time is not None:
        sample.clock_delta = (here.event_time - anchor.event_time) / 1e6 / steps
    return sample
