"""The decision about one attempt (DESIGN 5): default bias restart, exclude only on evidence.

The rules are tried in order; the first that applies decides, and the guards may then only make the
decision more careful.
"""

from __future__ import annotations

from dataclasses import replace

from relume.advice import Budget, Operation
from relume.models.policy.fingerprint import fingerprint
from relume.models.policy.repeats import streaks, with_progress
from relume.models.policy.view import Decision, Guard, PastAttempt, Policy, PolicyView
from relume.slurm.job import UNKNOWN_STATE
from relume.verdict import Domain, Kind, Retry

_NOT_FAILURES = frozenset({"PREEMPTED", "CANCELLED", "REVOKED", "COMPLETED"})
"""Ends that are no failures: the scheduler's or a person's decision, or success."""
CONFIRMED_HANG_RULE = "actionable_gap"
"""Rule of the hang detector whose verdicts are confirmed by time or a second signal."""
_SLURM_REQUEUES = frozenset({"NODE_FAIL"})
"""Slurm requeues these itself."""


def decide(view: PolicyView, policy: Policy) -> Decision:
    """Decide what should happen to the attempt of `view`. Pure and total: it never raises."""
    budget = _budget(view, policy)
    decision = _first_rule(view, policy, budget)
    if decision.operation in {Operation.RESTART, Operation.RESTART_EXCLUDING}:
        decision = _guarded(view, policy, decision)
    seconds = policy.hold_seconds if decision.operation is Operation.HOLD else policy.advice_seconds
    return replace(decision, expires_in_seconds=seconds)


def counted_tries(view: PolicyView) -> int:
    """Earlier attempts that were tries: those that failed, and did not pass the step before them.

    What goes on beside this attempt, ended well, or was requeued by somebody was no try.
    """
    told = with_progress(view.history)
    return sum(past.fingerprint is not None and not advanced for past, advanced in told)


def _budget(view: PolicyView, policy: Policy) -> Budget:
    wished = view.wishes.max_restarts
    allowed = policy.max_restarts if wished is None else min(wished, policy.max_restarts)
    used = counted_tries(view)
    return Budget(used, max(0, allowed - used))


def _first_rule(view: PolicyView, policy: Policy, budget: Budget) -> Decision:
    for rule in _RULES:
        found = rule(view, policy)
        if found is not None:
            operation, name, reason = found
            excluded = view.verdict.exclude_nodes
            nodes = excluded if operation is Operation.RESTART_EXCLUDING else ()
            return Decision(operation, name, reason, budget, nodes)
    raise AssertionError("the last rule always applies")


_Found = tuple[Operation, str, str] | None


def _no_failure_ended(view: PolicyView, _: Policy) -> _Found:
    """What the scheduler or a person ended, and what Slurm requeues, is left alone."""
    state = view.scheduler_state
    if state in _NOT_FAILURES:
        return Operation.OBSERVE, "scheduler_end", f"the scheduler says {state}: no failure"
    if view.ended and state == UNKNOWN_STATE:
        return Operation.OBSERVE, "unknown_state", "nobody can tell how it ended"
    if state in _SLURM_REQUEUES:
        return Operation.OBSERVE, "slurm_requeues", "Slurm requeues node failures itself"
    if view.verdict.domain is Domain.SCHEDULER and not view.wishes.restart_on_time_limit:
        return Operation.OBSERVE, "scheduler_decision", "a limit or preemption, no failure"
    return None


def _numeric(view: PolicyView, policy: Policy) -> _Found:
    """The numbers of a model are its owner's matter: nothing is done unless the site says so."""
    if view.verdict.kind is not Kind.NUMERIC:
        return None
    if not view.ended:
        return Operation.OBSERVE, "numeric", "numbers of the model went wrong, and it still runs"
    return policy.numeric, "numeric", "numbers of the model went wrong, nothing that it runs on"


def _nothing_seen(view: PolicyView, _: Policy) -> _Found:
    """Without a failure there is nothing to do, unless the scheduler says that there was one."""
    if view.verdict.kind in {Kind.CRASH, Kind.HANG}:
        return None
    if view.ended and view.scheduler_state == "FAILED":
        return Operation.RESTART, "unknown_exit", "it ended FAILED, the cause is unknown"
    return Operation.OBSERVE, "no_failure", f"the verdict is {view.verdict.kind}"


def _identical(view: PolicyView, policy: Policy) -> _Found:
    if not _repeats(view, policy.identical_failures):
        return None
    return Operation.STOP, "identical_failure", "the same workload failure again, without progress"


def _hang(view: PolicyView, _: Policy) -> _Found:
    """A hang that nobody is blamed for is restarted once it is confirmed, else held."""
    verdict = view.verdict
    if verdict.kind is not Kind.HANG or verdict.culprit or view.ended:
        return None
    if verdict.rule == CONFIRMED_HANG_RULE:
        reason = "no progress for longer than ever seen, confirmed by time or a second signal"
        return Operation.RESTART, "confirmed_hang", reason
    return Operation.HOLD, "unattributed_hang", "a hang whose cause nobody can name yet"


def _network(view: PolicyView, _: Policy) -> _Found:
    if view.verdict.domain is not Domain.NETWORK or view.verdict.exclude_nodes:
        return None
    return Operation.HOLD, "network_back_off", "a network failure nobody is blamed for"


def _restart(view: PolicyView, _: Policy) -> _Found:
    if view.verdict.exclude_nodes and view.wishes.exclude and view.settled:
        return Operation.RESTART_EXCLUDING, "exclude_culprit", "evidence names a node"
    return Operation.RESTART, "restart", "a failure that a restart may get over"


_RULES = (_no_failure_ended, _numeric, _nothing_seen, _identical, _hang, _network, _restart)


def _repeats(view: PolicyView, times: int) -> bool:
    """Whether the workload fails identically for the `times`-th time in a row, no step is new.

    What no line shows is never identical: accounting's word, a limit of memory say, is of many.
    """
    if view.verdict.root_line is None:
        return False
    if view.verdict.domain is not Domain.WORKLOAD or not view.wishes.stop_on_repeat:
        return False
    if view.verdict.retry is Retry.YES:
        return False
    count = max((past.restart_count for past in view.history), default=-1) + 1
    now = PastAttempt(count, fingerprint(view.verdict), None, view.last_step)
    return len(streaks((*view.history, now))[-1]) >= times


def _guarded(view: PolicyView, policy: Policy, decision: Decision) -> Decision:
    if decision.budget.left == 0:
        words = f"all {decision.budget.used} tries are used up"
        return replace(
            decision,
            operation=Operation.STOP,
            exclude_nodes=(),
            guards=(*decision.guards, Guard("max_restarts", words)),
        )
    if decision.operation is Operation.RESTART_EXCLUDING:
        refusal = _refused_exclusion(view, policy, decision.exclude_nodes)
        if refusal is not None:
            return replace(
                decision,
                operation=Operation.RESTART,
                exclude_nodes=(),
                guards=(*decision.guards, refusal),
            )
    return decision


def _refused_exclusion(view: PolicyView, policy: Policy, nodes: tuple[str, ...]) -> Guard | None:
    strangers = sorted(set(nodes) - set(view.run_nodes))
    if strangers:
        return Guard("foreign_node", f"the run never used {', '.join(strangers)}")
    wanted = set(nodes) | set(view.excluded_by_user)
    if len(nodes) > policy.exclusion_cap:
        return Guard("exclusion_cap", f"{len(nodes)} nodes, allowed are {policy.exclusion_cap}")
    met = sorted(set(nodes) & set(view.required_nodes))
    if met:
        return Guard("required_node", f"the job itself asks for {', '.join(met)}")
    known = view.placeable_nodes is not None and view.needed_nodes is not None
    if known and (view.placeable_nodes or 0) - len(wanted) < (view.needed_nodes or 0):
        return Guard("placement", "without these nodes the job could not be placed")
    return None
