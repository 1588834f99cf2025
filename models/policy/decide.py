"""The decision about one attempt (DESIGN 5): default bias restart, exclude only on evidence.

The rules are tried in order; the first that applies decides, and the guards may then only make the
decision more careful.
"""

from __future__ import annotations

from dataclasses import replace

from relume.advice import Operation
from relume.models.policy.guards import (
    EXCLUSION_GUARDS,
    RESTART_GUARDS,
    blast_radius,
    budget_of,
    spoken,
)
from relume.models.policy.policy import Policy
from relume.models.policy.rules import RULES, identical_failure
from relume.models.policy.view import Decision, Passed, PolicyView

_SILENCES = frozenset({"suspected_hang", "confirmed_hang", "unattributed_hang"})
_RESTARTS = frozenset({Operation.RESTART, Operation.RESTART_EXCLUDING})


def decide(view: PolicyView, policy: Policy) -> Decision:
    """Decide what should happen to the attempt of `view`. Pure and total: it never raises."""
    decision = _first_rule(view, policy)
    if decision.rule in _SILENCES:  # stacks are gone once a collective has timed out
        decision = replace(decision, requests=view.wishes.requests)
    if decision.operation in _RESTARTS:
        decision = _guarded(view, policy, decision)
    elif decision.rule == identical_failure.__name__:  # not its own, if it strikes many
        decision = _held(view, policy, decision)
    seconds = policy.hold_seconds if decision.operation is Operation.HOLD else policy.advice_seconds
    return replace(decision, expires_in_seconds=seconds)


def _first_rule(view: PolicyView, policy: Policy) -> Decision:
    passed: list[Passed] = []
    for rule in RULES:
        outcome = rule(view, policy)
        if isinstance(outcome, str):
            passed.append(Passed(rule.__name__, outcome))
            continue
        operation, reason = outcome
        excludes = operation is Operation.RESTART_EXCLUDING
        return Decision(
            operation,
            rule.__name__,
            reason,
            budget_of(view, policy),
            view.verdict.exclude_nodes if excludes else (),
            passed=tuple(passed),
        )
    raise AssertionError("the last rule always applies")


def _held(view: PolicyView, policy: Policy, decision: Decision) -> Decision:
    guard = spoken(blast_radius, view, policy)
    if guard is None:
        return decision
    return replace(decision, operation=Operation.HOLD, guards=(guard,))


def _guarded(view: PolicyView, policy: Policy, decision: Decision) -> Decision:
    excludes = decision.operation is Operation.RESTART_EXCLUDING
    plainly = ((check, Operation.RESTART) for check in EXCLUSION_GUARDS if excludes)
    for check, instead in (*RESTART_GUARDS, *plainly):
        guard = spoken(check, view, policy)
        if guard is not None:
            return replace(decision, operation=instead, exclude_nodes=(), guards=(guard,))
    return decision
