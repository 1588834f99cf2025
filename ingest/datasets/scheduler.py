"""What a data set says of an attempt, as the scheduler would have told it."""

from __future__ import annotations

import json

from relume.dataset import AttemptEntry
from relume.events import SchedulerEvent
from relume.identity import read_comment
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
        cluster=entry.job_key.cluster,
        event_time=time,
        observed_at=observed_at,
        attempt=entry.attempt,
        state=state,
        nodes=entry.nodes,
        exit_code=entry.exit_code if is_over else None,
        signal=entry.signal if is_over else None,
        reason=entry.reason if is_over else None,
        time_limit_seconds=entry.time_limit_seconds,
        comment=comment_of(entry),
        user=entry.user,
        num_nodes=entry.size,
        name=entry.job_name,
        gpus=entry.gpus,
        eligible_time=entry.eligible,
    )


def end_state(entry: AttemptEntry) -> str:
    """Return Slurm's word for how it ended, without what follows the word; UNKNOWN if untold."""
    return UNKNOWN_STATE if entry.state is None else entry.state.partition(" ")[0]


def comment_of(entry: AttemptEntry) -> str | None:
    """Return the job's comment, with the run that the data set names if it names none itself.

    Runs are told by the comment. One that is no JSON object opts in to nothing, and makes room.
    """
    if entry.run is None or read_comment(entry.comment).run is not None:
        return entry.comment
    try:
        document = json.loads(entry.comment or "{}")
    except (ValueError, RecursionError):
        document = {}
    document = document if isinstance(document, dict) else {}
    section = document.get("relume")
    named = {**(section if isinstance(section, dict) else {}), "run": entry.run}
    return json.dumps({**document, "relume": named})
