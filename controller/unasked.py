"""What is done without Advice: running jobs are marked, forgotten holds of ours are taken off."""

from __future__ import annotations

from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller import limits
from relume.controller.case import MAX_TRIES, marked
from relume.controller.facts import Action, Facts, Sighting
from relume.controller.holds import Hold, hold_of, source_of
from relume.controller.marker import read_marker
from relume.controller.steps import Step
from relume.identity import AttemptId
from relume.settings import ControllerSettings
from relume.slurm.job import SlurmJob


def unasked(job: SlurmJob, facts: Facts, settings: ControllerSettings, now: int) -> Step | None:
    """Return what a job needs though no Advice is being carried out on it, null for nothing."""
    seen = facts.memory.sighting(job)
    if seen is None or limits.not_ours(job, settings) is not None:
        return None
    ours = hold_of(job, seen.key, facts.memory) is Hold.OURS
    # A hold without a marker: with the journal lost, nobody would know whose it is.
    if job.state == "RUNNING" or (ours and read_marker(job.admin_comment) is None):
        mark = _mark(job, seen, facts, now)
        if mark is not None:
            return mark
    return _forgotten(job, seen, facts, settings, now) if ours else None


def _mark(job: SlurmJob, seen: Sighting, facts: Facts, now: int) -> Step | None:
    text = marked(job, seen.key)
    attempt = str(AttemptId(seen.key, job.restart_count))
    if text is None or _tried_lately(facts, attempt, Action.MARK, now):
        return None
    reason = "say whose job it is"
    return Step(action=Action.MARK, job_id=job.job_id, attempt=attempt, reason=reason, text=text)


def _forgotten(
    job: SlurmJob, seen: Sighting, facts: Facts, settings: ControllerSettings, now: int
) -> Step | None:
    source = source_of(job, seen.key)
    if source is None:
        return None
    since = seen.held_at if seen.held_at is not None else now
    held_seconds = (now - since) / MICROSECONDS_PER_SECOND
    wanted = held_seconds < settings.orphan_hold_seconds or str(source) in facts.awaited
    if wanted and held_seconds < settings.max_hold_seconds:
        return None
    if limits.worn_out(seen.key, facts, settings, now):
        return None
    if _tried_lately(facts, str(source), Action.RELEASE, now):
        return None
    reason = "held for too long" if wanted else "no Advice asks for this hold"
    return Step(action=Action.RELEASE, job_id=job.job_id, attempt=str(source), reason=reason)


def _tried_lately(facts: Facts, attempt: str, action: Action, now: int) -> bool:
    """Whether a command without Advice was just tried, or tried often enough."""
    tries = [
        deed
        for deed in facts.memory.deeds.get(attempt, ())
        if deed.action is action and deed.advice_id is None
    ]
    late = bool(tries) and limits.lately(tries[-1].intended_at, now)
    return late or len(tries) >= MAX_TRIES
