"""What a data set says of an attempt, as the scheduler would have told it."""

from __future__ import annotations

import json

from relume.dataset import AttemptEntry
from relume.events import SchedulerEvent
from relume.identity import AttemptId
from relume.slurm.job import UNKNOWN_STATE

RUNNING = "RUNNING"


def scheduler_event(
    entry: AttemptEntry,
    state: str,
    time: int | None,
    *,
    source: str,
    observed_at: int | None = None,
) -> SchedulerEvent:
    """Return that `entry` is in `state` at `time` (UTC microseconds, null if unknown).

    How it ended is told with any state but RUNNING.
    """
    is_over = state != RUNNING
    return SchedulerEvent(
        source=source,
        cluster=AttemptId.parse(entry.attempt).job_key.cluster,
        event_time=time,
        observed_at=observed_at,
        attempt=entry.attempt,
        state=state,
        nodes=entry.nodes,
        exit_code=entry.exit_code if is_over else None,
        signal=entry.signal if is_over else None,
        reason=entry.reason if is_over else None,
        time_limit_seconds=entry.time_limit_seconds,
        comment=_comment(entry),
        user=entry.user,
        num_nodes=entry.size,
    )


def end_state(entry: AttemptEntry) -> str:
    """Return Slurm's word for how it ended, without what follows the word; UNKNOWN if untold."""
    return UNKNOWN_STATE if entry.state is None else entry.state.partition(" ")[0]


def _comment(entry: AttemptEntry) -> str | None:
    """The job's own, or one that names the run of the data set: runs are told by it."""
    if entry.comment is not None or entry.run is None:
        return entry.comment
    return json.dumps({"relume": {"run": entry.run}})
