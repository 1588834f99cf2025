"""The plan: what to do next, from what is known now. Pure, and the only place that decides.

Level-triggered: each call looks at the present state only, so it doesn't matter how often it is
called, or what was done before somebody killed the controller. At most one command a job comes out.
"""

from __future__ import annotations

from relume.advice import Advice, Disposition, Operation, Scope
from relume.clock import MICROSECONDS_PER_SECOND
from relume.controller import limits
from relume.controller.case import Case
from relume.controller.facts import Action, Facts
from relume.controller.holds import Hold
from relume.controller.steps import Close, Item, Step
from relume.controller.unasked import unasked
from relume.errors import InputError
from relume.identity import AttemptId
from relume.settings import ControllerSettings
from relume.slurm.job import ENDED_STATES

FAILED_STATES = frozenset({"BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT"})
"""Ends that may be taken back. COMPLETED and CANCELLED never: a requeue would revive them."""
_CLOCK_SECONDS = 5
"""How far the clocks of service and controller may differ."""
_RESTARTS = frozenset({Operation.RESTART, Operation.RESTART_EXCLUDING})
_LAUNCH_FAILED = "launch_failed_requeued_held"
_NO_REQUEUE = "the job can't be requeued (--no-requeue)"
_THEIRS = "held by its user or an admin"
_CANCELLED = "cancelled by its user or an admin"
_FUTILE = "it would fail the same way again"


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
        if advice.is_actionable and advice.scope is Scope.ATTEMPT:
            item = _of_advice(advice, facts, settings, now)
            items += [] if item is None else [item]
    busy = {item.job_id for item in items if isinstance(item, Step)}
    rest = (job for job in facts.jobs.values() if job.job_id not in busy)
    steps = (unasked(job, facts, settings, now) for job in rest)
    return [*items, *(step for step in steps if step is not None)]


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
    last = Action.CANCEL if advice.operation is Operation.STOP else Action.RELEASE
    done = facts.memory.did(advice.attempt, last) is not None
    disposition = Disposition.CONVERGED if done else Disposition.ABANDONED
    return Close(advice=advice, disposition=disposition, reason="the job is gone")


def _stranger(case: Case) -> Close | None:
    """Whether the job is one that we must not touch, or another one under the same id."""
    refusal = limits.not_ours(case.job, case.settings)
    if refusal is not None:
        return case.abandon(refusal)
    seen = case.facts.memory.sighting(case.job)
    if seen is None:
        return case.abandon("the job was resubmitted: its submit time was never seen")
    if seen.key != case.key:
        return case.abandon(f"the job was resubmitted: its id now belongs to {seen.key}")
    return None


def _withdrawn(case: Case) -> Close | None:
    """Whether the service no longer wants what we took on."""
    if not case.facts.heard:
        return None
    soon = case.now + _CLOCK_SECONDS * MICROSECONDS_PER_SECOND
    if case.advice.expires_at <= soon or case.advice.advice_id in case.facts.listed:
        return None
    return case.abandon("withdrawn by the service")


def _of_case(case: Case) -> Item | None:
    if case.advice.expires_at <= case.now or (case.ahead == 1 and case.held_too_long):
        return _expired(case)
    if case.ahead == 0:
        return _source(case)
    if case.ahead == 1:
        return _successor(case)
    if case.ahead < 0:
        return case.wait("Slurm shows an earlier attempt")
    return _already_away(case, "later attempts have started")


def _expired(case: Case) -> Item:
    """Past its deadline nothing is carried out; what we hold is let go."""
    if case.ahead == 1 and case.hold is Hold.OURS:
        late = "held for too long" if case.held_too_long else "its deadline has passed"
        return _let_go(case, late)
    if case.advice.operation is Operation.HOLD:
        return case.converged("expired")
    released = case.did(Action.RELEASE)
    if released is None:
        return case.abandon("expired before it was carried out")
    if released.intended_at < case.advice.expires_at:
        return case.converged(released.reason or None)
    return case.abandon("expired before it was carried out; the hold was taken off")


def _source(case: Case) -> Item | None:
    """The attempt itself is still what Slurm shows."""
    operation, state = case.advice.operation, case.job.state
    if operation is Operation.OBSERVE:
        return case.converged() if case.advice.settled else None
    if operation is Operation.STOP:
        return _stop_source(case)
    # A running job is not ended on a first impression, and a HOLD only keeps jobs from starting.
    ends_it = state == "RUNNING" and operation in _RESTARTS and case.advice.settled
    if state in FAILED_STATES or ends_it:
        return _place_hold(case)
    if state in ENDED_STATES:
        return case.abandon(_CANCELLED if state == "CANCELLED" else f"ended {state}")
    if case.hold is Hold.LAUNCH_FAILED:
        return case.abandon(_LAUNCH_FAILED)
    return case.wait(f"the job is {state}")


def _place_hold(case: Case) -> Item:
    if case.job.requeue is False:
        return case.abandon(_NO_REQUEUE)
    refusal = _refused(case)
    if refusal is not None:
        return refusal
    late = case.late()
    if late:
        return case.wait(late)
    # Only Slurm itself can tell in time that the job ended well or was cancelled meanwhile.
    action = Action.HOLD_RUNNING if case.job.state == "RUNNING" else Action.HOLD
    return case.step(action, f"the job is {case.job.state}")


def _stop_source(case: Case) -> Item:
    state = case.job.state
    if state == "COMPLETED":
        return case.abandon("ended COMPLETED")
    if state in ENDED_STATES:
        return case.converged(f"ended {state}")
    if state != "RUNNING" or not case.advice.settled:
        return case.wait(f"the job is {state}")
    accepted = case.facts.memory.accepted.get(case.advice.advice_id)
    since = accepted.accepted_at if accepted is not None else case.now
    if case.now < since + case.settings.stop_grace_seconds * MICROSECONDS_PER_SECOND:
        return case.wait("it may still end by itself")
    return _stop(case)


def _stop(case: Case) -> Item:
    late = case.late()
    if late:
        return case.wait(late)
    words = f"cancelled by Relume: {_FUTILE} ({case.advice.cause or 'cause unknown'})"
    if case.ahead == 1:
        words += "; the job had FAILED, Slurm shows CANCELLED"
    return case.told(words) or case.step(Action.CANCEL, _FUTILE)


def _successor(case: Case) -> Item:
    """The next attempt is there: held by us, by others, or under way."""
    if case.job.state == "COMPLETING":
        return case.wait("the job is COMPLETING")
    if case.job.state == "CANCELLED":
        return _cancelled(case)
    hold = case.hold
    if hold is Hold.NONE:
        return _already_away(case, "released or restarted by somebody else")
    if hold is not Hold.OURS:
        return case.abandon(_foreign(case))
    return _ours(case) if case.advice.settled else case.wait("held until the Advice is settled")


def _foreign(case: Case) -> str:
    """Say whose hold it is that we leave."""
    if case.job.requeue is False:
        return _NO_REQUEUE
    return _LAUNCH_FAILED if case.hold is Hold.LAUNCH_FAILED else _THEIRS


def _cancelled(case: Case) -> Close:
    if case.did(Action.CANCEL) is None:
        return case.abandon(_CANCELLED)
    if case.advice.operation is Operation.STOP:
        return case.converged("cancelled; FAILED became CANCELLED")
    return case.abandon("stopped before this was decided")


def _already_away(case: Case, otherwise: str) -> Close:
    """The next attempt is not held: by our doing, or by somebody else's, which wins."""
    if case.advice.operation is Operation.OBSERVE:
        return case.converged()
    released = case.did(Action.RELEASE)
    if released is None:
        return case.abandon(otherwise)
    if case.advice.operation not in _RESTARTS:
        return case.abandon("restarted before this was decided")
    return case.converged(released.reason or None)


def _ours(case: Case) -> Item:
    """Held by us, and the decision is settled."""
    if case.advice.operation is Operation.HOLD:
        return case.wait("held until the Advice expires")
    if case.advice.operation is Operation.STOP:
        return _stop(case)
    if case.advice.operation is Operation.OBSERVE:
        return _let_go(case, "nothing is to be done about it")
    return _restart(case)


def _restart(case: Case) -> Item:
    words = _log_end(case)
    if words is None:
        return case.wait("the end of the log is not durable yet")
    source = case.facts.memory.of(case.key, case.attempt.restart_count)
    silent = limits.silent_nodes(source.nodes, case.facts) if source is not None else []
    if silent and not limits.fenced(case.job):
        return case.wait(f"{', '.join(silent)} doesn't answer and may still be writing")
    late = case.late()
    if late:
        return case.wait(late)
    if not set(case.advice.exclude_nodes) <= set(case.job.exclude_nodes):
        return _refused(case) or _exclude(case)
    return case.told() or case.step(Action.RELEASE, words)


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
    return case.step(Action.EXCLUDE, "evidence names these nodes", union)


def _log_end(case: Case) -> str | None:
    """Return the words of a release that need not wait for the log, null if it has to."""
    if case.facts.landed.get(str(case.attempt)):
        return ""
    patience = case.settings.log_wait_seconds
    return "missing evidence: log end" if case.held_seconds >= patience else None


def _let_go(case: Case, reason: str) -> Item:
    late = limits.worn_out(case.key, case.facts, case.settings, case.now)
    return case.wait(late) if late else case.step(Action.RELEASE, reason)
