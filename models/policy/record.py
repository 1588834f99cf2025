"""A decision written down as Advice."""

from __future__ import annotations

from relume.advice import Advice, Mode, Operation, advice_id
from relume.models.policy.view import Decision, PolicyView

_MICROSECONDS = 1_000_000


def to_advice(
    decision: Decision, view: PolicyView, *, generation: int, mode: Mode, now: int
) -> Advice:
    """Return the Advice of `decision`, created at `now` (UTC microseconds).

    An unsettled generation never excludes: it may hold a job, not release it. The advice ids of two
    generations of one attempt chain by `supersedes`. In mode *approve* it is not decided before a
    person has answered, however settled the evidence is.
    """
    attempt, verdict = str(view.attempt), view.verdict
    operation = decision.operation
    if operation is Operation.RESTART_EXCLUDING and not view.settled:
        operation = Operation.RESTART
    return Advice(
        advice_id=advice_id(attempt, generation),
        attempt=attempt,
        generation=generation,
        operation=operation,
        exclude_nodes=decision.exclude_nodes if operation is decision.operation else (),
        requests=decision.requests,
        kind=verdict.kind,
        domain=verdict.domain,
        cause=verdict.cause,
        confidence=verdict.confidence,
        rule=verdict.rule,
        evidence=verdict.evidence,
        missing_evidence=verdict.missing_evidence,
        budget=decision.budget,
        mode=mode,
        settled=view.settled,
        created_at=now,
        decided_at=now if view.settled and mode is not Mode.APPROVE else None,
        expires_at=now + decision.expires_in_seconds * _MICROSECONDS,
        supersedes=advice_id(attempt, generation - 1) if generation > 1 else None,
        measured=verdict.measured,
    )
