"""The plan: what to do next, from what is known now. Pure, and the only place that decides.

Level-triggered: each call looks at the present state only, so it doesn't matter how often it is
called, or what was done before somebody killed the controller. At most one command a job comes out.
"""

from __future__ import annotations

from dataclasses import dataclass

from relume.advice import Advice, Disposition, Mode, Operation, Scope
from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller import limits
from relume.controller.facts import Action, Deed, Facts, Outcome
from relume.controller.holds import Hold, hold_of, source_of
from relume.controller.marker import Marker, read_marker, with_marker
from relume.controller.steps import Close, Item, Step, Wait
from relume.errors import InputError
from relume.identity import AttemptId, JobKey
from relume.settings import ControllerSettings
from relume.slurm.job import ENDED_STATES, SlurmJob

RETRY_SECONDS = 20
"""Before a command is repeated whose effect doesn't show. Slurm's own time-out is 10 s: a command
that we gave up on may still come into force until then."""
MAX_TRIES = 5
"""Of one command for one Advice."""
FAILED_STATES = frozenset({"BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"})
"""Ends that may be taken back. COMPLETED and CANCELLED never: a requeue would revive them."""
_LATE_SECONDS = 5
"""Clocks of service and controller may differ by so much about what has expired."""
_RESTARTS = frozenset({Operation.RESTART, Operation.RESTART_EXCLUDING})
_ENDED_WELL = frozenset({"COMPLETED", "CANCELLED"})


def plan(facts: Facts, settings: ControllerSettings, now: int) -> list[Item]:
    """Return what is to be done next: commands, reports, and what is waited for.

    Parameters
    ----------
    facts
        What is known; sightings of the jobs in it must be in its memory already.
    settings
        The controller's limits. The mode doesn't matter here: what `observe` would do is a plan.
    now
        UTC microseconds.
    """
    items: list[Item] = []
    for advice in facts.considered:
        if advice.mode is Mode.ACT and advice.scope is Scope.ATTEMPT:
            item = _of_advice(advice, facts, settings, now)
            items += [item] if item is not None else []
    busy = {item.job_id for item in items if isinstance(item, Step)}
    for job in facts.jobs.values():
        if job.job_id not in busy and limits.not_ours(job, settings) is None:
            items += _without_advice(job, facts, settings, now)
    return items


def _of_advice(advice: Advice, facts: Facts, settings: ControllerSettings, now: int) -> Item | None:
    try:
        attempt = AttemptId.parse(advice.attempt)
    except InputError as error:
        return Close(advice=advice, disposition=Disposition.ABANDONED, reason=str(error))
    if attempt.job_key.cluster != facts.cluster:
        return None
    job = facts.jobs.get(attempt.job_key.job_id)
    if job is None:
        return _gone(advice, facts)
    case = Case(advice=advice, attempt=attempt, job=job, facts=facts, settings=settings, now=now)
    return _stranger(case) or _withdrawn(case) or _of_case(case)


def _gone(advice: Advice, facts: Facts) -> Close:
    """Slurm has forgotten the job: what was done about it counts."""
    ended = Action.CANCEL if advice.operation is Operation.STOP else Action.RELEASE
    if facts.memory.did(advice.attempt, ended) is not None:
        return Close(advice=advice, disposition=Disposition.CONVERGED, reason="the job is gone")
    return Close(advice=advice, disposition=Disposition.ABANDONED, reason="the job is gone")


def _stranger(case: Case) -> Close | None:
    """Whether the job is one that we must not touch, or another one under the same id."""
    refusal = limits.not_ours(case.job, case.settings)
    if refusal is not None:
        return case.abandon(refusal)
    seen = case.facts.memory.sighting(case.job)
    if seen is None:
        return case.abandon("resubmitted, or never seen: its submit time is not one of this job's")
    if seen.key != case.key:
        return case.abandon(f"job id {case.job.job_id} now belongs to {seen.key}")
    return None


def _withdrawn(case: Case) -> Close | None:
    """Whether the service no longer wants what we took on."""
    soon = case.now + _LATE_SECONDS * MICROSECONDS_PER_SECOND
    if case.advice.expires_at <= soon or case.advice.advice_id in case.facts.listed:
        return None
    return case.abandon("withdrawn by the service")


def _of_case(case: Case) -> Item | None:
    if case.advice.expires_at <= case.now:
        return _expired(case)
    ahead = case.job.restart_count - case.attempt.restart_count
    if ahead < 0:
        return case.wait("Slurm shows an earlier attempt")
    if ahead == 0:
        return _source(case)
    if ahead == 1:
        return _successor(case)
    return _already_away(case, "later attempts have started")


def _expired(case: Case) -> Item:
    """Past its deadline nothing is carried out; what we hold is let go."""
    successor = case.job.restart_count == case.attempt.restart_count + 1
    if successor and hold_of(case.job, case.key, case.facts.memory) is Hold.OURS:
        return _let_go(case, "its deadline has passed")
    if case.advice.operation is Operation.HOLD:
        return case.close(Disposition.CONVERGED, "expired")
    released = case.facts.memory.did(str(case.attempt), Action.RELEASE)
    if released is None:
        return case.abandon("expired before it was carried out")
    if released.intended_at < case.advice.expires_at:
        return case.close(Disposition.CONVERGED, released.reason or None)
    return case.abandon("expired before it was carried out; the hold was taken off")


def _source(case: Case) -> Item | None:
    """The attempt itself is still what Slurm shows."""
    operation, state = case.advice.operation, case.job.state
    if operation is Operation.OBSERVE:
        return case.close(Disposition.CONVERGED) if case.advice.settled else None
    if state == "PENDING" and hold_of(case.job, case.key, case.facts.memory) is Hold.LAUNCH_FAILED:
        return case.abandon("launch_failed_requeued_held")
    if operation is Operation.STOP:
        return _stop_source(case)
    if state in FAILED_STATES:
        return _place_hold(case)
    if state in ENDED_STATES:
        who = "cancelled by its user or an admin" if state == "CANCELLED" else f"ended {state}"
        return case.abandon(who)
    if state == "RUNNING" and operation in _RESTARTS and case.advice.settled:
        return _place_hold(case)
    # A running job is not ended on a first impression, and a HOLD only keeps jobs from starting.
    return case.wait(f"the job is {state}")


def _place_hold(case: Case) -> Item:
    if case.job.requeue is False:
        return case.abandon("the job can't be requeued (--no-requeue)")
    refusal = _refused(case)
    if refusal is not None:
        return refusal
    late = limits.throttled(str(case.attempt), case.key, case.facts, case.settings, case.now)
    return case.wait(late) if late else step(case, Action.HOLD, f"the job is {case.job.state}")


def _stop_source(case: Case) -> Item:
    state = case.job.state
    if state == "COMPLETED":
        return case.abandon("ended COMPLETED")
    if state in ENDED_STATES:
        return case.close(Disposition.CONVERGED, f"ended {state}")
    if state != "RUNNING" or not case.advice.settled:
        return case.wait(f"the job is {state}")
    accepted = case.facts.memory.accepted.get(case.advice.advice_id)
    since = accepted.accepted_at if accepted is not None else case.now
    if case.now < since + case.settings.stop_grace_seconds * MICROSECONDS_PER_SECOND:
        return case.wait("it may still end by itself")
    return _stop(case, "it would fail the same way again")


def _stop(case: Case, reason: str) -> Item:
    late = limits.throttled(str(case.attempt), case.key, case.facts, case.settings, case.now)
    if late:
        return case.wait(late)
    words = f"cancelled by Relume: {reason} ({case.advice.cause or 'cause unknown'})"
    if case.job.state != "RUNNING":
        words += "; the job had FAILED, Slurm shows CANCELLED"
    return told(case, words) or step(case, Action.CANCEL, reason)


def _successor(case: Case) -> Item | None:
    """The next attempt is there: held by us, by others, or under way."""
    state = case.job.state
    hold = hold_of(case.job, case.key, case.facts.memory)
    if state == "COMPLETING":
        return case.wait("the job is COMPLETING")
    if hold is Hold.LAUNCH_FAILED:
        return case.abandon("launch_failed_requeued_held")
    if state == "CANCELLED":
        return _cancelled(case)
    if hold is Hold.FOREIGN:
        return case.abandon("held by its user or an admin")
    if hold is Hold.NONE:
        return _already_away(case, "released or restarted by somebody else")
    if not case.advice.settled:
        return case.wait("held; the Advice is not settled yet")
    return _ours(case)


def _cancelled(case: Case) -> Close:
    if not case.did(Action.CANCEL):
        return case.abandon("cancelled by its user or an admin")
    if case.advice.operation is Operation.STOP:
        return case.close(Disposition.CONVERGED, "cancelled; FAILED became CANCELLED")
    ended = case.facts.endings.get(str(case.attempt), "well")
    return case.abandon(f"ended {ended} just before the hold; its revival was cancelled")


def _already_away(case: Case, otherwise: str) -> Close:
    released = case.facts.memory.did(str(case.attempt), Action.RELEASE)
    if case.advice.operation is Operation.OBSERVE:
        return case.close(Disposition.CONVERGED)
    if released is None:
        return case.abandon(otherwise)
    if case.advice.operation not in _RESTARTS:
        return case.abandon("restarted before this was decided")
    return case.close(Disposition.CONVERGED, released.reason or None)


def _ours(case: Case) -> Item:
    operation = case.advice.operation
    ended = case.facts.endings.get(str(case.attempt))
    if ended in _ENDED_WELL:
        return step(case, Action.CANCEL, f"it had ended {ended} before it was held")
    if operation is Operation.HOLD:
        return case.wait("held until the Advice expires")
    if operation is Operation.STOP:
        return _stop(case, "it would fail the same way again")
    if operation is Operation.OBSERVE:
        return _let_go(case, "nothing is to be done about it")
    return _restart(case)


def _restart(case: Case) -> Item:
    landed = _log_end(case)
    if landed is None:
        return case.wait("the end of the log is not durable yet")
    source = case.facts.memory.of(case.key, case.attempt.restart_count)
    silent = limits.silent_nodes(source.nodes, case.facts) if source is not None else []
    if silent and not limits.fenced(case.job):
        return case.wait(f"{', '.join(silent)} doesn't answer and may still be writing")
    late = limits.throttled(str(case.attempt), case.key, case.facts, case.settings, case.now)
    if late:
        return case.wait(late)
    if not set(case.advice.exclude_nodes) <= set(case.job.exclude_nodes):
        return _refused(case) or _exclude(case)
    return told(case) or step(case, Action.RELEASE, landed)


def _refused(case: Case) -> Close | None:
    """Whether the nodes that the Advice excludes must not be excluded."""
    wanted = case.advice.exclude_nodes
    if not wanted:
        return None
    refusal = limits.refused_exclusion(case.job, wanted, case.key, case.facts, case.settings)
    return case.abandon(f"refused: {refusal}") if refusal is not None else None


def _exclude(case: Case) -> Item:
    """Set the union: Slurm replaces the list, and the user's own exclusions must stay."""
    union = tuple(sorted({*case.job.exclude_nodes, *case.advice.exclude_nodes}))
    return step(case, Action.EXCLUDE, "evidence names these nodes", nodes=union)


def _log_end(case: Case) -> str | None:
    """Return the words of a release that need not wait for the log, null if it has to."""
    if case.facts.landed.get(str(case.attempt)):
        return ""
    held = case.facts.memory.sighting(case.job)
    since = held.held_at if held is not None and held.held_at is not None else case.now
    waited = case.now - since >= case.settings.log_wait_seconds * MICROSECONDS_PER_SECOND
    return "missing evidence: log end" if waited else None


def _let_go(case: Case, reason: str) -> Item:
    late = limits.worn_out(case.key, case.facts, case.settings, case.now)
    return case.wait(late) if late else step(case, Action.RELEASE, reason)
