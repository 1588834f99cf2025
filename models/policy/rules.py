"""The rules about an attempt, in the order in which they are tried; the first that applies decides.

Each returns what should happen and why, or in words why it doesn't apply.
"""

from __future__ import annotations

from collections.abc import Callable

from relume.advice import Operation
from relume.models.policy.fingerprint import fingerprint
from relume.models.policy.policy import Policy
from relume.models.policy.repeats import streaks
from relume.models.policy.view import PastAttempt, PolicyView
from relume.slurm.job import UNKNOWN_STATE
from relume.verdict import Domain, Kind, Retry

_NOT_FAILURES = frozenset({"PREEMPTED", "CANCELLED", "REVOKED", "COMPLETED"})
"""Ends that are no failures: the scheduler's or a person's decision, or success."""
_SLURM_REQUEUES = frozenset({"NODE_FAIL"})
"""Slurm requeues these itself."""
SUSPECTED_HANG_RULE = "suspicious_gap"
"""Rule of the hang detector for silences that only deserve a closer look."""
CONFIRMED_HANG_RULE = "actionable_gap"
"""Rule of the hang detector whose verdicts are confirmed by time or a second signal."""

Outcome = tuple[Operation, str] | str
"""What should happen and why; or only why the rule doesn't apply."""
Rule = Callable[[PolicyView, Policy], Outcome]


def admin_acted(view: PolicyView, _: Policy) -> Outcome:
    """Whoever put a hand on the job or its nodes knows better."""
    acted = view.around.admin_acted
    return (Operation.OBSERVE, f"a person acted: {acted}") if acted else "no person acted"


def scheduler_end(view: PolicyView, _: Policy) -> Outcome:
    """What the scheduler or a person ended is left alone."""
    state = view.scheduler_state
    if state in _NOT_FAILURES:
        return Operation.OBSERVE, f"the scheduler says {state}: no failure"
    return f"the scheduler says {state}"


def unknown_state(view: PolicyView, _: Policy) -> Outcome:
    """Nothing is done about an end that nobody can tell."""
    if view.ended and view.scheduler_state == UNKNOWN_STATE:
        return Operation.OBSERVE, "nobody can tell how it ended"
    return "how it stands is known"


def slurm_requeues(view: PolicyView, _: Policy) -> Outcome:
    """What Slurm requeues itself is left to it."""
    if view.scheduler_state in _SLURM_REQUEUES:
        return Operation.OBSERVE, "Slurm requeues node failures itself"
    return "Slurm leaves it to us"


def scheduler_decision(view: PolicyView, _: Policy) -> Outcome:
    """Limits and preemptions are decisions, unless the job wishes to go on after them."""
    if view.verdict.domain is not Domain.SCHEDULER:
        return "no limit or preemption"
    if view.wishes.restart_on_time_limit:
        return "the job wishes to go on after a limit"
    return Operation.OBSERVE, "a limit or preemption, no failure"


def numeric(view: PolicyView, policy: Policy) -> Outcome:
    """The numbers of a model are its owner's matter: nothing is done unless the site says so."""
    if view.verdict.kind is not Kind.NUMERIC:
        return "the numbers of the model are in order, or unknown"
    if not view.ended:
        return Operation.OBSERVE, "numbers of the model went wrong, and it still runs"
    return policy.numeric, "numbers of the model went wrong, nothing that it runs on"


def suspected_hang(view: PolicyView, _: Policy) -> Outcome:
    """A silence that is only suspicious is watched, and evidence is asked for."""
    if not _is_failure(view) and view.verdict.rule == SUSPECTED_HANG_RULE:
        return Operation.OBSERVE, "silent for longer than usual"
    return "no silence that is only suspicious"


def unknown_exit(view: PolicyView, _: Policy) -> Outcome:
    """An exit that the scheduler calls failed is restarted, whoever caused it."""
    if _is_failure(view):
        return f"the verdict is {view.verdict.kind}"
    if view.ended and view.scheduler_state == "FAILED":
        return Operation.RESTART, "it ended FAILED, the cause is unknown"
    return "the scheduler doesn't say FAILED"


def no_failure(view: PolicyView, _: Policy) -> Outcome:
    """Without a failure there is nothing to do."""
    if not _is_failure(view):
        return Operation.OBSERVE, f"the verdict is {view.verdict.kind}"
    return f"the verdict is {view.verdict.kind}"


def identical_failure(view: PolicyView, policy: Policy) -> Outcome:
    """Stop a workload that fails identically for the n-th time in a row, with no new step.

    What no line shows is never identical: accounting's word, a limit of memory say, is of many.
    """
    verdict = view.verdict
    if verdict.domain is not Domain.WORKLOAD:
        return f"the domain is {verdict.domain}, not workload"
    if verdict.root_line is None:
        return "no line shows what failed"
    if not view.wishes.stop_on_repeat:
        return "the job doesn't wish to be stopped for it"
    if verdict.retry is Retry.YES:
        return "such failures pass by themselves"
    count = max((past.restart_count for past in view.history), default=-1) + 1
    now = PastAttempt(count, fingerprint(verdict), None, view.last_step)
    row = len(streaks((*view.history, now))[-1])
    if row < policy.identical_failures:
        return f"{row} in a row, {policy.identical_failures} stop it"
    return Operation.STOP, "the same workload failure again, without progress"


def confirmed_hang(view: PolicyView, _: Policy) -> Outcome:
    """A hang that nobody is blamed for is restarted once it is confirmed."""
    if not _is_blameless_hang(view):
        return "no hang of a running job that nobody is blamed for"
    if view.verdict.rule != CONFIRMED_HANG_RULE:
        return "neither time nor a second signal confirms it"
    reason = "no progress for longer than ever seen, confirmed by time or a second signal"
    return Operation.RESTART, reason


def unattributed_hang(view: PolicyView, _: Policy) -> Outcome:
    """A hang that nobody can explain yet is held."""
    if _is_blameless_hang(view):
        return Operation.HOLD, "a hang whose cause nobody can name yet"
    return "no hang of a running job that nobody is blamed for"


def network_back_off(view: PolicyView, _: Policy) -> Outcome:
    """A network that failed is given time."""
    if view.verdict.domain is not Domain.NETWORK:
        return f"the domain is {view.verdict.domain}, not network"
    if view.verdict.exclude_nodes:
        return "evidence names a node"
    return Operation.HOLD, "a network failure nobody is blamed for"


def exclude_culprit(view: PolicyView, _: Policy) -> Outcome:
    """A node that evidence names is left out."""
    if not view.verdict.exclude_nodes:
        return "evidence names no node to leave out"
    if not view.wishes.exclude:
        return "the job doesn't wish nodes to be left out"
    if not view.settled:
        return "more evidence may come"
    return Operation.RESTART_EXCLUDING, "evidence names a node"


def restart(_: PolicyView, __: Policy) -> Outcome:
    """Restart: the default bias."""
    return Operation.RESTART, "a failure that a restart may get over"


RULES: tuple[Rule, ...] = (
    admin_acted,
    scheduler_end,
    unknown_state,
    slurm_requeues,
    scheduler_decision,
    numeric,
    suspected_hang,
    unknown_exit,
    no_failure,
    identical_failure,
    confirmed_hang,
    unattributed_hang,
    network_back_off,
    exclude_culprit,
    restart,
)


def _is_failure(view: PolicyView) -> bool:
    return view.verdict.kind in {Kind.CRASH, Kind.HANG}


def _is_blameless_hang(view: PolicyView) -> bool:
    verdict = view.verdict
    return verdict.kind is Kind.HANG and not verdict.culprit and not view.ended
