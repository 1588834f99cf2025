"""What is kept of one series: 64 bytes, however long it is. Eight of them are its last time.

The last times stand in a column of their own: who looks which series fell silent reads those alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from relume.models.baselines.ranges import require_within

if TYPE_CHECKING:
    from numpy.typing import NDArray

NEVER = np.iinfo(np.int64).min
"""Last time of a series that has no sample yet."""
BLOCK = 5
"""Samples whose median is one reading of the change detectors: two wild ones don't move it."""


SERIES = np.dtype(
    [
        ("count", np.uint32),
        ("blocks", np.uint16),
        ("fill", np.uint8),
        ("worse", np.int8),
        ("held", np.float32, (BLOCK - 1,)),
        ("mean", np.float32),
        ("variance", np.float32),
        ("quantile", np.float32),
        ("spread", np.float32),
        ("base", np.float32),
        ("scale", np.float32),
        ("cusum", np.float32),
        ("page", np.float32),
    ]
)
"""One series but for the time of its newest sample.

``count``: samples taken. ``blocks``:
medians taken, up to those of the calibration. ``fill``, ``held``: the samples of the block that
isn't full. ``worse``: 1 where more is worse (seconds a step), -1 where less is (samples a second).
``mean``, ``variance``: exponentially weighted. ``quantile``, ``spread``: running quantile and
median absolute deviation. ``base``, ``scale``: mean of the calibration's medians and their spread,
frozen after it. ``cusum``, ``page``: statistics of the two change detectors, 0 after an alarm.
"""

Series: TypeAlias = "NDArray[np.void]"
Ids: TypeAlias = "NDArray[np.int64]"
Times: TypeAlias = "NDArray[np.int64]"
Values: TypeAlias = "NDArray[np.float64]"


class Kept(NamedTuple):
    """All series, as a kernel takes them: their records, and their last times."""

    series: Series
    seen: Times


class Record(Protocol):
    """One element of `Series`, as a kernel sees it."""

    count: int
    blocks: int
    fill: int
    worse: int
    held: NDArray[np.float32]
    mean: float
    variance: float
    quantile: float
    spread: float
    base: float
    scale: float
    cusum: float
    page: float


class Numbers(NamedTuple):
    """`BaselineSettings` as a kernel takes them."""

    memory: float
    quantile: float
    calibration_blocks: float
    effect: float
    slack: float
    reading_cap: float
    threshold: float
    noise_floor: float
    calibrate_again: float


@dataclass(frozen=True, slots=True)
class BaselineSettings:
    """How fast baselines follow, and what is a change.

    Attributes
    ----------
    memory
        Weight of a new sample in mean, variance and quantile (0-1), once there are many.
    quantile
        Which one is followed (0-1).
    calibration_blocks
        Medians of five that calibrate a series; then its base is frozen.
    effect
        Effect gate: a change below this share of the base is none, however sure it is.
    slack
        What a reading may exceed the gate by without counting, in spreads of the calibration.
    reading_cap
        The most that one reading counts: one block alone is an alarm only if this reaches the
        threshold.
    threshold
        Sum of readings that is an alarm.
    noise_floor
        Least spread that is believed, as a share of the base: a constant series has none.
    calibrate_again
        Whether an alarm begins a new calibration: then a level that stays is told once. Not for
        times of steps, whose calibration says what they should be.

    Raises
    ------
    InputError
        For a value out of its range.
    """

    memory: float = 0.01
    quantile: float = 0.5
    calibration_blocks: int = 20
    effect: float = 0.05
    slack: float = 0.5
    reading_cap: float = 8.0
    threshold: float = 8.0
    noise_floor: float = 0.002
    calibrate_again: bool = False

    def __post_init__(self) -> None:
        ranges = {
            "memory": (0, 1),
            "quantile": (0, 1),
            "calibration_blocks": (1, 60_000),
            "effect": (0, 10),
            "slack": (0, 100),
            "reading_cap": (0, 1e6),
            "threshold": (0, 1e9),
            "noise_floor": (0, 1),
        }
        told = {name: range_ for name, range_ in ranges.items() if getattr(self, name) != 0}
        require_within(self, "baselines", told)

    def numbers(self) -> Numbers:
        """The settings as a kernel takes them."""
        return Numbers(*(float(getattr(self, name)) for name in Numbers._fields))


SERIES_BYTES = SERIES.itemsize + np.dtype(np.int64).itemsize
"""What one series takes, with its last time."""


def new_series(count: int, *, worse: int = 1) -> Series:
    """Return `count` series without samples.

    Examples
    --------
    >>> series = new_series(3)
    >>> series.itemsize, int(series["count"].sum())
    (56, 0)
    """
    series = np.zeros(count, dtype=SERIES)
    series["worse"] = worse
    return series


def grown(series: Series, count: int) -> Series:
    """Return the series with room for `count`, those that are new without samples."""
    if count <= len(series):
        return series
    return np.concatenate([series, new_series(count - len(series))])


def seen_grown(seen: Times, count: int) -> Times:
    """Return the last times with room for `count`, those that are new `NEVER`.

    >>> seen_grown(np.array([7]), 2).tolist() == [7, NEVER]
    True
    """
    more = np.full(max(0, count - len(seen)), NEVER, np.int64)
    return np.concatenate([seen, more]) if len(more) else seen


def record_of(series: Series, number: int) -> dict[str, Any]:
    """Return one series as plain values, for people."""
    names = SERIES.names or ()
    return {name: series[number][name].tolist() for name in names}
