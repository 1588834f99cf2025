"""A ledger with something in every table, and all that it says."""

from __future__ import annotations

from typing import Any

from advising import ATTEMPT, CREATED, make_advice, make_attempt
from relume.advice import Disposition, Reconciliation
from relume.models.worth.outcomes import Label
from relume.serve.ledger import LabelRecord, Ledger, Milestone, OutcomeRecord

ATTEMPTS = tuple(f"lab/{number}@1767323045.0" for number in range(1, 8))


def fill(ledger: Ledger) -> None:
    """Write something of every kind; names and texts that are easily changed on the way."""
    token = ledger.take_lease("lab", "controller Ä", 30, CREATED).fencing_token
    for attempt in (*ATTEMPTS, ATTEMPT):
        advice = make_advice(attempt=attempt, missing_evidence=("ü 🚀 \\ ' \" %s :x \x00 ",))
        ledger.put_advice(advice)
        ledger.put_attempt(make_attempt(attempt=attempt, ended=attempt == ATTEMPT))
        said = LabelRecord(
            advice_id=advice.advice_id, right=attempt != ATTEMPT, who="é ", at=CREATED, why="—"
        )
        ledger.put_label(said)
    first = make_advice().advice_id
    report = Reconciliation(Disposition.CONVERGED, "runs again", 1)
    ledger.reconcile(first, report, token, CREATED)
    ledger.note(
        OutcomeRecord(
            advice_id=first,
            attempt=ATTEMPT,
            rule=None,
            label=Label.TRUE,
            reason="it died",
            alarm_at=CREATED,
            known_at=2**53 + 1,
        )
    )
    ledger.put_milestone(ATTEMPT, Milestone.FINISHED, event_time=2**62, advice_id=first)
    ledger.put_cursors({"a": "1", "A": "2", "a ": "x" * 100_000, "": ""})
    ledger.put_fleet("lab", '{"x": "' + "ö" * 70_000 + '"}')


def said_by(ledger: Ledger) -> dict[str, Any]:
    """Return all that a ledger tells."""
    advice = ledger.listed()
    return {
        "advice": advice,
        "standing": [ledger.standing(one.advice_id) for one in advice],
        "incidents": ledger.incidents(),
        "outcomes": ledger.outcomes(),
        "audit": ledger.audit(),
        "verified": ledger.verify(),
        "attempts": ledger.attempts(),
        "milestones": ledger.milestones(ATTEMPT),
        "lease": ledger.get_lease("lab"),
        "fleet": ledger.get_fleet("lab"),
        "cursors": ledger.cursors(),
    }
