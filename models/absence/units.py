"""What is watched: GPUs, exporters, nodes, and everything; when each was measured, how often."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

GPU_EXPORTER, NODE_EXPORTER = "gpu exporter", "node exporter"
SCRAPES = "scrape_"
"""How names begin that Prometheus makes by itself: they go on when a target is dead."""
_GPU = "gpu_"
_SECOND = 1_000_000
_STEP = 0.1


class Unit(NamedTuple):
    """One thing that is watched; nulls stand for all there are."""

    node: str | None = None
    exporter: str | None = None
    gpu: str | None = None


EVERYTHING = Unit()


def units_of(metric: str, node: str | None, gpu: str | None) -> tuple[Unit, ...]:
    """Return what a value shows to be there, from everything down.

    >>> units_of("gpu_power_watts", "n1", "3")[1:]
    (Unit(node='n1', exporter=None, gpu=None), Unit(node='n1', exporter='gpu exporter', gpu=None), \
Unit(node='n1', exporter='gpu exporter', gpu='3'))
    >>> units_of("scrape_up_flag", "n1", None)
    (Unit(node=None, exporter=None, gpu=None),)
    """
    if node is None or metric.startswith(SCRAPES):
        return (EVERYTHING,)
    exporter = GPU_EXPORTER if metric.startswith(_GPU) else NODE_EXPORTER
    found = (EVERYTHING, Unit(node), Unit(node, exporter))
    return (*found, Unit(node, exporter, gpu)) if gpu is not None else found


class Seen(msgspec.Struct, array_like=True):
    """When a unit was measured.

    Attributes
    ----------
    first, last
        UTC microseconds.
    count
        How many different times.
    gap
        Seconds between two of them: a running median, so that an outage doesn't move it much.
    resumed
        When it was measured again after it had been gone; 0 if it never was.
    """

    first: int
    last: int
    count: int = 1
    gap: float = 0.0
    resumed: int = 0

    def take(self, time: int) -> None:
        """Take a time that isn't earlier than the last one."""
        if time <= self.last:
            return
        seconds = (time - self.last) / _SECOND
        self.last = time
        self.count += 1
        if self.gap == 0:
            self.gap = seconds
        else:
            step = _STEP * self.gap
            self.gap += max(-step, min(step, seconds - self.gap))
