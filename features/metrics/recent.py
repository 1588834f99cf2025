"""The last values of many series, whatever the job does: what its nodes were like of late."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from relume.features.metrics.columns import LastCounts, LastPoints
from relume.features.metrics.points import Series, is_counter, series_of
from relume.features.metrics.tables import UNKNOWN, Chosen, Tables, chosen

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from relume.events import Sample
    from relume.features.metrics.points import Points

MAX_SERIES = 50_000
"""Series of one job that are looked at: three a GPU for 2,000 nodes with 8 GPUs."""
KEPT = 16
"""Values of a series that are kept: four minutes at a scrape of 15 s."""


@dataclass(slots=True)
class RecentMetrics:
    """Bounded memory of one attempt's metrics: `MAX_SERIES` series of `KEPT` values, 15 MB.

    Samples may come late by up to a few scrapes: values are kept in order of time.

    Attributes
    ----------
    metrics
        Which are kept.
    left_out
        Samples of series beyond the bound.

    Examples
    --------
    >>> from relume.events import Sample
    >>> clock = "gpu_sm_clock_hertz"
    >>> recent = RecentMetrics({clock})
    >>> for at in (1, 3, 2):
    ...     recent.take(Sample(source="dcgm", metric=clock, value=at * 1e9, event_time=at))
    >>> list(recent.window(since=1).values())
    [[(2, 2000000000.0), (3, 3000000000.0)]]
    """

    metrics: Collection[str]
    left_out: int = 0
    _points: LastPoints = field(default_factory=lambda: LastPoints(KEPT))
    _counts: LastCounts = field(default_factory=LastCounts)
    _tables: Tables = field(default_factory=Tables)

    def take(self, sample: Sample) -> None:
        """Take a sample. One without a time, without a number or of another metric is ignored."""
        if sample.event_time is not None:
            self._take(series_of(sample), sample.event_time, sample.value)

    def take_many(
        self,
        series: Sequence[Series],
        numbers: NDArray[np.int32],
        times: NDArray[np.int64],
        values: NDArray[np.float64],
    ) -> None:
        """Take samples in order, as `take` does one after the other; numbers are those of series.

        `series` are looked up once: they may become more afterwards, and must not change else.
        """
        table = self._tables.of(series, self._points.places, self.metrics)
        for one in chosen(table, numbers, times, values, self._begin):
            self._take_columns(one)

    def _take_columns(self, given: Chosen) -> None:
        places, times, values, counters = given
        newer = times > self._points.newest[places]
        if counters.any():
            values = values.copy()
            rows = np.flatnonzero(counters)
            values[rows] = self._counts.take(places[rows], times[rows], values[rows])
            is_value = ~np.isnan(values)
            late = np.flatnonzero(is_value & ~newer).tolist()
            newer &= is_value
        else:
            late = np.flatnonzero(~newer).tolist()
        if newer.all():
            self._points.append(places, times, values)
        else:
            self._points.append(places[newer], times[newer], values[newer])
        for row in late:
            self._points.put(int(places[row]), int(times[row]), float(values[row]))

    def _begin(self, series: Series, time: int, given: float) -> tuple[int, bool]:
        """Return the place of a series, `UNKNOWN` where it has none yet, and that nothing is taken.

        It has one from its first finite value on.
        """
        del time
        place = self._points.places.get(series, UNKNOWN)
        if place == UNKNOWN and isfinite(given):
            if len(self._points.places) >= MAX_SERIES:
                self.left_out += 1
            else:
                place = self._points.add(series)
        return place, False

    def _take(self, series: Series, time: int, given: float) -> None:
        """Take a sample."""
        if series.metric not in self.metrics:
            return
        place, _ = self._begin(series, time, given)
        if place == UNKNOWN or not isfinite(given):
            return
        value: float | None = given
        if is_counter(series.metric):
            value = self._counts.take_one(place, time, given)
        if value is not None:
            self._points.put(place, time, value)

    def window(self, since: int, seen_since: int = 0) -> dict[Series, Points]:
        """Return the values after `since`, counters as rates.

        Series that weren't measured after `seen_since` are stale, and left out.
        """
        found: dict[Series, Points] = {}
        for series, points in self._points.every():
            if points and points[-1][0] > max(since, seen_since):
                found[series] = points[bisect_left(points, (since + 1,)) :]
        return found
