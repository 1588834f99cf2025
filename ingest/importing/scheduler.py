"""What a data set says of an attempt, as the scheduler would have told it."""

from __future__ import annotations

from relume.dataset import AttemptEntry
from relume.events import SchedulerEvent
from relume.ingest.datasets.scheduler import RUNNING, end_state, scheduler_event

SOURCE = "dataset"


def started(entry: AttemptEntry) -> SchedulerEvent:
    """Return that it runs; the time is null where the data set doesn't say."""
    return scheduler_event(entry, RUNNING, entry.start, source=SOURCE)


def ended(entry: AttemptEntry) -> SchedulerEvent | None:
    """Return how it ended, or that it still ran when the recording ended.

    Null when it goes on and nobody says until when.
    """
    state = end_state(entry)
    if state == RUNNING and entry.end is None:
        return None
    return scheduler_event(entry, state, entry.end, source=SOURCE)
