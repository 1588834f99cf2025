"""Which held jobs must be let go, because nobody decides about them any more. Pure.

Whose hold it is, the journal says; where it can't be read, or is younger than the hold, our marker
in the AdminComment has to do: a job that nobody lets go is the worse end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relume.advice import Advice
from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller import limits
from relume.controller.facts import Facts, Memory
from relume.controller.folder import Heartbeat
from relume.controller.holds import REQUEUED_HELD, Hold, hold_of, source_of
from relume.controller.marker import read_marker
from relume.identity import AttemptId
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob

LATE_SECONDS = 60
"""How long the controller has for what is due, before the watchdog does it."""


@dataclass(frozen=True, slots=True)
class Release:
    """A job to let go, and why."""

    job: SlurmJob
    reason: str


@dataclass(frozen=True, slots=True)
class Watched:
    """What one watchdog has seen with its own eyes, in seconds that no clock can put back.

    `held` is how long each job has been held, by job id; `unchanged` how long the controller's
    heartbeat has shown the same last whole round.
    """

    held: Mapping[str, float] = field(default_factory=dict)
    unchanged: float = 0.0


def overdue(
    facts: Facts,
    heartbeat: Heartbeat | None,
    settings: ControllerSettings,
    now: int,
    watched: Watched = Watched(),
) -> list[Release]:
    """Return the jobs that we hold and that must be let go. Pure.

    Parameters
    ----------
    facts
        Slurm's jobs, and the memory of them.
    heartbeat
        The controller's last sign of life, null if there is none.
    settings
        The controller's limits.
    now
        UTC microseconds.
    watched
        What the watchdog itself has seen so far.
    """
    gone = watched.unchanged > settings.gone_seconds or _gone(heartbeat, settings, now)
    found = []
    for job in facts.jobs.values():
        source = _ours(job, facts)
        if source is None or limits.not_ours(job, settings) is not None:
            continue
        if limits.worn_out(source.job_key, facts, settings, now):
            continue
        # The submit time of a requeued job is when it was requeued: when the hold began.
        by_clock = (now - (job.submit_time or now)) / MICROSECONDS_PER_SECOND
        seconds = max(by_clock, watched.held.get(job.job_id, 0.0))
        reason = (
            "service and controller are gone"
            if gone and seconds > settings.gone_seconds
            else _late(_decision(facts, str(source)), seconds, settings, now)
        )
        found += [] if reason is None else [Release(job, reason)]
    return found


def _gone(heartbeat: Heartbeat | None, settings: ControllerSettings, now: int) -> bool:
    """Whether service and controller have stopped to work together.

    A round in the future is none: the clock was put back, and it is not known how long ago it was.
    """
    whole_at = heartbeat.whole_at if heartbeat is not None else None
    if whole_at is None or whole_at > now + LATE_SECONDS * MICROSECONDS_PER_SECOND:
        return True
    return now - whole_at > settings.gone_seconds * MICROSECONDS_PER_SECOND


def _late(
    advice: Advice | None, held_seconds: float, settings: ControllerSettings, now: int
) -> str | None:
    """Say why a hold is overdue though the controller lives, null if it isn't."""
    if held_seconds > settings.max_hold_seconds + LATE_SECONDS:
        return "it was held for too long"
    if advice is None:
        orphan = held_seconds > settings.orphan_hold_seconds + LATE_SECONDS
        return "no Advice asks for this hold" if orphan else None
    late = now > advice.expires_at + LATE_SECONDS * MICROSECONDS_PER_SECOND
    return f"its {advice.operation} is past its deadline" if late else None


def _ours(job: SlurmJob, facts: Facts) -> AttemptId | None:
    """Return the attempt that we hold the successor of, null when the hold is not ours."""
    seen = facts.memory.sighting(job)
    if seen is None or not job.held:
        return None
    ours = hold_of(job, seen.key, facts.memory) is Hold.OURS
    return source_of(job, seen.key) if ours or _ours_by_marker(job, facts.memory) else None


def _ours_by_marker(job: SlurmJob, memory: Memory) -> bool:
    older = memory.born_at is not None and (job.submit_time or 0) < memory.born_at
    if (memory.readable and not older) or read_marker(job.admin_comment) is None:
        return False
    if job.requeue is False:  # RequeueExitHold holds what must not run twice, too
        return False
    reason = (job.reason or "").replace(" ", "_")
    return job.state == "SPECIAL_EXIT" or reason == REQUEUED_HELD


def _decision(facts: Facts, attempt: str) -> Advice | None:
    """Return the newest Advice that the controller took on and has not closed."""
    return next((one for one in facts.considered if one.attempt == attempt), None)
