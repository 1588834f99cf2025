"""One printer's progress: which steps are new, what each took, and a bounded memory of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.features.progress.numerics import LossLevel
from relume.features.progress.samples import Sample, Thinned
from relume.features.progress.stretches import (
    Anchor,
    Stretches,
    anchor_at,
    is_rounded,
    measure,
    printed_seconds,
)

if TYPE_CHECKING:
    from relume.features.progress.point import ProgressPoint
    from relume.features.progress.run import Integers, Run

BAR_SPAN_SECONDS: Final = 10.0
"""A bar's clock has whole seconds: shorter stretches would measure its rounding."""
OPENING_SECONDS: Final = 300.0
"""A bar's own mean says how fast it usually is after this long."""
OPENING_RATIO: Final = 1.5
"""How far the mean and the printed rate of a steady bar may lie apart."""
RESTART_POINTS: Final = 3
"""Growing steps behind the frontier that make a restart rather than a late rank."""


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
    _anchor: Anchor | None = None
    _furthest: Anchor | None = None
    _behind: list[int] = field(default_factory=list)
    _disturbed: bool = False
    _restart_announced: bool = False
    _opening_confirmed: bool = False
    """Whether the second line was compared with the mean too: the first can end a catching-up."""

    @property
    def is_whole(self) -> bool:
        """Whether the last step of all is done. A bar of one epoch begins again."""
        if self.epoch_bar or self.total is None or self.last_step is None:
            return False
        return self.last_step >= self.total > 1

    def measured(self, line: int) -> tuple[Series, Sample] | None:
        """Return the stretch that the point of `line` closed, null when it closed none."""
        last = self.kept.last()
        return (self, last) if last is not None and last.line == line and last.steps else None

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
        here = anchor_at(point, event_time)
        position = _compare(self._furthest, here, by_epoch=point.epoch_bar)
        if self._restart_announced and position != 0:
            self._open_segment()
        elif position == 0 or (position < 0 and not self._is_restart(here)):
            return False
        self._behind.clear()
        self._extend(point, here, line, file)
        return True

    def is_steady(self, point: ProgressPoint) -> bool:
        """Whether lines like `point`, which is one of them, mean no more than that steps go on."""
        furthest = self._furthest
        return (
            furthest is not None
            and self._opening_confirmed
            and self._anchor is not None
            and not (self._restart_announced or self._disturbed or self.level.raised.points)
            and (not point.epoch_bar or furthest.epoch == point.epoch)
        )

    def compare(self, steps: Integers) -> Integers:
        """Return whether each step is ahead of (1), at (0) or behind (-1) the furthest before."""
        first = 0 if self._furthest is None else self._furthest.step
        before = np.maximum.accumulate(np.concatenate(([first], steps)))[:-1]
        return np.sign(steps - before)

    def first_jump(self, run: Run, ahead: Integers) -> int | None:
        """Return the first of the lines at `ahead` whose loss jumps, null when none does."""
        told = ahead[~np.isnan(run.losses[ahead])]
        jump = self.level.first_jump(run.losses[told], self.segment)
        return int(told[jump]) if jump < len(told) else None

    def advance_run(self, run: Run, ahead: Integers) -> None:
        """Take many lines in, as `advance` does: those at `ahead`, each ahead of the one before.

        The series has to be steady for their wordings.
        """
        point, event_time = run.read(ahead[-1])
        self._furthest = anchor_at(point, event_time)
        closing = self._closing(run, ahead)
        if closing and self._anchor is not None:
            batch = Stretches(self._anchor, self.segment, run.file, run, closing)
            self._anchor = batch.anchor(len(closing) - 1)
            self.kept.extend(batch, len(closing))
        losses = run.losses[ahead]
        self.level.take_calm(losses[~np.isnan(losses)], self.segment)
        self._behind.clear()
        self.last_step, self.last_line, self.last_file = (
            point.step,
            int(run.lines[ahead[-1]]),
            run.file,
        )
        self.total = point.total if point.total is not None else self.total
        self.epoch_bar |= point.epoch_bar

    def _closing(self, run: Run, ahead: Integers) -> list[int]:
        """Return the lines that close a stretch long enough to be measured."""
        anchor, is_short_of = self._anchor, [is_rounded(wording) for wording in run.wordings]
        if anchor is None or not any(is_short_of):
            return list[int](ahead.tolist())
        rounded = np.array(is_short_of)[run.which[ahead]]
        closing, elapsed = list[int](), anchor.elapsed
        lines = zip(ahead.tolist(), run.elapsed[ahead].tolist(), rounded.tolist(), strict=True)
        for at, seconds, is_short in lines:
            if is_short and elapsed is not None and 0.0 <= seconds - elapsed < BAR_SPAN_SECONDS:
                continue
            closing.append(at)
            elapsed = seconds if run.wording(at).point.elapsed_seconds is not None else None
        return closing

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
        self._furthest = Anchor(0, point.epoch, None, None)
        self.last_line, self.last_file = line, file
        return True

    def _is_restart(self, here: Anchor) -> bool:
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

    def _extend(self, point: ProgressPoint, here: Anchor, line: int, file: str) -> None:
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
        sample = measure(point, self._anchor, here)
        sample.line, sample.file, sample.segment = line, file, self.segment
        sample.disturbed = self._disturbed
        self.kept.append(sample)
        self._anchor, self._disturbed = here, False


def _compare(furthest: Anchor | None, here: Anchor, *, by_epoch: bool) -> int:
    """Return whether `here` is ahead of (1), at (0) or behind (-1) the furthest position."""
    if furthest is None:
        return 1
    known = by_epoch and here.epoch is not None and furthest.epoch is not None
    if known and here.epoch != furthest.epoch:
        return 1 if (here.epoch or 0.0) > (furthest.epoch or 0.0) else -1
    return (here.step > furthest.step) - (here.step < furthest.step)


def _clock_fell(furthest: Anchor | None, here: Anchor) -> bool:
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


def _epoch_start(point: ProgressPoint) -> Anchor | None:
    """Return where the new epoch began: a bar's clock and count both started at zero then."""
    return Anchor(0, point.epoch, 0.0, None) if point.is_bar else None


def _is_early(point: ProgressPoint) -> bool:
    """Whether the first batch of the epoch, slow everywhere, still weighs in this point."""
    return not point.is_bar or point.total is None or (point.step or 0) * 2 < point.total


def _is_too_short(point: ProgressPoint, anchor: Anchor | None, here: Anchor) -> bool:
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
        sample.printed_seconds = printed_seconds(point, sample.steps)
