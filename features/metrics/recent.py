"""The last values of many series, whatever the job does: what its nodes were like of late."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

from relume.features.metrics.counters import Counter
from relume.features.metrics.points import COUNTER, Series, is_counter, series_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from relume.events import Sample
    from relume.features.metrics.points import Points

MAX_SERIES = 50_000
"""Series of one job that are looked at: three a GPU for 2,000 nodes with 8 GPUs."""
KEPT = 16
"""Values of a series that are kept: four minutes at a scrape of 15 s."""


@dataclass(slots=True)
class _Held:
    times: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))


@dataclass(slots=True)
class RecentMetrics:
    """Bounded memory of one attempt's metrics: `MAX_SERIES` series of `KEPT` values, 30 MB.

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
    _held: dict[Series, _Held] = field(default_factory=dict)
    _counters: Counter[Series] = field(default_factory=Counter)

    def take(self, sample: Sample) -> None:
        """Take a sample. One without a time, without a number or of another metric is ignored."""
        if sample.event_time is not None:
            self._take(series_of(sample), sample.event_time, sample.value)

    def take_many(
        self, series: Sequence[Series], times: Sequence[int], values: Sequence[float]
    ) -> None:
        """Take samples in order, each of a series, as `take` does one after the other."""
        held_of, wanted = self._held, self.metrics
        for one, time, given in zip(series, times, values, strict=True):
            held = held_of.get(one)
            if (
                held is None
                or not held.times
                or time <= held.times[-1]
                or one.metric.endswith(COUNTER)
            ):
                if one.metric in wanted:
                    self._take(one, time, given)
            elif isfinite(given):  # as nearly always: a newer value of a series that is known
                held.times.append(time)
                held.values.append(given)
                if len(held.times) > KEPT:
                    del held.times[0], held.values[0]

    def _take(self, series: Series, time: int, given: float) -> None:
        if series.metric not in self.metrics or not isfinite(given):
            return
        held = self._held.get(series)
        if held is None:
            if len(self._held) >= MAX_SERIES:
                self.left_out += 1
                return
            held = self._held[series] = _Held()
        value: float | None = given
        if is_counter(series.metric):
            value = self._counters.take(series, time, given)
        place = bisect_left(held.times, time)
        if value is None or held.times[place : place + 1] == array("q", [time]):
            return
        held.times.insert(place, time)
        held.values.insert(place, value)
        if len(held.times) > KEPT:
            del held.times[0], held.values[0]

    def window(self, since: int, seen_since: int = 0) -> dict[Series, Points]:
        """Return the values after `since`, counters as rates.

        Series that weren't measured after `seen_since` are stale, and left out.
        """
        found: dict[Series, Points] = {}
        for series, held in self._held.items():
            first = bisect_left(held.times, since + 1)
            if first < len(held.times) and held.times[-1] > seen_since:
                found[series] = list(zip(held.times[first:], held.values[first:], strict=True))
        return found
