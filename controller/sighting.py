"""Which job it is that Slurm shows under a job id, and what was seen of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller.facts import HOLDS, Memory, Sighting
from relume.controller.marker import read_marker
from relume.errors import InputError
from relume.identity import MAX_COMPLETING_SECONDS, AttemptId, JobKey, read_comment, run_name
from relume.slurm.job import ENDED_STATES, SlurmJob

_CLOCK = 5 * MICROSECONDS_PER_SECOND
"""How far slurmctld's clock may be behind ours."""


def sight(
    job: SlurmJob, cluster: str, memory: Memory, named: Mapping[str, str], now: int
) -> Sighting | None:
    """Return what is now known of the attempt that `job` shows.

    Null for a job that did not opt in, and for one that can't be told: it was requeued before we
    saw it first, and bears no marker.

    Parameters
    ----------
    job
        Slurm's word.
    cluster
        Slurm's ClusterName.
    memory
        Earlier sightings of this job id.
    named
        The service's names of attempts, by job id. They are only asked for the *name* of a running
        job that was requeued before we came; they never make a held or finished job ours.
    now
        UTC microseconds.
    """
    opt_in = read_comment(job.comment)
    if not opt_in.opted_in or job.submit_time is None:
        return None
    before = memory.sighting(job)
    key = before.key if before is not None else _identify(job, cluster, memory, named)
    if key is None:
        return None
    seen = before or Sighting(
        key=key,
        restart_count=job.restart_count,
        submit_time=job.submit_time,
        user=job.user,
        run=run_name(opt_in, key),
    )
    return _with_state(seen, job, now)


def _with_state(seen: Sighting, job: SlurmJob, now: int) -> Sighting:
    running = job.state == "RUNNING"
    if running or job.state in ENDED_STATES or job.state == "COMPLETING":
        seen = replace(seen, nodes=tuple(sorted({*seen.nodes, *job.nodes})))
    if running and _unknown(seen.running_at, now):
        seen = replace(seen, running_at=now)
    if job.held and _unknown(seen.held_at, now):
        seen = replace(seen, held_at=now)
    return seen


def _unknown(moment: int | None, now: int) -> bool:
    """Whether it isn't known when something was first seen: never, or by a clock put back since."""
    return moment is None or moment > now + _CLOCK


def _identify(
    job: SlurmJob, cluster: str, memory: Memory, named: Mapping[str, str]
) -> JobKey | None:
    """Find the job's identity: by our marker, by what we saw before, or as a new job."""
    marker = read_marker(job.admin_comment)
    try:
        if marker is not None and marker.first_submit <= (job.submit_time or 0):
            return JobKey(cluster, job.job_id, marker.first_submit)
        follows = _follows(job, memory)
        if follows is not None:
            return follows
        if job.restart_count == 0:
            return JobKey(cluster, job.job_id, job.submit_time or 0)
        return _named(job, cluster, named) if job.state == "RUNNING" else None
    except InputError:  # a job id that names several jobs, such as 12_[3-7]
        return None


def _follows(job: SlurmJob, memory: Memory) -> JobKey | None:
    """Whether it is the next attempt of one that we held, or last saw running, under this id.

    A job id that was given out again starts at restart count 0, and this one was submitted, that is
    requeued, after we gave the command to hold the other, or while or after we saw it run.
    """
    seen = memory.sightings.get(job.job_id, ())
    before = [one for one in seen if _may_follow(job, one)]
    # By a hold of ours first: when slurmctld, killed, has forgotten it, it is given once more, and
    # an attempt that never came to be was the last that we saw.
    for one in reversed(before):
        hold = memory.did(one.attempt, *HOLDS)
        if hold is not None and _soon_after(job, hold.intended_at):
            return one.key
    last = seen[-1] if seen else None
    if last not in before or last.running_at is None or job.submit_time is None:
        return None
    return last.key if job.submit_time >= last.running_at - _CLOCK else None


def _may_follow(job: SlurmJob, before: Sighting) -> bool:
    return before.user == job.user and before.restart_count + 1 == job.restart_count


def _soon_after(job: SlurmJob, moment: int) -> bool:
    """Whether it was requeued by a command of that moment; it may have been COMPLETING for long."""
    patience = MAX_COMPLETING_SECONDS * MICROSECONDS_PER_SECOND
    return job.submit_time is not None and -_CLOCK <= job.submit_time - moment <= patience


def _named(job: SlurmJob, cluster: str, named: Mapping[str, str]) -> JobKey | None:
    name = named.get(job.job_id)
    if name is None:
        return None
    attempt = AttemptId.parse(name)
    right = attempt.job_key.cluster == cluster and attempt.job_key.job_id == job.job_id
    return attempt.job_key if right and attempt.restart_count == job.restart_count else None
