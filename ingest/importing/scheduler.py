"""What a data set says of an attempt, as the scheduler would have told it."""

from __future__ import annotations

import json

from relume.dataset import AttemptEntry
from relume.events import SchedulerEvent
from relume.identity import AttemptId

SOURCE = "dataset"
_RUNNING, _UNKNOWN = "RUNNING", "UNKNOWN"


def started(entry: AttemptEntry) -> SchedulerEvent:
    """Return that it runs; the time is null where the data set doesn't say."""
    return _event(entry, _RUNNING, entry.start)


def ended(entry: AttemptEntry) -> SchedulerEvent | None:
    """Return how it ended, or that it still ran when the recording ended.

    Null when it goes on and nobody says until when.
    """
    state = _UNKNOWN if entry.state is None else entry.state.partition(" ")[0]
    if state == _RUNNING and entry.end is None:
        return None
    return _event(entry, state, entry.end)


def _event(entry: AttemptEntry, state: str, time: int | None) -> SchedulerEvent:
    is_over = state != _RUNNING
    return SchedulerEvent(
        source=SOURCE,
        cluster=AttemptId.parse(entry.attempt).job_key.cluster,
        event_time=time,
        attempt=entry.attempt,
        state=state,
        nodes=entry.nodes,
        exit_code=entry.exit_code if is_over else None,
        signal=entry.signal if is_over else None,
        reason=entry.reason if is_over else None,
        time_limit_seconds=entry.time_limit_seconds,
        comment=_comment(entry),
        user=entry.user,
        num_nodes=len(entry.nodes) or None,
    )


def _comment(entry: AttemptEntry) -> str | None:
    """The job's own, or one that names the run of the data set: runs are told by it."""
    if entry.comment is not None or entry.run is None:
        return entry.comment
    return json.dumps({"relume": {"run": entry.run}})
