"""The metrics of one job's nodes as they come in: what is usual, what came since the last step."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

from relume.features.metrics.counters import Counter
from relume.features.metrics.points import COUNTER, Answer, Series, is_counter, series_of
from relume.features.metrics.stall import METRICS, StallSettings, stalled_signal
from relume.verdict import Health

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from relume.events import Sample
    from relume.features.metrics.points import Window

MAX_SERIES = 50_000
"""Series of one job that are looked at: three a GPU for 2,000 nodes with 8 GPUs."""
MAX_POINTS = 16
"""Values of a series that are kept: four minutes at a scrape of 15 s."""
_MEMORY = 0.02
"""Weight of a new value in what is usual, once there are many."""


@dataclass(slots=True)
class _Held:
    """One series: values since the last progress, and the mean of those before it."""

    recent: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=MAX_POINTS))
    usual: float = 0.0
    count: int = 0

    def settle(self, first: int | None, until: int | None) -> None:
        """Make values up to `until` part of what is usual, but for those up to `first`."""
        while until is not None and self.recent and self.recent[0][0] <= until:
            time, value = self.recent.popleft()
            if first is None or time > first:
                self.count += 1
                self.usual += max(1 / self.count, _MEMORY) * (value - self.usual)


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
    _held: dict[Series, _Held] = field(default_factory=dict)
    _counters: Counter[Series] = field(default_factory=Counter)

    def take(self, sample: Sample) -> None:
        """Take a sample. One without a time, without a number or of another metric is ignored."""
        if sample.event_time is not None and sample.metric in self.metrics:
            self._take(series_of(sample), sample.event_time, sample.value)

    def take_many(
        self, series: Sequence[Series], times: Sequence[int], values: Sequence[float]
    ) -> None:
        """Take samples in order, each of a series of `metrics`, as `take` does one by one."""
        held_of, until = self._held, self.last_progress
        for one, time, given in zip(series, times, values, strict=True):
            held = held_of.get(one)
            if held is None or one.metric.endswith(COUNTER) or not isfinite(given):
                self._take(one, time, given)
                continue
            recent = held.recent
            if until is not None and recent and recent[0][0] <= until:
                held.settle(self.first_progress, until)
            if recent and time <= recent[-1][0]:
                _insert(recent, (time, given))
            else:  # as nearly always
                recent.append((time, given))

    def _take(self, series: Series, time: int, given: float) -> None:
        value: float | None = given if isfinite(given) else None
        if value is not None and is_counter(series.metric):
            value = self._counters.take(series, time, value)
        if value is None:
            return
        held = self._held.get(series)
        if held is None:
            if len(self._held) >= MAX_SERIES:
                self.left_out += 1
                self._counters.last.pop(series, None)
                return
            held = self._held[series] = _Held()
        held.settle(self.first_progress, self.last_progress)
        _insert(held.recent, (time, value))

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
        return {series: tuple(held.recent) for series, held in self._held.items()}

    def usual(self) -> dict[Series, float]:
        """Return what is usual, of series that were seen while the job advanced."""
        self._settle()
        return {series: held.usual for series, held in self._held.items() if held.count}

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

    def _settle(self) -> None:
        for held in self._held.values():
            held.settle(self.first_progress, self.last_progress)


def _insert(recent: deque[tuple[int, float]], point: tuple[int, float]) -> None:
    """Put a point in its place; it nearly always is the last one."""
    later = []
    while recent and recent[-1][0] > point[0]:
        later.append(recent.pop())
    if not recent or recent[-1][0] < point[0]:
        recent.append(point)
    recent.extend(reversed(later))
