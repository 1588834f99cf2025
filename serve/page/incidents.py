"""The page of incidents: what goes on now, newest first."""

from __future__ import annotations

from dataclasses import dataclass

from relume.advice import Advice
from relume.serve.ledger import AttemptRecord, IncidentRecord, Ledger
from relume.serve.page.advised import waits_for_person
from relume.serve.page.missing import no_such
from relume.serve.page.words import cut

PAGE = 50
"""Incidents of one page: what a person looks through, and a browser draws at once."""


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """One incident, with whose attempt it is; null where the ledger doesn't know that.

    `line` is the first one behind its newest Advice, cut; null where it quotes none. `waits` tells
    whether that Advice waits for a person.
    """

    incident: IncidentRecord
    attempt: AttemptRecord | None
    line: str | None
    waits: bool


@dataclass(frozen=True, slots=True)
class IncidentsPage:
    """One page of incidents.

    Attributes
    ----------
    total
        How many go on.
    kinds, operations
        How many of those are of each kind, and what is advised for how many.
    is_open
        Which are listed: those that go on, or those that are over.
    waiting
        How many Advice wait for a person.
    before
        Asks for the next page; null after the last one.
    """

    total: int
    kinds: dict[str, int]
    operations: dict[str, int]
    is_open: bool
    waiting: int
    incidents: list[IncidentRow]
    before: str | None


def incidents_page(
    ledger: Ledger, *, is_open: bool = True, before: str = "", waiting: int = 0
) -> IncidentsPage:
    """Look up one page.

    Raises
    ------
    InputError
        For a `before` that isn't in the ledger.
    """
    total, kinds, operations = ledger.count_incidents()
    found = ledger.incidents(is_open=is_open, before=before, limit=PAGE + 1)
    shown = found[:PAGE]
    known = ledger.attempts_named({one.attempt for one in shown})
    newest = ledger.advice_named(one.advice[-1] for one in shown if one.advice)
    return IncidentsPage(
        total=total,
        kinds={kind.value: count for kind, count in kinds.most_common()},
        operations={operation.value: count for operation, count in operations.most_common()},
        is_open=is_open,
        waiting=waiting,
        incidents=[
            _row(one, known.get(one.attempt), newest.get(one.advice[-1]) if one.advice else None)
            for one in shown
        ],
        before=shown[-1].incident_id if len(found) > PAGE else None,
    )


def _row(
    incident: IncidentRecord, attempt: AttemptRecord | None, advice: Advice | None
) -> IncidentRow:
    lines = [] if advice is None else [cut(one.text) for one in advice.evidence[:1]]
    waits = incident.closed_at is None and advice is not None and waits_for_person(advice)
    return IncidentRow(incident, attempt, next(iter(lines), None), waits)


@dataclass(frozen=True, slots=True)
class IncidentPage:
    """One incident with its Advice, oldest first."""

    incident: IncidentRecord
    attempt: AttemptRecord | None
    advice: list[Advice]


def incident_page(ledger: Ledger, incident_id: str) -> IncidentPage:
    """Look up one incident.

    Raises
    ------
    NotFoundError
        When it isn't in the ledger.
    """
    found = ledger.get_incident(incident_id)
    if found is None:
        raise no_such("incident", incident_id)
    known = ledger.advice_named(found.advice)
    advice = [known[name] for name in found.advice if name in known]
    return IncidentPage(found, ledger.get_attempt(found.attempt), advice)
