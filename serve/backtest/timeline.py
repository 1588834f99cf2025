"""A unit's attempts and the logs of its nodes, merged in the order of time."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import Sample
from relume.ingest.lake.samplebatches import SampleBatch
from relume.serve.backtest.attempt import AttemptTimeline, Extent
from relume.serve.backtest.logs import Timed, node_batches
from relume.serve.backtest.sources import AttemptSource, Unit
from relume.serve.live.recent import RECENT_SECONDS


def unit_landings(unit: Unit, zone: str, extents: dict[str, Extent]) -> Iterator[Timed]:
    """Yield what lands for a unit, in the order of time, to the end of its last attempt.

    Logs are opened when their attempt starts, so that a long run holds few of them. `extents` gets
    an entry for each attempt.
    """
    shared = _shared(unit)

    def landings_of(source: AttemptSource) -> Callable[[], Iterator[Timed]]:
        extent = extents.setdefault(source.entry.attempt, Extent())
        return lambda: iter(AttemptTimeline(source, zone, extent, shared))

    waiting = [(_opening(source, zone, shared), landings_of(source)) for source in unit.attempts]
    begin = min(time for time, _ in waiting) - int(RECENT_SECONDS * MICROSECONDS_PER_SECOND)
    cluster = unit.attempts[0].run.cluster
    background: list[Iterator[Timed]] = [
        node_batches(log, cluster=cluster, zone=zone, begin=begin) for log in unit.node_logs
    ]
    if unit.samples is not None:
        background.append(map(_timed, unit.samples(begin)))
    return _merged(waiting, background)


def _merged(
    waiting: Sequence[tuple[int, Callable[[], Iterator[Timed]]]],
    background: Sequence[Iterator[Timed]],
) -> Iterator[Timed]:
    """Merge streams by time: those that `waiting` opens at theirs, until they all have ended.

    Of equal times the background comes first, then who waits in the order given.
    """
    heap: list[tuple[int, int, Timed, Iterator[Timed]]] = []

    def advance(order: int, stream: Iterator[Timed]) -> bool:
        timed = next(stream, None)
        if timed is not None:
            heapq.heappush(heap, (timed[0], order, timed, stream))
        return timed is not None

    for order, stream in enumerate(background):
        advance(order, stream)
    queue = sorted(enumerate(waiting, len(background)), key=lambda one: (one[1][0], one[0]))
    queue.reverse()
    left = len(queue)
    while left:
        while queue and (not heap or queue[-1][1][0] <= heap[0][0]):
            order, (_, opened) = queue.pop()
            left -= not advance(order, opened())
        if heap:
            _, order, timed, stream = heapq.heappop(heap)
            if isinstance(timed[1], SampleBatch):
                until = _until(order, heap, queue[-1][1][0] if queue else None)
                first, rest = split_at(timed[1], until)
                yield timed[0], first
                if rest is not None:
                    later = _timed(rest)
                    heapq.heappush(heap, (later[0], order, later, stream))
                    continue
            else:
                yield timed
            goes_on = advance(order, stream)
            left -= order >= len(background) and not goes_on


def _timed(samples: Sample | SampleBatch) -> Timed:
    """Return samples, which have a time, with that of the first."""
    if isinstance(samples, SampleBatch):
        return int(samples.event_time[0]), samples
    return samples.event_time or 0, samples


def _until(
    order: int, heap: Sequence[tuple[int, int, Timed, Iterator[Timed]]], opening: int | None
) -> int | None:
    """The last time at which a stream's landings come before all others; null for any."""
    times = [] if opening is None else [opening - 1]
    if heap:
        time, other, *_ = heap[0]
        times.append(time if order < other else time - 1)
    return min(times, default=None)


def split_at(batch: SampleBatch, until: int | None) -> tuple[SampleBatch, SampleBatch | None]:
    """Return the samples up to a time, the first at least, and those after it, null for none.

    They are in the order of their times.
    """
    end = len(batch)
    if until is not None:
        end = max(1, int(np.searchsorted(batch.event_time, until, side="right")))
    if end >= len(batch):
        return batch, None
    return batch.chosen(slice(end)), batch.chosen(slice(end, None))


def _shared(unit: Unit) -> frozenset[str]:
    """Names of the logs that more than one attempt wrote."""
    writers = Counter(log.name for source in unit.attempts for log in source.logs)
    return frozenset(name for name, count in writers.items() if count > 1)


def _opening(source: AttemptSource, zone: str, shared: frozenset[str]) -> int:
    """When an attempt starts: by the scheduler, else by the first clock in its logs."""
    if source.entry.start is not None:
        return source.entry.start
    return AttemptTimeline(source, zone, Extent(), shared).start
