"""Attempts that no snapshot tells of, as the ledger knows them: from events that were pushed."""

from __future__ import annotations

from dataclasses import replace

from relume.events import SchedulerEvent
from relume.identity import AttemptId, read_comment, run_name
from relume.serve.ledger import AttemptRecord
from relume.serve.live.jobfacts import OVER
from relume.slurm.job import NOT_STARTED


def record_of(event: SchedulerEvent, before: AttemptRecord | None) -> AttemptRecord:
    """Return what is known of an attempt, given what the ledger had of it (null: nothing)."""
    attempt, opt_in = AttemptId.parse(event.attempt), read_comment(event.comment)
    old = before or AttemptRecord(attempt=event.attempt, run="", state=event.state)
    over, waits = event.state in OVER, event.state in NOT_STARTED
    start = old.start_time
    if start is None and not over and not waits:
        start = event.event_time
    return replace(
        old,
        run=run_name(opt_in, attempt.job_key),
        state=event.state,
        reason=event.reason,
        ended=over,
        opted_in=opt_in.opted_in,
        user=event.user or old.user,
        partition=event.partition or old.partition,
        name=event.name or old.name,
        nodes=event.nodes or old.nodes,
        submit_time=old.submit_time or attempt.job_key.first_submit_time,
        start_time=start,
        end_time=event.event_time if over else None,
        exit_code=event.exit_code,
        signal=event.signal,
    )
