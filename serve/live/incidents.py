"""One incident of a whole cluster, as Advice of scope *cluster*."""

from __future__ import annotations

from relume.advice import Advice, Budget, Mode, Operation, Scope, advice_id, subject
from relume.clock import MICROSECONDS_PER_SECOND
from relume.models.fleet.breaker import Incident
from relume.models.policy.guards import blast_radius
from relume.models.policy.policy import Policy
from relume.verdict import Kind

CAUSE = "many_fail_together"
CONFIDENCE = 0.9
"""Nothing is measured of how often such jobs fail by one thing: the stories are ours. It says that
chance alone hardly makes so many fail at once."""


def incident_advice(
    before: Incident | None, after: Incident | None, policy: Policy, now: int
) -> Advice | None:
    """Return what is told at `now` when an incident has begun (HOLD) or is over (OBSERVE).

    Null while nothing changes. The jobs that it holds have Advice of their own: this one is for
    people, who want to see one thing.
    """
    one = after or before
    if one is None or (before is None) is (after is None):
        return None
    is_over = after is None
    generation = 2 if is_over else 1
    about = subject(one.first, Scope.CLUSTER, ())
    seconds = policy.advice_seconds if is_over else policy.hold_seconds
    return Advice(
        advice_id=advice_id(about, generation),
        attempt=one.first,
        generation=generation,
        scope=Scope.CLUSTER,
        operation=Operation.OBSERVE if is_over else Operation.HOLD,
        kind=Kind.CRASH if one.has_crashed else Kind.HANG,
        domain=one.domain,
        cause=CAUSE,
        confidence=CONFIDENCE,
        rule=blast_radius.__name__,
        budget=Budget(0, None),
        mode=Mode.MONITOR,
        settled=True,
        created_at=now,
        decided_at=now,
        expires_at=now + seconds * MICROSECONDS_PER_SECOND,
        supersedes=advice_id(about, 1) if is_over else None,
    )
