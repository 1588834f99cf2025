"""The metrics of one job's nodes as they come in: what is usual, what came since the last step."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from relume.features.metrics.columns import LastCounts, LastPoints, Means
from relume.features.metrics.counters import Counter
from relume.features.metrics.points import Answer, Series, is_counter, series_of
from relume.features.metrics.stall import METRICS, StallSettings, stalled_signal
from relume.features.metrics.tables import UNKNOWN, Chosen, Tables, chosen
from relume.verdict import Health

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from relume.events import Sample
    from relume.features.metrics.points import Window

MAX_SERIES = 50_000
"""Series of one job that are looked at: three a GPU for 2,000 nodes with 8 GPUs."""
MAX_POINTS = 16
"""Values of a series that are kept: four minutes at a scrape of 15 s."""


@dataclass(slots=True)
class JobMetrics:
    """Bounded memory of one attempt's metrics: `MAX_SERIES` series of `MAX_POINTS` values.

    Samples of nodes that aren't the job's must not come in. They may come late by up to a few
    scrapes: values are kept in order of time.

    Attributes
    ----------
    settings
        When a value means standing still.
    metrics
        Which metrics are kept; those that `stalled_signal` looks at, unless told otherwise.
    first_progress, last_progress
        UTC microseconds; null before the first. What was measured up to the first is no work yet.
    left_out
        Samples of series beyond the bound.

    Examples
    --------
    >>> from relume.events import Sample
    >>> second, job = 1_000_000, JobMetrics()
    >>> job.progressed(5 * second)
    >>> for at, watts in ((10, 600.0), (20, 610.0), (40, 100.0), (50, 99.0)):
    ...     power = Sample(
    ...         source="dcgm",
    ...         metric="gpu_power_watts",
    ...         value=watts,
    ...         node="n1",
    ...         gpu="0",
    ...         event_time=at * second,
    ...     )
    ...     job.take(power)
    ...     if at == 20:
    ...         job.progressed(30 * second)
    >>> job.stalled(60 * second).health.value
    'unhealthy'
    """

    settings: StallSettings = field(default_factory=StallSettings)
    metrics: Collection[str] = METRICS
    first_progress: int | None = None
    last_progress: int | None = None
    left_out: int = 0
    _points: LastPoints = field(default_factory=lambda: LastPoints(MAX_POINTS))
    _usual: Means = field(default_factory=Means)
    _first: Counter[Series] = field(default_factory=Counter)
    _counts: LastCounts = field(default_factory=LastCounts)
    _tables: Tables = field(default_factory=Tables)

    def take(self, sample: Sample) -> None:
        """Take a sample. One without a time, without a number or of another metric is ignored."""
        if sample.event_time is not None and sample.metric in self.metrics:
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
        if counters.any():
            values, rows = values.copy(), np.flatnonzero(counters)
            values[rows] = self._counts.take(places[rows], times[rows], values[rows])
            is_value = ~np.isnan(values)
            places, times, values = places[is_value], times[is_value], values[is_value]
        self._settle(places)
        newer = times > self._points.newest[places]
        if newer.all():
            self._points.append(places, times, values)
            return
        self._points.append(places[newer], times[newer], values[newer])
        for row in np.flatnonzero(~newer).tolist():
            self._points.put(int(places[row]), int(times[row]), float(values[row]))

    def _begin(self, series: Series, time: int, given: float) -> tuple[int, bool]:
        """Return the place of a series, `UNKNOWN` where it has none yet, and whether it was taken.

        It has one from its first value on, a counter from its first rate on.
        """
        place = self._points.places.get(series, UNKNOWN)
        if place != UNKNOWN or not isfinite(given):
            return place, False
        is_taken = is_counter(series.metric)
        rate = self._first.take(series, time, given) if is_taken else None
        if is_taken and rate is None:
            return UNKNOWN, True
        last = self._first.last.pop(series, None)
        if len(self._points.places) >= MAX_SERIES:
            self.left_out += 1
            return UNKNOWN, True
        place = self._points.add(series)
        if rate is not None and last is not None:
            self._counts.put(place, *last)
            self._points.put(place, time, rate)
        return place, is_taken

    def _take(self, series: Series, time: int, given: float) -> None:
        """Take a sample."""
        place, is_taken = self._begin(series, time, given)
        if place == UNKNOWN or is_taken or not isfinite(given):
            return
        value: float | None = given
        if is_counter(series.metric):
            value = self._counts.take_one(place, time, given)
        if value is not None:
            self._settle(np.array([place]))
            self._points.put(place, time, value)

    def progressed(self, event_time: int) -> None:
        """Take that the job advanced by then: what was measured up to it is usual. Costs nothing.

        A job may make many steps between two values: they are put away when they are looked at.
        """
        if self.last_progress is not None and event_time <= self.last_progress:
            return
        if self.first_progress is None:
            self.first_progress = event_time
        self.last_progress = event_time

    def window(self) -> Window:
        """Return what came since the last progress, counters as rates."""
        self._settle()
        return {series: tuple(points) for series, points in self._points.every()}

    def nodes_since(self, time: int, *, of_gpus: bool) -> set[str | None]:
        """Return the nodes of which a value since the last progress is later than a time.

        Of those with a GPU only, if asked.
        """
        self._settle()
        places = self._points.places
        later = self._points.newest[: len(places)] > time
        return {
            series.node
            for series, is_later in zip(places, later.tolist(), strict=True)
            if is_later and (series.gpu is not None or not of_gpus)
        }

    def usual(self) -> dict[Series, float]:
        """Return what is usual, of series that were seen while the job advanced."""
        self._settle()
        means = self._usual.of(len(self._points.places))
        return {
            series: mean
            for series, (mean, count) in zip(self._points.places, means, strict=True)
            if count
        }

    def stalled(self, event_time: int, since: int | None = None) -> Answer:
        """Say whether the job stands still, as `stalled_signal` does; unknown before progress.

        Where nobody looked for a while, `since` is later than the last progress.
        """
        if self.last_progress is None:
            return Answer(Health.UNKNOWN, "no step yet: nobody knows what is usual", {})
        return stalled_signal(
            self.window(),
            self.usual(),
            since=max(self.last_progress, since or 0),
            now=event_time,
            settings=self.settings,
        )

    def _settle(self, places: NDArray[np.int64] | None = None) -> None:
        """Make values up to the last progress part of what is usual; of all series by default."""
        until, first = self.last_progress, self.first_progress
        if until is None or first is None:
            return
        if places is None:
            places = np.arange(len(self._points.places))
        for dropped, times, values in self._points.drop(places, until):
            is_work = times > first
            self._usual.add(dropped[is_work], values[is_work])
