"""Recorded attempts as the landings of a live run, in the order of their own clocks.

What a service would have seen each second: the scheduler says that an attempt runs, lines come in
the second of their clock, the scheduler says how it ended, its logs are read up. A log without any
clock has an order, but no time: it comes as a whole at the attempt's end, and no silence is judged.
So does what stands at the end of a log, too far behind its last clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import SchedulerEvent, SourceStatus
from relume.identity import AttemptId
from relume.ingest.datasets.scheduler import RUNNING, end_state, scheduler_event
from relume.serve.backtest.logs import SOURCE, RecordedLog, Timed, node_batches
from relume.serve.backtest.sources import AttemptSource, Unit
from relume.serve.live.judge import LOG_ENDED, log_source
from relume.serve.live.recent import RECENT_SECONDS
from relume.verdict import Health

NO_CLOCK = "no line of it has a clock: nobody can tell when it was silent"
FEW_CLOCKS = "many lines without a clock: nobody can tell when they came"
LOST_END = "its end is damaged and can't be read"
RECORDING_ENDS = "the recording ends, and the attempt goes on"
NO_LOG = "it left no log that can be read"


@dataclass(slots=True)
class Extent:
    """When an attempt ran, as far as its replay has come. UTC microseconds.

    `is_timed` is whether a clock or the scheduler says so. Else both times are those of its first
    submission, and stand for nothing.
    """

    start: int = 0
    end: int = 0
    is_timed: bool = False


def attempt_landings(source: AttemptSource, zone: str, extent: Extent) -> Iterator[Timed]:
    """Yield what lands for one attempt, in the order of time; keeps `extent` true."""
    entry = source.entry
    key = AttemptId.parse(entry.attempt).job_key
    near = entry.end if entry.start is None else entry.start
    opened = [
        RecordedLog(log, cluster=key.cluster, attempt=entry.attempt, zone=zone, near=near)
        for log in source.logs
    ]
    timed = [log for log in opened if log.first is not None]
    silent = [log for log in opened if log.first is None]
    first = min((log.first for log in timed if log.first is not None), default=None)
    extent.is_timed = any(one is not None for one in (first, entry.start, entry.end))
    # Where the scheduler tells only one of both times, an attempt without clocks is a moment.
    known = (one for one in (entry.start, first, entry.end) if one is not None)
    extent.start = extent.end = last = next(known, key.first_submit_time)
    yield extent.start, _event(source, RUNNING, extent.start)
    for log in silent:
        yield extent.start, _status(source, Health.UNKNOWN, NO_CLOCK, extent.start, log.log.name)
    ended = False
    streams = (_landings(source, log) for log in timed)
    for time, landing in heapq.merge(*streams, key=itemgetter(0)):
        at = max(time, extent.start)
        if entry.end is not None and at > entry.end and not ended:
            ended, extent.end = True, entry.end
            yield from _end(source, opened, extent.end)
        if not ended:
            extent.end = at
        last = max(last, at)
        yield at, landing
    if not ended:
        extent.end = max(extent.start, extent.end if entry.end is None else entry.end)
        yield from _end(source, opened, extent.end)
    if entry.state != RUNNING:
        yield from _read_up(source, max(last, extent.end))


def unit_landings(unit: Unit, zone: str, extents: dict[str, Extent]) -> Iterator[Timed]:
    """Yield what lands for a unit, in the order of time, to the end of its last attempt.

    Logs are opened when their attempt starts, so that a long run holds few of them. `extents` gets
    an entry for each attempt.
    """

    def landings_of(source: AttemptSource) -> Callable[[], Iterator[Timed]]:
        extent = extents.setdefault(source.entry.attempt, Extent())
        return lambda: attempt_landings(source, zone, extent)

    waiting = [(_opening(source, zone), landings_of(source)) for source in unit.attempts]
    begin = min(time for time, _ in waiting) - int(RECENT_SECONDS * MICROSECONDS_PER_SECOND)
    [cluster] = {AttemptId.parse(one.entry.attempt).job_key.cluster for one in unit.attempts}
    background = [
        node_batches(log, cluster=cluster, zone=zone, begin=begin) for log in unit.node_logs
    ]
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
            yield timed
            goes_on = advance(order, stream)
            left -= order >= len(background) and not goes_on


def _opening(source: AttemptSource, zone: str) -> int:
    """When an attempt starts: by the scheduler, else by the first clock in its logs."""
    if source.entry.start is not None:
        return source.entry.start
    return next(attempt_landings(source, zone, Extent()))[0]


def _end(source: AttemptSource, logs: list[RecordedLog], time: int) -> Iterator[Timed]:
    """What comes at the end of the attempt: lines of no known time, and the scheduler's word."""
    for log in logs:
        yield from log.rest(time)
    if source.entry.state == RUNNING:  # from here on nobody looked: that is no silence
        yield time, _status(source, Health.UNKNOWN, RECORDING_ENDS, time)
    else:
        yield time, _event(source, end_state(source.entry), time)


def _landings(source: AttemptSource, log: RecordedLog) -> Iterator[Timed]:
    path = log.log.name
    return log.landings(
        lambda time: _status(source, Health.UNKNOWN, FEW_CLOCKS, time, path),
        lambda time: _status(source, Health.HEALTHY, None, time, path),
    )


def _read_up(source: AttemptSource, time: int) -> Iterator[Timed]:
    reason = LOG_ENDED
    if source.missing or not source.logs:
        reason = "; ".join(source.missing) or NO_LOG
    elif any(log.lost_end for log in source.logs):
        reason = LOST_END
    health = Health.HEALTHY if reason == LOG_ENDED else Health.UNKNOWN
    yield time, _status(source, health, reason, time)


def _event(source: AttemptSource, state: str, time: int) -> SchedulerEvent:
    return scheduler_event(source.entry, state, time, source=SOURCE, observed_at=time)


def _status(
    source: AttemptSource, health: Health, reason: str | None, time: int, path: str | None = None
) -> SourceStatus:
    return SourceStatus(
        source=log_source(source.entry.attempt, path),
        cluster=AttemptId.parse(source.entry.attempt).job_key.cluster,
        event_time=time,
        observed_at=time,
        status=health,
        reason=reason,
    )
