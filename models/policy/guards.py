"""Limits that make a restart more careful: each a name, words, and what is done instead.

A fact that nobody knows guards nothing: a guard speaks on what is known, and says what it saw.
"""

from __future__ import annotations

from collections.abc import Callable

from relume.advice import Budget, Operation
from relume.models.policy.policy import Policy
from relume.models.policy.repeats import with_progress
from relume.models.policy.view import Guard, PolicyView

_MICROSECONDS = 1_000_000
Check = Callable[[PolicyView, Policy], str | None]
"""Words of what is against it, null for nothing."""


def counted_tries(view: PolicyView, *, since: int | None = None) -> int:
    """Earlier attempts that were tries: those that failed, and did not pass the step before them.

    What goes on beside this attempt, ended well, or was requeued by somebody was no try. With
    `since`, those that are known to have ended from then on.
    """
    told = with_progress(view.history)
    return sum(
        past.fingerprint is not None
        and not advanced
        and (since is None or (past.ended_at is not None and past.ended_at >= since))
        for past, advanced in told
    )


def budget_of(view: PolicyView, policy: Policy) -> Budget:
    """Tries that the run has used and has left: a job may wish for fewer than the site allows."""
    wished = view.wishes.max_restarts
    allowed = policy.max_restarts if wished is None else min(wished, policy.max_restarts)
    used = counted_tries(view)
    return Budget(used, max(0, allowed - used))


def max_restarts(view: PolicyView, policy: Policy) -> str | None:
    """All tries of the run."""
    budget = budget_of(view, policy)
    return None if budget.left else f"all {budget.used} tries are used up"


def window_restarts(view: PolicyView, policy: Policy) -> str | None:
    """Tries of the run within the window."""
    now = view.around.now
    if now is None or policy.window_restarts is None:
        return None
    used = counted_tries(view, since=now - policy.window_seconds * _MICROSECONDS)
    if used < policy.window_restarts:
        return None
    return f"{used} tries in {policy.window_seconds / 3600:g} hours"


def no_time_left(view: PolicyView, policy: Policy) -> str | None:
    """A requeue renews the time limit, but no deadline and no reservation."""
    left, around = view.around.seconds_left, view.around
    if left is None:
        return None
    lost = (around.queue_seconds or 0.0) + (around.restart_seconds or 0.0)
    if left >= lost + policy.useful_seconds:
        return None
    return f"{left:.0f} s are left, of which the queue and the start take {lost:.0f}"


def blast_radius(view: PolicyView, policy: Policy) -> str | None:
    """Many jobs that fail at once fail by one thing, and would fail by it again."""
    failed, running = view.around.failed_together, view.around.running
    if failed is None or not trips(failed, running, policy):
        return None
    return f"{failed} jobs failed together: one incident of the cluster"


def trips(failed: int, running: int | None, policy: Policy) -> bool:
    """Whether so many that fail together, beside so many that run, are one incident.

    >>> standard = Policy()
    >>> [trips(*counts, standard) for counts in ((5, 15), (5, 16), (4, 0), (5, None))]
    [True, False, False, True]
    """
    if failed < policy.breaker_jobs:
        return False
    return running is None or failed >= policy.breaker_share * (failed + running)


def foreign_node(view: PolicyView, _: Policy) -> str | None:
    """Nobody is left out who had no part."""
    strangers = sorted(set(view.verdict.exclude_nodes) - set(view.run_nodes))
    return f"the run never used {', '.join(strangers)}" if strangers else None


def exclusion_cap(view: PolicyView, policy: Policy) -> str | None:
    """So many nodes for one job."""
    count = len(view.verdict.exclude_nodes)
    if count <= policy.exclusion_cap:
        return None
    return f"{count} nodes, allowed are {policy.exclusion_cap}"


def partition_cap(view: PolicyView, policy: Policy) -> str | None:
    """Such a share of a partition for all jobs."""
    total, already = view.around.partition_nodes, view.around.partition_excluded
    if not total:
        return None
    wanted = len(view.verdict.exclude_nodes) + (already or 0)
    allowed = int(policy.partition_cap * total + 1e-9)
    if wanted <= max(1, allowed):  # a small partition may lose one
        return None
    return f"{wanted} of {total} nodes of the partition would be out, allowed are {allowed}"


def required_node(view: PolicyView, _: Policy) -> str | None:
    """Whoever asks for a node by name gets no other."""
    met = sorted(set(view.verdict.exclude_nodes) & set(view.required_nodes))
    return f"the job itself asks for {', '.join(met)}" if met else None


def placement(view: PolicyView, _: Policy) -> str | None:
    """Without these nodes there must be enough others."""
    placeable = view.around.placeable_nodes
    if placeable is None or view.needed_nodes is None:
        return None
    out = set(view.verdict.exclude_nodes) | set(view.excluded_by_user)
    if placeable - len(out) >= view.needed_nodes:
        return None
    return "without these nodes the job could not be placed"


RESTART_GUARDS: tuple[tuple[Check, Operation], ...] = (
    (blast_radius, Operation.HOLD),
    (max_restarts, Operation.STOP),
    (window_restarts, Operation.STOP),
    (no_time_left, Operation.STOP),
)
"""What is against any restart, and what is done instead; the first one that speaks decides."""
EXCLUSION_GUARDS: tuple[Check, ...] = (
    foreign_node,
    exclusion_cap,
    partition_cap,
    required_node,
    placement,
)
"""What is against leaving nodes out: then it is a plain restart."""


def spoken(check: Check, view: PolicyView, policy: Policy) -> Guard | None:
    """Return the guard that speaks, null for silence."""
    words = check(view, policy)
    return None if words is None else Guard(check.__name__, words)
