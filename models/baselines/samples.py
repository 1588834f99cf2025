"""What goes into baselines, and what comes out: columns side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from relume.models.baselines.series import Ids, Times, Values


class Samples(NamedTuple):
    """Samples of many series. Times are UTC microseconds."""

    ids: Ids
    times: Times
    values: Values

    def chosen(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Samples:
        """Return those that a mask or an order of places picks."""
        return Samples(self.ids[places], self.times[places], self.values[places])

    @classmethod
    def none(cls) -> Samples:
        """No samples."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))

    @classmethod
    def joined(cls, first: Samples, second: Samples) -> Samples:
        """Those of both, one after the other."""
        if not len(first.ids) or not len(second.ids):
            return first if len(first.ids) else second
        return cls(
            np.concatenate([first.ids, second.ids]),
            np.concatenate([first.times, second.times]),
            np.concatenate([first.values, second.values]),
        )


class Alarms(NamedTuple):
    """Changes that were found.

    `ids` and `times` are those of the samples that showed them. `kinds` are bits: `kernels.CUSUM`
    (against the frozen calibration), `kernels.PAGE_HINKLEY` (against the running mean).
    `statistics` are in spreads of the calibration.
    """

    ids: Ids
    times: Times
    kinds: NDArray[np.uint8]
    statistics: NDArray[np.float32]

    @classmethod
    def room(cls, count: int) -> Alarms:
        """Columns for so many, with nothing in them yet."""
        return cls(
            np.empty(count, np.int64),
            np.empty(count, np.int64),
            np.empty(count, np.uint8),
            np.empty(count, np.float32),
        )

    def by_time(self, count: int) -> Alarms:
        """Return the first `count` in the order of their times, then of their series."""
        places: slice | NDArray[np.int64] = slice(count)
        if count > 1:  # most often there is none
            places = np.lexsort((self.ids[:count], self.times[:count]))
        ids, times, kinds, statistics = self
        return Alarms(
            ids[places].copy(),
            times[places].copy(),
            kinds[places].copy(),
            statistics[places].copy(),
        )
