"""Which attempt a job of a snapshot is: names that survive requeues and reused job ids (DESIGN 3).

The first submit time comes from the marker in the AdminComment; without one, from what this service
saw of the job before; for an attempt that is the first, from Slurm.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND
from relume.identity import AttemptId, JobKey
from relume.slurm.job import SlurmJob

MAX_JOBS = 100_000
"""Jobs remembered; the one not seen for longest goes first."""


@dataclass(slots=True)
class AttemptBook:
    """Remembers the newest attempt of each job id of a cluster."""

    cluster: str
    _newest: dict[str, AttemptId] = field(default_factory=dict)

    def know(self, attempt: AttemptId) -> None:
        """Take an attempt that the ledger remembers from before a restart of the service."""
        self._newest[attempt.job_key.job_id] = attempt

    def name(self, job: SlurmJob) -> AttemptId | None:
        """Return the attempt of `job`, null when Slurm tells no submit time.

        A restart count that falls back, or a later submit time without a requeue, is another job
        under a reused id.
        """
        marked = first_submit(job.admin_comment)
        known = self._newest.pop(job.job_id, None)
        if marked is not None:
            key = JobKey(self.cluster, job.job_id, marked * MICROSECONDS_PER_SECOND)
        elif known is not None and _continues(known, job):
            key = known.job_key
        elif job.submit_time is not None:
            seconds = job.submit_time // MICROSECONDS_PER_SECOND
            key = JobKey(self.cluster, job.job_id, seconds * MICROSECONDS_PER_SECOND)
        else:
            return None
        attempt = AttemptId(key, job.restart_count)
        while len(self._newest) >= MAX_JOBS:
            del self._newest[next(iter(self._newest))]
        self._newest[job.job_id] = attempt
        return attempt


def first_submit(admin_comment: str | None) -> int | None:
    """First submit time (epoch seconds) in the controller's marker, null without one.

    >>> first_submit('{"relume": {"first_submit": 1767323045}}')
    1767323045
    """
    try:
        document = json.loads(admin_comment or "null")
    except (ValueError, RecursionError):
        return None
    section = document.get("relume") if isinstance(document, dict) else None
    seconds = section.get("first_submit") if isinstance(section, dict) else None
    is_time = isinstance(seconds, int) and not isinstance(seconds, bool) and 0 <= seconds < 1 << 37
    return seconds if is_time else None


def _continues(known: AttemptId, job: SlurmJob) -> bool:
    if job.restart_count > known.restart_count:
        return True
    same_count = job.restart_count == known.restart_count
    submitted = job.submit_time
    if not same_count or submitted is None:
        return same_count
    first = known.job_key.first_submit_time
    return known.restart_count > 0 or submitted // MICROSECONDS_PER_SECOND == first // (
        MICROSECONDS_PER_SECOND
    )
