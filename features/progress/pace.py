"""Judge a series of step times: whether it shifts upward at its end, or drifts.

All gates are one-sided (faster is never a fault) and are applied after the warm-up.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from relume.features.progress.measures import Paces
    from relume.features.progress.samples import Sample

SIGMAS: Final = 6.0
"""Robust standard deviations of the calm part that a shift must exceed."""
SUSTAINED_RATIO: Final = 0.8
"""Share of the slow stretch that must lie above half the shift, and of the calm one below."""
SHARPNESS_RATIO: Final = 0.6
"""Share of the shift that must happen at once, within a few points: a drift is no shift."""
DRIFT_TIMES: Final = 1.5
"""How much slower the last third must be than the first for a drift to count."""
_MAD_TO_SIGMA: Final = 1.4826
_RANGE_TO_SIGMA: Final = (1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847, 2.970, 3.078)
"""Expected range of 2 to 10 normal draws in standard deviations (control-chart constant d2)."""
_EDGE: Final = 5
"""Points on either side of a shift that show how sharp it is."""
_LAST: Final = 3
"""Points at the end that must still be slow."""
_MAX_SPLITS: Final = 80
_MIN_THIRD: Final = 2
_FEW: Final = 9
"""Values below which each must be slower than the one before for their growth to be a drift."""


@dataclass(frozen=True, slots=True)
class Gate:
    """How much a kind of measurement must show before a shift is believed."""

    ratio: float
    calm_points: int
    slow_points: int


GATES: Final[dict[str, tuple[Gate, ...]]] = {
    "printed": (Gate(1.05, 3, 2), Gate(2.0, 2, 4), Gate(3.0, 2, 2)),
    "rate": (Gate(1.05, 3, 2), Gate(2.0, 2, 4), Gate(3.0, 2, 2)),
    # Some epochs hold an evaluation, or a stage of the schedule that trains more layers.
    "epoch": (Gate(1.5, 3, 3), Gate(2.0, 3, 2)),
    # Time stamps hold whatever else happened between two lines.
    "clock": (Gate(1.5, 5, 4), Gate(3.0, 4, 3)),
    # Sequence lengths vary, and a bar's clock has whole seconds.
    "bar": (Gate(1.5, 6, 4), Gate(3.0, 3, 2), Gate(4.0, 2, 3)),
}
"""By measure; a larger shift needs fewer points."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A stretch of slow steps: the sample where a person would point, and the size of it."""

    at: Sample
    ratio: float


def noise(values: Sequence[float]) -> float:
    """Return a robust standard deviation: by the median deviation, by the range for few values.

    Of three values two are often equal by chance, so the larger of both estimates counts there.

    Examples
    --------
    >>> round(noise([10.0, 10.1, 9.9, 10.0, 30.0]), 2)
    8.64
    """
    middle = median(values)
    sigma = _MAD_TO_SIGMA * median([abs(value - middle) for value in values])
    constants = dict(enumerate(_RANGE_TO_SIGMA, start=2))
    if len(values) in constants:
        sigma = max(sigma, (max(values) - min(values)) / constants[len(values)])
    return sigma


def find_shift(paces: Paces, gate: Gate) -> Finding | None:
    """Find a sustained slower stretch at the end, null when there is none."""
    values = paces.values
    found: list[tuple[float, int]] = []
    for split in _splits(len(values), gate):
        calm, slow = values[:split], values[split:]
        if _is_shift(calm, slow, gate):
            between = split * len(slow) * (fmean(slow) - fmean(calm)) ** 2
            found.append((between, split))
    if not found:
        return None
    split = max(found)[1]
    return Finding(paces.samples[split], median(values[split:]) / median(values[:split]))


def _splits(count: int, gate: Gate) -> list[int]:
    """Return where a series may be cut; longer calm parts ask for longer slow ones."""
    splits = [
        split
        for split in range(gate.calm_points, count - gate.slow_points + 1)
        if count - split >= min(10, split // 3)
    ]
    return splits[:: -(1 + len(splits) // _MAX_SPLITS)]


def _is_shift(calm: Sequence[float], slow: Sequence[float], gate: Gate) -> bool:
    base = median(calm)
    now = median(slow[-_LAST:]) - base
    if now < (gate.ratio - 1.0) * base:
        return False
    # The spread of a few values is itself uncertain, so they must be exceeded by more.
    needed = max((gate.ratio - 1.0) * base, SIGMAS * (1.0 + 1.0 / len(calm)) * noise(calm))
    shift = median(slow) - base
    if shift < needed or now < needed:
        return False
    sharp = median(slow[:_EDGE]) - median(calm[-_EDGE:])
    rare = sorted(calm)[-1 - len(calm) // 10]  # the calm part's own slow steps, such as checkpoints
    if sharp < SHARPNESS_RATIO * shift or median(slow) <= rare:
        return False
    half = base + needed / 2.0
    above = sum(value > half for value in slow)
    below = sum(value < half for value in calm)
    return above >= SUSTAINED_RATIO * len(slow) and below >= SUSTAINED_RATIO * len(calm)


def find_drift(paces: Paces) -> Finding | None:
    """Find steps that grew steadily to one and a half times, null when there is no such growth."""
    values = paces.values
    third = len(values) // 3
    if third < _MIN_THIRD:
        return None
    if len(values) < _FEW and any(later <= earlier for earlier, later in pairwise(values)):
        return None
    first, second, last = values[:third], values[third:-third], values[-third:]
    calm, slow = median(first), median(last)
    if not calm < median(second) < slow or slow < DRIFT_TIMES * calm or min(last) <= max(first):
        return None
    start = len(values) - third
    while start > third and values[start - 1] > (calm + slow) / 2.0:
        start -= 1
    return Finding(paces.samples[start], slow / calm)
