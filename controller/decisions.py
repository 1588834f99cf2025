"""Which jobs the EpilogSlurmctld helper may hold when they end badly.

The helper can't read JSON, so the controller decides beforehand, with the same checks as for its
own steps, and names each attempt. What is not named ends as it would without Relume.
"""

from __future__ import annotations

from relume.advice import Advice, Operation
from relume.controller import limits
from relume.controller.facts import Facts, wish
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob

MAX_LINES = 20_000
"""Jobs that are named; dash reads so many lines in 50 ms."""
_UNDER_WAY = frozenset({"RUNNING", "COMPLETING"})


def decisions(facts: Facts, settings: ControllerSettings, now: int) -> list[str]:
    """Return one line for each job under way that the helper may meet.

    ``hold JOB RESTARTS``: hold it when its script or launch failed; ``limit JOB RESTARTS``: also
    when it ran into its time limit, which the comment asks for; ``stop JOB RESTARTS``: it is to be
    stopped, so it may end FAILED by itself.
    """
    stopped = {
        advice.attempt
        for advice in facts.considered
        if advice.settled and advice.is_actionable and _stops(advice)
    }
    lines = (_line(job, facts, settings, stopped, now) for job in facts.jobs.values())
    return [line for line in lines if line is not None][:MAX_LINES]


def _line(
    job: SlurmJob, facts: Facts, settings: ControllerSettings, stopped: set[str], now: int
) -> str | None:
    seen = facts.memory.sighting(job)
    if seen is None or job.state not in _UNDER_WAY or job.requeue is False:
        return None
    if limits.not_ours(job, settings) or limits.worn_out(seen.key, facts, settings, now):
        return None
    if seen.attempt in stopped:
        word = "stop"
    else:
        word = "limit" if wish(job.comment, "restart_on_time_limit") else "hold"
    return f"{word} {job.job_id} {job.restart_count}"


def _stops(advice: Advice) -> bool:
    return advice.operation is Operation.STOP
