"""Whose hold it is. Only our own are ever taken off."""

from __future__ import annotations

from enum import StrEnum

from relume.controller.facts import HOLDS, Memory
from relume.identity import AttemptId, JobKey
from relume.slurm.job import SlurmJob

REQUEUED_HELD = "job_requeued_in_held_state"
"""Reason after `scontrol requeuehold`, ours or anybody's."""
LAUNCH_FAILED = "launch_failed_requeued_held"
"""Reason after slurmctld started a job twice, for example when it had been killed hard."""


class Hold(StrEnum):
    """Who holds a job."""

    NONE = "none"
    OURS = "ours"
    FOREIGN = "foreign"
    LAUNCH_FAILED = "launch failed"


def hold_of(job: SlurmJob, key: JobKey, memory: Memory) -> Hold:
    """Say who holds `job`, which is known to be `key`.

    Ours is a requeue-hold that the journal knows of (our own, or the EpilogSlurmctld helper's), and
    SPECIAL_EXIT (RequeueExitHold) of an attempt that we saw running. A hold whose reason is the
    user's or an admin's is theirs, even when it came on top of ours. RequeueExitHold also holds
    jobs with ``--no-requeue``, which must not run twice: those holds are the site's.
    """
    if not job.held:
        return Hold.NONE
    reason = (job.reason or "").replace(" ", "_")
    if reason == LAUNCH_FAILED:
        return Hold.LAUNCH_FAILED
    before = source_of(job, key)
    if before is None:
        return Hold.FOREIGN
    requeued = job.state == "REQUEUE_HOLD" or reason == REQUEUED_HELD
    if requeued and memory.did(str(before), *HOLDS) is not None:
        return Hold.OURS
    if job.state == "SPECIAL_EXIT" and reason != "JobHeldAdmin" and job.requeue is not False:
        seen = memory.of(key, before.restart_count)
        return Hold.OURS if seen is not None and seen.running_at is not None else Hold.FOREIGN
    return Hold.FOREIGN


def source_of(job: SlurmJob, key: JobKey) -> AttemptId | None:
    """Return the attempt before the one that `job` is now, null if it is the first."""
    return AttemptId(key, job.restart_count - 1) if job.restart_count > 0 else None
