"""Which logs are read for which attempt, and what is new in them.

A job's output file outlives the attempt: a requeue truncates it, or appends to it. So a file
belongs to one attempt at a time, and what comes after a truncation waits until the scheduler has
said whose it is. See `docs/formats/tailing.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import SourceStatus
from relume.ingest.lake.batches import Landing, LineBatch
from relume.ingest.tail import POLL_BYTES, TailResult
from relume.ingest.tailing.file import Opener
from relume.ingest.tailing.group import BUDGET_BYTES
from relume.serve.live.joblog import JobLog, Kept
from relume.serve.live.naming import LOG_ENDED, log_source
from relume.verdict import Health

PAUSED = "truncated; whose it is from here on, the scheduler has to say"
SHARED = "two jobs write to the same file: nobody can tell whose a line is"
FINISH_SECONDS = 60.0
"""How long the end of an ended attempt's log is tried to be read."""


@dataclass(slots=True)
class _Ending:
    since: int
    paths: list[str]


@dataclass(frozen=True, slots=True)
class _Successor:
    """Who reads a file next, when the attempt before is done with it."""

    attempt: str
    stream: str
    opener: Opener


@dataclass(slots=True)
class JobLogs:
    """The output files of the attempts that run, and of those that ended but aren't read up.

    `resumed` are the positions of sources from before a restart. `positions` has, by source, what
    moved since it was last taken away; null for one that is done with.
    """

    cluster: str
    resumed: dict[str, str] = field(default_factory=dict)
    _logs: dict[str, JobLog] = field(default_factory=dict)
    _ending: dict[str, _Ending] = field(default_factory=dict)
    _next: dict[str, _Successor] = field(default_factory=dict)
    _shared: dict[str, set[str]] = field(default_factory=dict)
    _untold: list[tuple[str, str]] = field(default_factory=list)
    _noted: dict[str, Kept] = field(default_factory=dict)
    positions: dict[str, str | None] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(not log.is_over for log in self._logs.values())

    def reads(self, attempt: str, path: str) -> bool:
        """Whether `path` is, or was last, read for `attempt`."""
        log = self._logs.get(path)
        mine = log is not None and log.attempt == attempt
        return mine or attempt in self._shared.get(path, ())

    def reads_any(self, attempt: str) -> bool:
        """Whether a file of the attempt is read, and not to its end yet."""
        mine = (log for log in self._logs.values() if log.attempt == attempt)
        return any(not log.is_over for log in mine)

    def follow(self, attempt: str, path: str, stream: str, opener: Opener) -> None:
        """Read `path` for an attempt that doesn't yet, as soon as the one before is read up."""
        before = self._logs.get(path)
        if before is not None and self._is_shared(before, attempt):
            return
        self._next[path] = _Successor(attempt, stream, opener)
        if before is not None and not before.is_over:
            self.end(before.attempt, 0)  # somebody else writes there now: there is no time left
        else:
            self._begin(path)

    def _is_shared(self, before: JobLog, attempt: str) -> bool:
        """Whether another job writes to the file as well; then nobody can tell whose a line is."""
        both_run = not before.is_over and before.attempt not in self._ending
        if both_run and job_of(before.attempt) != job_of(attempt):
            before.give_up(SHARED)
            self._shared[before.path] = {before.attempt}
            self._untold += [(before.attempt, before.path)]
        if before.path not in self._shared:
            return False
        self._shared[before.path].add(attempt)
        self._untold += [(attempt, before.path)]
        return True

    def _tell_shared(self, now: int) -> Iterator[SourceStatus]:
        told, self._untold = self._untold, []
        for attempt, path in told:
            yield SourceStatus(
                source=log_source(attempt, path),
                cluster=self.cluster,
                event_time=now,
                observed_at=now,
                status=Health.UNHEALTHY,
                reason=SHARED,
            )

    def still_running(self, attempt: str, path: str, asked_at: int) -> None:
        """Take that the attempt ran at `asked_at`: what was truncated before is still its own."""
        log = self._logs.get(path)
        if log is not None and log.attempt == attempt and log.paused_at is not None:
            log.paused_at = None if asked_at > log.paused_at else log.paused_at

    def end(self, attempt: str, now: int) -> None:
        """Read the logs of `attempt` to their end: it is over."""
        paths = [path for path, log in self._logs.items() if log.attempt == attempt]
        self._ending.setdefault(attempt, _Ending(now, paths))

    def poll(self, now: int) -> Iterator[Landing]:
        """Yield what is new: lines, and changes of how the logs are."""
        yield from self._tell_shared(now)
        yield from self._poll_running(now)
        for attempt in list(self._ending):
            yield from self._finish(attempt, now)

    def forget(self, attempts: Iterable[str]) -> None:
        """Let go of the files of attempts whose jobs are gone: no successor will come."""
        gone = set(attempts)
        for path, log in list(self._logs.items()):
            if log.attempt in gone and log.is_over:
                del self._logs[path]
                self._noted.pop(file_source(path), None)
                self._shared.pop(path, None)
                self.positions[file_source(path)] = None
        for source, text in list(self.resumed.items()):
            if Kept.from_text(text).attempt in gone:
                del self.resumed[source]
                self.positions[source] = None

    def landed_bytes(self, attempt: str) -> int:
        """How many bytes of the attempt's files were read, of those that are still known."""
        return sum(log.offset for log in self._logs.values() if log.attempt == attempt)

    def close(self) -> None:
        """Close every file."""
        for log in self._logs.values():
            log.close()

    def _poll_running(self, now: int) -> Iterator[Landing]:
        budget = BUDGET_BYTES
        for path, log in list(self._logs.items()):
            if log.is_over or log.paused_at is not None or log.attempt in self._ending:
                continue
            if budget <= 0:
                return
            before = log.offset
            result = log.poll(min(POLL_BYTES, budget), now)
            budget -= max(0, log.offset - before)
            self._logs[path] = self._logs.pop(path)  # whom the budget misses comes first next time
            if result is not None:
                yield from self._take(log, result, now)

    def _finish(self, attempt: str, now: int) -> Iterator[Landing]:
        ending = self._ending[attempt]
        logs = [self._logs[path] for path in ending.paths]
        overdue = now - ending.since > FINISH_SECONDS * MICROSECONDS_PER_SECOND
        for log in logs:
            if log.is_over:
                continue
            result = log.finish(has_successor=log.path in self._next, overdue=overdue)
            if result is not None:
                yield from self._take(log, result, now)
            self._note(log)
        if all(log.is_over for log in logs):
            del self._ending[attempt]
            yield self._told_end(attempt, logs, now)
            for path in ending.paths:
                if path in self._next:
                    self._begin(path)

    def _begin(self, path: str) -> None:
        """Read on from where the attempt before ended, or this one was before a restart."""
        successor, last = self._next.pop(path), self._logs.get(path)
        resumed = self.resumed.pop(file_source(path), None)
        before = None if resumed is None else Kept.from_text(resumed)
        if last is not None:
            before = last.kept()
        stream, attempt, opener = successor.stream, successor.attempt, successor.opener
        log = self._logs[path] = JobLog(path, stream, attempt, opener, before)
        self._note(log)

    def _told_end(self, attempt: str, logs: list[JobLog], now: int) -> SourceStatus:
        reason = next((log.reason for log in logs if log.reason is not None), None)
        if not logs:
            is_shared = any(attempt in sharers for sharers in self._shared.values())
            reason = SHARED if is_shared else "Slurm names no output file"
        return SourceStatus(
            source=log_source(attempt),
            cluster=self.cluster,
            event_time=now,
            observed_at=now,
            status=Health.HEALTHY if reason is None else Health.UNKNOWN,
            reason=reason or LOG_ENDED,
        )

    def _take(self, log: JobLog, result: TailResult, now: int) -> Iterator[Landing]:
        for block in result.blocks:
            yield LineBatch(
                block=block,
                attempt=log.attempt,
                stream=log.stream,
                observed_at=now,
                cluster=self.cluster,
            )
        self._note(log)
        source = log_source(log.attempt, log.path)
        status = result.status(source, cluster=self.cluster, observed_at=now)
        if log.paused_at is not None:  # not read any further for now: that is no silence
            status = replace(status, status=Health.UNKNOWN, reason=PAUSED)
        if log.told != (status.status, status.reason):
            log.told = (status.status, status.reason)
            yield status

    def _note(self, log: JobLog) -> None:
        kept, source = log.kept(), file_source(log.path)
        if self._noted.get(source) != kept:
            self._noted[source] = kept
            self.positions[source] = kept.to_text()


def file_source(path: str) -> str:
    """Name under which the position of an output file is kept in the lake."""
    return f"file {path}"


def job_of(attempt: str) -> str:
    """Return the job of an attempt, in the text form.

    >>> job_of("lab/7@1767323045.2")
    'lab/7@1767323045'
    """
    return attempt.rpartition(".")[0]


def job_paths(std_out: str | None, std_err: str | None) -> list[tuple[str, str]]:
    """Return the output files of a job, each with its stream.

    >>> job_paths("/logs/a.out", "/logs/a.out"), job_paths("/logs/a.out", "/dev/null")
    ([('/logs/a.out', 'stdout')], [('/logs/a.out', 'stdout')])
    """
    named = ((std_out, "stdout"), (std_err, "stderr"))
    paths: dict[str, str] = {}
    for path, stream in named:
        if path is not None and path != "/dev/null":
            paths.setdefault(str(Path(path)), stream)
    return list(paths.items())
