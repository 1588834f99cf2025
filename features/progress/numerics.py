"""What goes wrong with a model's numbers, and lasts: one bad step that training survives is none.

Followed are stretches of bad progress lines; a good line ends a stretch. What counts is a stretch
that is still open: its first line is where it began. Each line costs a few comparisons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.features.progress.point import ProgressPoint

if TYPE_CHECKING:
    from numpy.typing import NDArray

LASTING_POINTS: Final = 3
"""Bad progress lines in a row that are no accident; an overflow makes one, and is skipped."""
LOWEST_SCALE: Final = 1.0
"""A loss scale that overflows here can't help any more: the gradients themselves are too large."""
CLEAN_POINTS: Final = 8
"""Lines without an overflow that end a stretch of them: a step prints two or three."""
COUNTED_STEPS: Final = 200
"""Steps from which on their skipped share tells; the search for a loss scale takes some dozens."""
SKIPPED_SHARE: Final = 0.5
JUMP: Final = 2.0
"""How many times the highest loss of late a loss must be to have jumped."""
JUMPED_POINTS: Final = 50
"""Lines that it must stay there: most spikes are gone sooner."""
LEVEL_POINTS: Final = 64
"""Losses that make a level; the last one to two times as many are looked at."""


class Trouble(StrEnum):
    """What is wrong with the numbers."""

    NOT_FINITE = "loss_not_finite"
    """Loss (or gradient norm, where no loss is printed) is NaN or infinite."""
    SCALE_COLLAPSED = "loss_scale_collapsed"
    """Steps overflow and are skipped although the loss scale is at its lowest."""
    STEPS_SKIPPED = "steps_skipped"
    """Half of all steps were skipped for overflow."""
    LOSS_JUMPED = "loss_jumped"
    """The loss jumped and stayed there."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands: its number in its file, and its number among all lines fed."""

    line: int
    file: str
    order: int


@dataclass(slots=True)
class Stretch:
    """Bad lines in a row: how many, the first one, and its step (null where it prints none)."""

    points: int = 0
    first: Place | None = None
    step: int | None = None

    def take(self, place: Place, step: int | None, *, bad: bool) -> None:
        """Take one more line in: a good one ends the stretch."""
        if not bad:
            if self.points:
                self.points, self.first, self.step = 0, None, None
            return
        if not self.points:
            self.first, self.step = place, step
        self.points += 1


@dataclass(slots=True)
class LossLevel:
    """The loss of one printer: whether it has jumped above all that it was of late."""

    raised: Stretch = field(default_factory=Stretch)
    _segment: int = 0
    _seen: int = 0
    _highest: float = -math.inf
    _highest_before: float = -math.inf

    def take(self, loss: float | None, place: Place, step: int | None, segment: int) -> None:
        """Take one more loss in; a new beginning (`segment`) forgets the old level."""
        self._begin(segment)
        if loss is None or not math.isfinite(loss):
            return
        ceiling = max(self._highest, self._highest_before)
        jumped = self._seen >= LEVEL_POINTS and 0.0 < JUMP * ceiling < loss
        self.raised.take(place, step, bad=jumped)
        if jumped:
            return
        self._highest = max(self._highest, loss)
        self._seen += 1
        if self._seen % LEVEL_POINTS == 0:
            self._highest_before, self._highest = self._highest, -math.inf

    def first_jump(self, losses: NDArray[np.float64], segment: int) -> int:
        """Return which of many losses is the first that jumps, how many they are if none does."""
        self._begin(segment)
        levels, peaks = self._levels(losses)
        late = np.concatenate((np.full((len(levels), 1), -math.inf), levels[:, :-1]), axis=1)
        ceilings = np.maximum(late, peaks[:-1, None]).reshape(-1)[self._seen % LEVEL_POINTS :]
        raised = JUMP * ceilings[: len(losses)]
        jumps = (raised > 0.0) & (raised < losses)
        jumps[: max(0, LEVEL_POINTS - self._seen)] = False
        return int(jumps.argmax()) if jumps.any() else len(losses)

    def take_calm(self, losses: NDArray[np.float64], segment: int) -> None:
        """Take many finite losses in, none of which jumps."""
        self._begin(segment)
        whole, begun = divmod(self._seen % LEVEL_POINTS + len(losses), LEVEL_POINTS)
        levels, peaks = self._levels(losses)
        self._seen += len(losses)
        self._highest_before = float(peaks[whole])
        self._highest = float(levels[whole, begun - 1]) if begun else -math.inf

    def _begin(self, segment: int) -> None:
        if segment != self._segment:
            self.raised = Stretch()
            self._segment, self._seen = segment, 0
            self._highest = self._highest_before = -math.inf

    def _levels(
        self, losses: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the highest loss of each level so far, and the last of each level before."""
        begun = self._seen % LEVEL_POINTS
        table = np.full(((begun + len(losses)) // LEVEL_POINTS + 1, LEVEL_POINTS), -math.inf)
        table[0, 0] = self._highest
        table.reshape(-1)[begun : begun + len(losses)] = losses
        levels = np.maximum.accumulate(table, axis=1)
        return levels, np.concatenate(([self._highest_before], levels[:, -1]))


@dataclass(slots=True)
class Numerics:
    """What was seen of the model's numbers, over all printers."""

    nan_points: int = 0
    skipped_steps: int = 0
    skipped_total: int = 0
    loss_scale: float | None = None
    not_finite: Stretch = field(default_factory=Stretch)
    collapsed: Stretch = field(default_factory=Stretch)
    skipping: Stretch = field(default_factory=Stretch)
    jumped: Stretch = field(default_factory=Stretch)
    _clean: int = 0

    def update(
        self,
        point: ProgressPoint,
        place: Place,
        step: int | None = None,
        level: LossLevel | None = None,
    ) -> None:
        """Take one new line of training in, of that `step`; `level` is its printer's."""
        is_nan = is_point_nan(point)
        if is_nan is not None:
            self.nan_points += is_nan
            self.not_finite.take(place, step, bad=is_nan)
        if point.loss_scale is not None:
            self.loss_scale = point.loss_scale
        if point.skipped or self.collapsed.points:
            self._take_overflow(point, place, step)
        self.skipped_steps += point.skipped or 0
        if point.skipped_total is not None:
            self.skipped_total = max(self.skipped_total, point.skipped_total)
            if step is not None:
                bad = step >= COUNTED_STEPS and point.skipped_total >= SKIPPED_SHARE * step
                self.skipping.take(place, step, bad=bad)
        if level is not None and point.loss is not None:
            self.jumped = level.raised

    def skips(self, point: ProgressPoint, steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether too many steps were skipped where lines of a wording show these steps."""
        total = -1.0 if point.skipped_total is None else point.skipped_total
        return (steps >= COUNTED_STEPS) & (total >= SKIPPED_SHARE * steps)

    def _take_overflow(self, point: ProgressPoint, place: Place, step: int | None) -> None:
        scale = point.loss_scale
        if point.skipped and scale is not None and scale <= LOWEST_SCALE:
            self.collapsed.take(place, step, bad=True)
            self._clean = 0
            return
        self._clean += 1
        is_over = point.skipped == 0 or (scale or 0.0) > LOWEST_SCALE
        if is_over or self._clean >= CLEAN_POINTS:
            self.collapsed.take(place, step, bad=False)

    def trouble(self) -> tuple[Trouble, Stretch] | None:
        """Return what is wrong by now and lasts, the earliest first; null where nothing is."""
        lasting = [
            (stretch.first.order, trouble, stretch)
            for trouble, stretch, least in (
                (Trouble.NOT_FINITE, self.not_finite, LASTING_POINTS),
                (Trouble.SCALE_COLLAPSED, self.collapsed, LASTING_POINTS),
                (Trouble.STEPS_SKIPPED, self.skipping, 1),
                (Trouble.LOSS_JUMPED, self.jumped, JUMPED_POINTS),
            )
            if stretch.first is not None and stretch.points >= least
        ]
        if not lasting:
            return None
        _, trouble, stretch = min(lasting, key=lambda one: one[0])
        return trouble, stretch


def is_point_nan(point: ProgressPoint) -> bool | None:
    """Whether the model's numbers are none any more; null when the line has no number.

    A gradient that overflows beside a finite loss is an ordinary skipped step of fp16, so the
    gradient norm counts only where no loss is printed, and then as NaN only.
    """
    if point.loss is not None:
        return not math.isfinite(point.loss)
    return None if point.grad_norm is None else math.isnan(point.grad_norm)
