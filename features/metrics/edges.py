"""Events out of values that stay: codes that are latched, and counters of faults.

DCGM's Xid gauge keeps the last code until the exporter starts anew, so its value tells nothing of
when; only a change does. The same code twice in a row can't be seen in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from relume.features.metrics.points import Series

MAX_SERIES = 2_000_000
"""Series whose last value is kept, about 300 MB; those that were seen longest ago go first."""
XID = "gpu_xid_code"
LINK_COUNTERS = frozenset(
    {
        "nic_link_downs_count_total",
        "nic_link_recoveries_count_total",
        "nic_receive_errors_count_total",
        "nic_symbol_errors_count_total",
        "net_carrier_changes_count_total",
        "net_receive_errors_count_total",
        "net_transmit_errors_count_total",
        "gpu_nvlink_crc_errors_count_total",
        "gpu_nvlink_replays_count_total",
        "gpu_nvlink_recoveries_count_total",
    }
)
"""Counters of what goes wrong on a link. Packets that are discarded count nothing: congestion."""
FAULT_COUNTERS = LINK_COUNTERS | {
    "gpu_ecc_uncorrectable_count_total",
    "gpu_remapped_rows_uncorrectable_count_total",
    "node_memory_uncorrectable_count_total",
}
"""Counters that stand still on a healthy node, or nearly so."""


class Change(NamedTuple):
    """A value that wasn't there before.

    Attributes
    ----------
    series
        Whose.
    after, at
        It came after the first of these and by the second: the last sample with the value before,
        and the first with the new one. UTC microseconds.
    before, value
        The two values.
    """

    series: Series
    after: int
    at: int
    before: float
    value: float


@dataclass(slots=True)
class _Last:
    """The last value of each series, bounded."""

    max_series: int = MAX_SERIES
    _last: dict[Series, tuple[int, float]] = field(default_factory=dict)

    def _step(self, series: Series, time: int, value: float) -> tuple[int, float] | None:
        """Take a value; return time and value before it. Null: first, late, or no number."""
        before = self._last.get(series)
        if not isfinite(value) or (before is not None and time <= before[0]):
            return None
        self._last.pop(series, None)  # to the end: the first one is that seen longest ago
        self._last[series] = (time, value)
        if len(self._last) > self.max_series:
            del self._last[next(iter(self._last))]
        return before

    def save(self) -> Mapping[Series, tuple[int, float]]:
        """Return what is kept, for `restore`."""
        return dict(self._last)

    def restore(self, state: Mapping[Series, tuple[int, float]]) -> None:
        """Take up what `save` returned."""
        self._last = dict(state)


@dataclass(slots=True)
class Latched(_Last):
    """Finds events in gauges that keep the last code, zero where there was none.

    The first value of a series is no event, since it may be as old as the driver, nor is a fall
    back to zero: the exporter was started anew. A gap changes nothing: what is another code after
    it came within it. NaN is no value.

    Examples
    --------
    >>> from relume.features.metrics.points import Series
    >>> xid, latched = Series(XID, "n1", "3"), Latched()
    >>> codes = [(0, 31), (15, 31), (30, 79), (45, 79), (60, 0), (75, 48)]
    >>> changes = [latched.take(xid, at, code) for at, code in codes]
    >>> [(change.after, change.at, change.value) for change in changes if change]
    [(15, 30, 79), (60, 75, 48)]
    """

    def take(self, series: Series, time: int, value: float) -> Change | None:
        """Take a value (UTC microseconds, code); return the event, null for none."""
        before = self._step(series, time, value)
        if before is None or value in (before[1], 0):
            return None
        return Change(series, before[0], time, before[1], value)


@dataclass(slots=True)
class Rises(_Last):
    """Finds events in counters of faults: a counter that rose.

    One that fell was started anew, and nobody knows what it counted before: what it has counted
    since comes of starting, often enough (a link that comes up), so that is no event.

    Examples
    --------
    >>> from relume.features.metrics.points import Series
    >>> downs, rises = Series("nic_link_downs_count_total", "n1", None, "mlx5_0/1"), Rises()
    >>> changes = [
    ...     rises.take(downs, at, n) for at, n in [(0, 4), (15, 4), (30, 6), (45, 1), (60, 2)]
    ... ]
    >>> [(change.at, change.value - change.before) for change in changes if change]
    [(30, 2), (60, 1)]
    """

    def take(self, series: Series, time: int, value: float) -> Change | None:
        """Take a value (UTC microseconds, count); return the event, null for none."""
        before = self._step(series, time, value)
        if before is None or value <= before[1]:
            return None
        return Change(series, before[0], time, before[1], value)
