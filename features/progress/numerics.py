"""What a job's step lines say of the model's numbers, and where lines stand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from relume.features.progress.point import ProgressPoint


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line stands: its number in its file, and its number among all lines fed."""

    line: int
    file: str
    order: int


@dataclass(slots=True)
class Numerics:
    """What was seen of the model's numbers."""

    nan_points: int = 0
    first_nan: Place | None = None
    last_is_nan: bool = False
    skipped_steps: int = 0
    skipped_total: int = 0
    loss_scale: float | None = None

    def update(self, point: ProgressPoint, place: Place) -> None:
        """Take the numbers of one new point in."""
        is_nan = is_point_nan(point)
        if is_nan is not None:
            self.last_is_nan = is_nan
            self.nan_points += is_nan
        if is_nan and self.first_nan is None:
            self.first_nan = place
        if point.loss_scale is not None:
            self.loss_scale = point.loss_scale
        self.skipped_steps += point.skipped or 0
        self.skipped_total = max(self.skipped_total, point.skipped_total or 0)


def is_point_nan(point: ProgressPoint) -> bool | None:
    """Whether the model's numbers are none any more; null when the line has no number.

    A gradient that overflows beside a finite loss is an ordinary skipped step of fp16, so the
    gradient norm counts only where no loss is printed, and then as NaN only.
    """
    if point.loss is not None:
        return not math.isfinite(point.loss)
    return None if point.grad_norm is None else math.isnan(point.grad_norm)
