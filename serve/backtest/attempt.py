"""One recorded attempt as the landings of a live run, in the order of its own clocks.

What a service would have seen each second: the scheduler says that it runs, lines come in the
second of their clock, the scheduler says how it ended, its logs are read up. A log without any
clock has an order, but no time: it comes as a whole at the attempt's end, and no silence is judged.
So does what stands at the end of a log, too far behind its last clock, and a log of the job whose
clocks begin when the attempt is over, since nobody looks any more by then.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import InputError
from relume.events import SchedulerEvent, SourceStatus
from relume.identity import AttemptId
from relume.ingest.datasets.scheduler import RUNNING, end_state, scheduler_event
from relume.serve.backtest.logs import SOURCE, RecordedLog, Timed
from relume.serve.backtest.sources import AttemptSource
from relume.serve.live.naming import LOG_ENDED, log_source
from relume.verdict import JOB_STREAMS, Health

NO_CLOCK = "no line of it has a clock: nobody can tell when it was silent"
FEW_CLOCKS = "many lines without a clock: nobody can tell when they came"
LOST_END = "its end is damaged and can't be read"
RECORDING_ENDS = "the recording ends, and the attempt goes on"
NO_LOG = "it left no log that can be read"
WHOSE = "several attempts wrote it, and no clock says which lines are whose"
MISFIT = "its clocks begin before the attempt: they are not the scheduler's, or it is an older log"
LATE = "its clocks begin after the attempt: they are not the scheduler's; it came at the end"
GOES_ON = "its clocks go on after the attempt: they are not the scheduler's, or others wrote it"
SLACK = 60 * MICROSECONDS_PER_SECOND
"""How far the clocks of logs may be from the scheduler's."""


@dataclass(slots=True)
class Extent:
    """When an attempt ran, as far as its replay has come. UTC microseconds.

    `is_timed` is whether a clock or the scheduler says so. Else both times are those of its first
    submission, and stand for nothing. `missing` says which logs, or what of them, could not be
    used; `logs` counts those that were opened.
    """

    start: int = 0
    end: int = 0
    is_timed: bool = False
    missing: list[str] = field(default_factory=list)
    logs: int = 0

    @property
    def span(self) -> tuple[int, int] | tuple[None, None]:
        """Start and end, nulls where both stand for nothing."""
        return (self.start, self.end) if self.is_timed else (None, None)


class AttemptTimeline:
    """What lands for one attempt.

    Parameters
    ----------
    source
        The attempt and its logs.
    zone
        IANA name of the zone of clocks that name none.
    extent
        Kept true while it is iterated.
    shared
        Names of logs that other attempts wrote, too: of these only the lines of the attempt's own
        time are its.
    """

    def __init__(
        self,
        source: AttemptSource,
        zone: str,
        extent: Extent,
        shared: frozenset[str] = frozenset(),
    ) -> None:
        self._source, self._entry, self._extent = source, source.entry, extent
        self._shared, self._missing = shared, extent.missing
        self._unread = list(source.missing)
        key = AttemptId.parse(source.entry.attempt).job_key
        self._cluster = key.cluster
        self._logs = list(self._opened(zone))
        extent.logs = len(self._logs)
        firsts = [log.first for log in self._timed() if log.log.name not in shared]
        first = min((one for one in firsts if one is not None), default=None)
        entry = self._entry
        extent.is_timed = any(one is not None for one in (first, entry.start, entry.end))
        # Where the scheduler tells only one of both times, an attempt without clocks is a moment.
        known = (one for one in (entry.start, first, entry.end) if one is not None)
        extent.start = extent.end = next(known, key.first_submit_time)

    @property
    def start(self) -> int:
        """When it starts: by the scheduler, else by the first clock in its logs."""
        return self._extent.start

    def __iter__(self) -> Iterator[Timed]:
        """Yield what lands, in the order of time, once."""
        entry, extent = self._entry, self._extent
        yield self.start, self._event(RUNNING, self.start)
        for log in self._silent():
            path, reason = log.log.name, NO_CLOCK
            if path in self._shared:
                reason = WHOSE
            elif log.first is not None:
                reason = LATE
                self._missing.append(f"{path}: {LATE}")
            yield self.start, self._status(Health.UNKNOWN, reason, self.start, path)
        last, ended = self.start, False
        streams = (self._landings(log) for log in self._timed())
        for time, landing in heapq.merge(*streams, key=itemgetter(0)):
            if entry.end is not None and time > entry.end and not ended:
                ended, extent.end = True, entry.end
                yield from self._end(extent.end)
            if not ended:
                extent.end = time
            last = max(last, time)
            yield time, landing
        if not ended:
            extent.end = max(self.start, extent.end if entry.end is None else entry.end)
            yield from self._rest(extent.end)
            yield from self._end(extent.end)
        last = max(last, extent.end)
        yield from self._rest(last)
        self._missing += self._unread
        if entry.state != RUNNING:
            yield last, self._read_up(last)

    def _opened(self, zone: str) -> Iterator[RecordedLog]:
        """Open the logs; those that can't be read are missing."""
        entry = self._entry
        near = entry.end if entry.start is None else entry.start
        for log in self._source.logs:
            try:
                yield RecordedLog(
                    log, cluster=self._cluster, attempt=entry.attempt, zone=zone, near=near
                )
            except InputError as error:
                self._unread.append(str(error))

    def _timed(self) -> Iterator[RecordedLog]:
        return (log for log in self._logs if log.first is not None and not self._is_late(log))

    def _silent(self) -> Iterator[RecordedLog]:
        return (log for log in self._logs if log.first is None or self._is_late(log))

    def _is_late(self, log: RecordedLog) -> bool:
        return self._is_after(log, log.first)

    def _is_after(self, log: RecordedLog, time: int | None) -> bool:
        """Whether a log that this job alone writes is at `time` when the job is over."""
        if log.log.stream not in JOB_STREAMS or log.log.name in self._shared:
            return False
        end = self._entry.end
        return end is not None and time is not None and time > end + SLACK

    def _landings(self, log: RecordedLog) -> Iterator[Timed]:
        path, within = log.log.name, None
        if path in self._shared:
            end = self._entry.end
            latest = end if end is not None else self.start
            within = self.start - SLACK, latest + SLACK
        told = partial(self._status, path=path)
        stream = log.landings(
            self.start,
            lambda time: told(Health.UNKNOWN, FEW_CLOCKS, time),
            lambda time: told(Health.HEALTHY, None, time),
            within=within,
        )
        fits = within is not None or (log.first or 0) >= self.start - SLACK
        if not fits:
            self._missing.append(f"{path}: {MISFIT}")
            yield self.start, told(Health.UNKNOWN, MISFIT, self.start)
        try:
            # What is silent when by clocks that don't fit, nobody can tell, not in between either.
            last = self.start
            for last, landing in stream:
                if fits or not isinstance(landing, SourceStatus):
                    yield last, landing
            if self._is_after(log, last):
                self._missing.append(f"{path}: {GOES_ON}")
            if log.log.lost_end:  # what came after that is lost, and was no silence
                yield last, told(Health.UNKNOWN, LOST_END, last)
        except InputError as error:  # it went away while it was read
            self._unread.append(str(error))

    def _end(self, time: int) -> Iterator[Timed]:
        """What comes at the end of the attempt: logs without clocks, and the scheduler's word."""
        for log in self._silent():
            if log.log.name not in self._shared:
                yield from log.untimed(time)
        if self._entry.state == RUNNING:  # from here on nobody looked: that is no silence
            yield time, self._status(Health.UNKNOWN, RECORDING_ENDS, time)
        else:
            yield time, self._event(end_state(self._entry), time)

    def _rest(self, time: int) -> Iterator[Timed]:
        for log in self._timed():
            yield from log.rest(time)

    def _read_up(self, time: int) -> SourceStatus:
        reason = LOG_ENDED
        if self._unread or not self._logs:
            reason = "; ".join(self._unread) or NO_LOG
        elif any(log.log.lost_end for log in self._logs):
            reason = LOST_END
        health = Health.HEALTHY if reason == LOG_ENDED else Health.UNKNOWN
        return self._status(health, reason, time)

    def _event(self, state: str, time: int) -> SchedulerEvent:
        return scheduler_event(self._entry, state, time, source=SOURCE, observed_at=time)

    def _status(
        self, health: Health, reason: str | None, time: int, path: str | None = None
    ) -> SourceStatus:
        return SourceStatus(
            source=log_source(self._entry.attempt, path),
            cluster=self._cluster,
            event_time=time,
            observed_at=time,
            status=health,
            reason=reason,
        )
