"""The last points of many series in columns: many of them come at once, one or two of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from relume.features.metrics.counters import MAX_GAP_SECONDS, MICROSECONDS, increase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from relume.features.metrics.points import Series

NEVER: Final = np.iinfo(np.int64).min
"""Stands for the time of what has not come yet."""
MEMORY = 0.02
"""Weight of a new value in what is usual, once there are many."""
_LEAST = 64
_NARROW = 4


class LastPoints:
    """Series by their places, and up to `kept` points of each, in the order of their times.

    Attributes
    ----------
    places
        By series, in the order in which they came.
    newest
        The time of the last point by place, `NEVER` for none.

    Examples
    --------
    >>> from relume.features.metrics.points import Series
    >>> points = LastPoints(2)
    >>> watts = points.add(Series("gpu_power_watts", "n1", "0"))
    >>> for time, value in ((1, 400.0), (3, 500.0), (2, 450.0)):
    ...     points.put(watts, time, value)
    >>> points.of(watts)
    [(2, 450.0), (3, 500.0)]
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self.places: dict[Series, int] = {}
        # As wide as is needed: most series of a job that makes steps hold two or three points.
        self._times = np.zeros((_LEAST, min(kept, _NARROW)), np.int64)
        self._values = np.zeros_like(self._times, np.float64)
        self._first = np.zeros(_LEAST, np.int8)
        self._size = np.zeros(_LEAST, np.int8)
        self.newest = np.full(_LEAST, NEVER, np.int64)

    def add(self, series: Series) -> int:
        """Return the place of a new series."""
        place = self.places[series] = len(self.places)
        if place == len(self._size):
            self._times, self._values, self._first, self._size, self.newest = (
                np.concatenate([one, np.zeros_like(one)])
                for one in (self._times, self._values, self._first, self._size, self.newest)
            )
        self.newest[place] = NEVER
        return place

    def append(
        self, places: NDArray[np.int64], times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> None:
        """Add a point to each of several places, later than all others of it."""
        size = self._size[places]
        if self._width < self._kept and size.max(initial=0) == self._width:
            self._widen()
        width, first = self._width, self._first[places]
        column = (first + size) % width
        self._times[places, column] = times
        self._values[places, column] = values
        is_full = size == width
        self._first[places] = (first + is_full) % width
        self._size[places] = size + ~is_full
        self.newest[places] = times

    def put(self, place: int, time: int, value: float) -> None:
        """Put a point where it belongs; the oldest one goes, a second one of a time is ignored."""
        size = int(self._size[place])
        if not size or time > self.newest[place]:  # as nearly always
            self._put_last(place, size, time, value)
            return
        points = self.of(place)
        at = len(points)
        while at and points[at - 1][0] >= time:
            at -= 1
        if at < len(points) and points[at][0] == time:
            return
        points.insert(at, (time, value))
        self._write(place, points[-self._kept :])

    def of(self, place: int) -> list[tuple[int, float]]:
        """Return the points of a place."""
        columns = (self._first[place] + np.arange(self._size[place])) % self._width
        times, values = self._times[place, columns], self._values[place, columns]
        return list(zip(times.tolist(), values.tolist(), strict=True))

    def every(self) -> Iterator[tuple[Series, list[tuple[int, float]]]]:
        """Yield all series with their points."""
        count = len(self.places)
        columns = (self._first[:count, None] + np.arange(self._width)) % self._width
        times = np.take_along_axis(self._times[:count], columns, 1).tolist()
        values = np.take_along_axis(self._values[:count], columns, 1).tolist()
        sizes = self._size[:count].tolist()
        for series, size, at, of in zip(self.places, sizes, times, values, strict=True):
            yield series, list(zip(at[:size], of[:size], strict=True))

    def drop(
        self, places: NDArray[np.int64], until: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
        """Take away points up to a time, oldest first, one of each place at a time; yield them."""
        while True:
            oldest = self._times[places, self._first[places]]
            places = places[(self._size[places] > 0) & (oldest <= until)]
            if not len(places):
                return
            columns = self._first[places]
            yield places, self._times[places, columns], self._values[places, columns]
            self._first[places] = (columns + 1) % self._width
            self._size[places] -= 1
            self.newest[places[self._size[places] == 0]] = NEVER

    @property
    def _width(self) -> int:
        return self._times.shape[1]

    def _widen(self) -> None:
        """Make room for twice as many points of each series, the oldest one first."""
        columns = (self._first[:, None] + np.arange(self._width)) % self._width
        more = ((0, 0), (0, min(self._width, self._kept - self._width)))
        self._times = np.pad(np.take_along_axis(self._times, columns, 1), more)
        self._values = np.pad(np.take_along_axis(self._values, columns, 1), more)
        self._first[:] = 0

    def _put_last(self, place: int, size: int, time: int, value: float) -> None:
        if size == self._width < self._kept:
            self._widen()
        first, width = int(self._first[place]), self._width
        column = (first + size) % width
        self._times[place, column], self._values[place, column] = time, value
        self.newest[place] = time
        if size < width:
            self._size[place] = size + 1
        else:
            self._first[place] = (first + 1) % width

    def _write(self, place: int, points: Sequence[tuple[int, float]]) -> None:
        size = len(points)
        while size > self._width:
            self._widen()
        self._first[place], self._size[place] = 0, size
        self._times[place, :size] = [time for time, _ in points]
        self._values[place, :size] = [value for _, value in points]
        self.newest[place] = points[-1][0]


class LastCounts:
    """What counters last said, by place, and the rates since then: `Counter.take` in columns."""

    def __init__(self) -> None:
        self._times = np.full(_LEAST, NEVER, np.int64)
        self._values = np.zeros(_LEAST, np.float64)

    def put(self, place: int, time: int, value: float) -> None:
        """Take what a counter said last."""
        self._reserve(place)
        self._times[place], self._values[place] = time, value

    def take_one(self, place: int, time: int, value: float) -> float | None:
        """Take a finite value; return its rate, null where there is none."""
        self._reserve(place)
        before, of = int(self._times[place]), float(self._values[place])
        if time <= before:
            return None
        self._times[place], self._values[place] = time, value
        if before == NEVER or time - before > MAX_GAP_SECONDS * MICROSECONDS:
            return None
        return increase(of, value) * MICROSECONDS / (time - before)

    def take(
        self, places: NDArray[np.int64], times: NDArray[np.int64], values: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Take finite values, one of a place; return their rates, NaN where there is none."""
        self._reserve(int(places.max(initial=0)))
        before, of = self._times[places], self._values[places]
        is_later, has_before = times > before, before != NEVER
        later = places[is_later]
        self._times[later], self._values[later] = times[is_later], values[is_later]
        passed = np.where(has_before & is_later, times - np.where(has_before, before, 0), 0)
        is_rate = (passed > 0) & (passed <= MAX_GAP_SECONDS * MICROSECONDS)
        with np.errstate(over="ignore"):  # infinite then
            risen = np.where(values >= of, values - of, np.maximum(values, 0.0))
            rates = risen * MICROSECONDS / np.where(is_rate, passed, 1)
        return np.where(is_rate, rates, np.nan)

    def _reserve(self, place: int) -> None:
        short = place + 1 - len(self._times)
        if short > 0:
            room = max(short, len(self._times))
            self._times = np.concatenate([self._times, np.full(room, NEVER, np.int64)])
            self._values = np.concatenate([self._values, np.zeros(room)])


class Means:
    """What is usual, by place: the mean of all values, of the newer ones once there are many."""

    def __init__(self) -> None:
        self._means = np.zeros(_LEAST)
        self._counts = np.zeros(_LEAST, np.int64)

    def add(self, places: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """Take values, one of a place at most."""
        self._reserve(int(places.max(initial=-1)) + 1)
        counts, means = self._counts[places] + 1, self._means[places]
        self._counts[places] = counts
        with np.errstate(over="ignore", invalid="ignore"):  # a rate may be infinite
            self._means[places] = means + np.maximum(1 / counts, MEMORY) * (values - means)

    def of(self, places: int) -> list[tuple[float, int]]:
        """Return the mean of each of so many places, and of how many values it is."""
        self._reserve(places)
        counts = self._counts[:places].tolist()
        return list(zip(self._means[:places].tolist(), counts, strict=True))

    def _reserve(self, places: int) -> None:
        short = places - len(self._means)
        if short > 0:
            room = max(short, len(self._means))
            self._means = np.concatenate([self._means, np.zeros(room)])
            self._counts = np.concatenate([self._counts, np.zeros(room, np.int64)])
