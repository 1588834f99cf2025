"""What snapshots of the scheduler say, as changes: events to land, and records of attempts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import InputError
from relume.events import SchedulerEvent
from relume.identity import AttemptId, read_comment, run_name
from relume.serve.ledger import AttemptRecord
from relume.serve.live.book import AttemptBook
from relume.serve.live.fitting import require_fit
from relume.serve.live.naming import SCHEDULER
from relume.slurm.job import ENDED_STATES, HELD_STATES, UNKNOWN_STATE, SlurmJob, SlurmSnapshot
from relume.slurm.sacct import AttemptRow

log = logging.getLogger(__name__)
GONE_SECONDS = 30.0
"""How long a job may be missing in the snapshots before its attempt counts as over."""
_NOT_STARTED = HELD_STATES | {"CONFIGURING"}
Lookup = Callable[[str, str], AttemptRecord | None]
Ends = Mapping[str, AttemptRow]
"""Rows of accounting by attempt, each of one that is over."""
NO_ENDS: Ends = MappingProxyType({})


@dataclass(slots=True)
class Taken:
    """What a snapshot led to.

    Attributes
    ----------
    attempts
        The attempt that each job id is.
    events
        What changed of attempts that had started, to land in this order.
    records
        The attempts that changed in any way, as they are now.
    running
        All attempts that run.
    gone
        Attempts whose jobs Slurm doesn't know any more.
    """

    attempts: dict[str, str] = field(default_factory=dict)
    events: list[SchedulerEvent] = field(default_factory=list)
    records: list[AttemptRecord] = field(default_factory=list)
    running: list[AttemptRecord] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Known:
    record: AttemptRecord
    seen_at: int
    event: SchedulerEvent | None = None


@dataclass(slots=True)
class ClusterJobs:
    """The jobs of one cluster as they were last seen.

    Parameters
    ----------
    cluster
        Slurm's ClusterName.
    lookup
        Asked about each job id that is new here: the newest attempt that the ledger has of it.
    born_at
        When the service first ran: what had ended before was never its business.
    """

    cluster: str
    lookup: Lookup
    born_at: int
    _book: AttemptBook = field(init=False)
    _known: dict[str, _Known] = field(default_factory=dict)
    _ends: Ends = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._book = AttemptBook(self.cluster)

    def know(self, record: AttemptRecord, now: int) -> None:
        """Take an attempt that the ledger remembers from before a restart of the service."""
        attempt = AttemptId.parse(record.attempt)
        self._book.know(attempt)
        self._known[attempt.job_key.job_id] = _Known(record, now)

    def left(self, snapshot: SlurmSnapshot) -> list[AttemptRecord]:
        """Return attempts of which a snapshot doesn't tell how they ended, though they are over."""
        shown = {job.job_id: job.restart_count for job in snapshot.jobs}
        found = []
        for job_id, known in self._known.items():
            if known.record.ended or known.record.start_time is None:
                continue
            if shown.get(job_id) != AttemptId.parse(known.record.attempt).restart_count:
                found.append(known.record)
        return found

    def take(self, snapshot: SlurmSnapshot, ends: Ends = NO_ENDS) -> Taken:
        """Compare a snapshot with what was known, and remember it.

        `ends` says of attempts that it leaves out how they ended, by accounting.
        """
        self._ends = ends
        taken = Taken()
        for job in snapshot.jobs:
            try:
                require_fit(job)
                self._recall(job, snapshot.taken_at)
                attempt = self._book.name(job)
            except InputError as error:  # one job is no reason to drop the rest
                log.warning("job %s is left out: %s", job.job_id, error)
                continue
            if attempt is not None:
                taken.attempts[job.job_id] = str(attempt)
                self._take_job(job, attempt, snapshot.taken_at, taken)
        self._take_missing(snapshot, taken)
        return taken

    def _recall(self, job: SlurmJob, now: int) -> None:
        if job.job_id in self._known:
            return
        record = self.lookup(self.cluster, job.job_id)
        if record is not None:
            self.know(record, now)

    def _take_job(self, job: SlurmJob, attempt: AttemptId, now: int, taken: Taken) -> None:
        known = self._known.get(job.job_id)
        if known is not None and known.record.attempt != str(attempt):
            self._end_before(known, job, attempt, now, taken)
            known = None
        record = _record(job, attempt, None if known is None else known.record)
        event = None if record.state in _NOT_STARTED else _event(job, record, now)
        is_old = known is None and record.ended and (job.end_time or now) < self.born_at
        if is_old:
            known = _Known(record, now, event)  # over before this service was there
        if known is None or known.record != record:
            taken.records.append(record)
        if event is not None and not _is_told(event, record, known):
            taken.events.append(event)
        if record.start_time is not None and not record.ended and event is not None:
            taken.running.append(record)
        self._known[job.job_id] = _Known(record, now, event)

    def _end_before(
        self, known: _Known, job: SlurmJob, attempt: AttemptId, now: int, taken: Taken
    ) -> None:
        """End the attempt that another one of the same job id has followed."""
        before = known.record
        if before.ended:
            return
        is_requeue = AttemptId.parse(before.attempt).job_key == attempt.job_key
        ended = replace(
            before,
            ended=True,
            state="REQUEUED" if is_requeue else UNKNOWN_STATE,
            reason=_reason(job) if is_requeue else "its job id was given out again",
            # Of a held job Slurm still shows how the attempt before ended.
            exit_code=job.exit_code if is_requeue else None,
            signal=job.signal if is_requeue else None,
            end_time=job.submit_time if is_requeue else None,
        )
        self._end(self._as_accounted(ended), known, now, taken)

    def _take_missing(self, snapshot: SlurmSnapshot, taken: Taken) -> None:
        shown = {job.job_id for job in snapshot.jobs}
        for job_id, known in list(self._known.items()):
            if job_id in shown:
                continue
            missing = snapshot.taken_at - known.seen_at
            is_accounted = known.record.attempt in self._ends
            if missing <= GONE_SECONDS * MICROSECONDS_PER_SECOND and not is_accounted:
                continue
            del self._known[job_id]
            taken.gone.append(known.record.attempt)
            if not known.record.ended:
                reason = "Slurm doesn't know the job any more"
                gone = replace(known.record, ended=True, state=UNKNOWN_STATE, reason=reason)
                self._end(self._as_accounted(gone), known, snapshot.taken_at, taken)

    def _as_accounted(self, record: AttemptRecord) -> AttemptRecord:
        """Return the record of an attempt that is over with what accounting says of its end."""
        row = self._ends.get(record.attempt)
        if row is None:
            return record
        is_unknown = record.state == UNKNOWN_STATE
        return replace(
            record,
            state=row.word,
            reason=None if is_unknown else record.reason,
            nodes=row.nodes or record.nodes,
            start_time=row.start_time or record.start_time,
            end_time=row.end_time,
            exit_code=row.exit_code,
            signal=row.signal,
        )

    def _end(self, record: AttemptRecord, known: _Known, now: int, taken: Taken) -> None:
        taken.records.append(record)
        if record.start_time is None and known.event is None:
            return  # it never ran
        taken.events.append(
            SchedulerEvent(
                source=SCHEDULER,
                cluster=self.cluster,
                event_time=now if record.end_time is None else record.end_time,
                observed_at=now,
                attempt=record.attempt,
                state=record.state,
                nodes=record.nodes,
                exit_code=record.exit_code,
                signal=record.signal,
                reason=record.reason,
                user=record.user,
                name=record.name,
                comment=None if known.event is None else known.event.comment,
                partition=record.partition or None,
                deadline=None if known.event is None else known.event.deadline,
            )
        )


def _record(job: SlurmJob, attempt: AttemptId, before: AttemptRecord | None) -> AttemptRecord:
    opt_in = read_comment(job.comment)
    waits = job.state in _NOT_STARTED
    old = before or AttemptRecord(attempt=str(attempt), run="", state=job.state)
    # While COMPLETING only those nodes are left that have something to clean up.
    nodes = old.nodes if job.state == "COMPLETING" else job.nodes
    return replace(
        old,
        run=run_name(opt_in, attempt.job_key),
        state=job.state,
        reason=job.reason,
        ended=job.state in ENDED_STATES,
        opted_in=opt_in.opted_in,
        raw_job_id=job.raw_job_id,
        user=job.user,
        partition=job.partition,
        name=job.name,
        nodes=nodes or old.nodes,
        submit_time=job.submit_time,
        start_time=job.start_time or old.start_time,
        end_time=job.end_time or old.end_time,
        exit_code=None if waits else job.exit_code,
        signal=None if waits else job.signal,
        std_out=job.std_out or old.std_out,
        std_err=job.std_err or old.std_err,
        work_dir=job.work_dir or old.work_dir,
    )


def _reason(job: SlurmJob) -> str | None:
    """Why a requeued job waits; RequeueExitHold says JobHeldUser, and no user held it."""
    return job.state if job.state == "SPECIAL_EXIT" else job.reason


def _event(job: SlurmJob, record: AttemptRecord, now: int) -> SchedulerEvent:
    began = record.end_time if record.ended else record.start_time
    return SchedulerEvent(
        source=SCHEDULER,
        cluster=AttemptId.parse(record.attempt).job_key.cluster,
        event_time=now if began is None else began,
        observed_at=now,
        attempt=record.attempt,
        state=record.state,
        nodes=record.nodes,
        exit_code=record.exit_code,
        signal=record.signal,
        reason=record.reason,
        time_limit_seconds=job.time_limit_seconds,
        requeue=job.requeue,
        comment=job.comment,
        user=job.user,
        exclude_nodes=job.exclude_nodes,
        required_nodes=job.required_nodes,
        num_nodes=job.num_nodes,
        name=job.name,
        partition=job.partition or None,
        deadline=job.deadline,
    )


def _is_told(event: SchedulerEvent, record: AttemptRecord, known: _Known | None) -> bool:
    """Whether nothing but the time has changed.

    Of what ended before a restart of the service the ledger tells: its end has landed already.
    """
    if known is None:
        return False
    if known.event is None:
        return record.ended and known.record == record
    return replace(event, observed_at=None) == replace(known.event, observed_at=None)
