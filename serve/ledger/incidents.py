"""Incidents in the database: opened, moved on and closed by the Advice that belongs to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from uuid import uuid5

import msgspec
from sqlalchemy import Connection, func, insert, or_, select, update

from relume.advice import ADVICE_NAMESPACE, Advice, Operation, Scope
from relume.identity import AttemptId
from relume.serve.ledger.happened import Closing, IncidentRecord, Struck
from relume.serve.ledger.tables import ADVICE, INCIDENT_ADVICE, INCIDENTS

TAKEN_BACK = "it was taken back"
LET_GO = "it is over, by the Advice itself"


def follow(before: IncidentRecord | None, advice: Advice, number: int) -> IncidentRecord:
    """Return the incident as it is with one more Advice about its subject.

    Parameters
    ----------
    before
        The incident of the subject that goes on; null for none.
    advice
        The next generation.
    number
        Of the incident that is opened when none goes on.
    """
    opened = before or IncidentRecord(
        incident_id=str(uuid5(ADVICE_NAMESPACE, f"{advice.subject} incident {number}")),
        subject=advice.subject,
        number=number,
        scope=advice.scope,
        attempt=advice.attempt,
        cluster=AttemptId.parse(advice.attempt).job_key.cluster,
        kind=advice.kind,
        domain=advice.domain,
        cause=advice.cause,
        rule=advice.rule,
        operation=advice.operation,
        nodes=advice.exclude_nodes,
        opened_at=advice.created_at,
        updated_at=advice.created_at,
    )
    ending = _ending(before, advice)
    if ending is not None:  # what it was stays to be seen
        return replace(
            opened, updated_at=advice.created_at, closed_at=advice.created_at, ending=ending
        )
    return replace(
        opened,
        kind=advice.kind,
        domain=advice.domain,
        cause=advice.cause,
        rule=advice.rule,
        operation=advice.operation,
        nodes=advice.exclude_nodes,
        updated_at=advice.created_at,
    )


def _ending(before: IncidentRecord | None, advice: Advice) -> str | None:
    """Tell how an Advice ends an incident; null for one that goes on."""
    if advice.operation is not Operation.OBSERVE:
        return None
    if advice.scope is not Scope.ATTEMPT:
        return LET_GO
    if before is not None and before.operation is not Operation.OBSERVE:
        return TAKEN_BACK
    return None


def note(connection: Connection, advice: Advice) -> None:
    """Write what an Advice that was just written does to the incident of its subject."""
    mine = INCIDENTS.c.subject == advice.subject
    going_on = select(INCIDENTS.c.document).where(mine, INCIDENTS.c.closed_at.is_(None))
    document = connection.execute(going_on).scalar_one_or_none()
    before = None if document is None else _decode(document)
    last = connection.execute(select(func.max(INCIDENTS.c.number)).where(mine)).scalar_one()
    incident = follow(before, advice, (last or 0) + 1)
    _put(connection, incident, is_new=before is None)
    names = {"advice_id": advice.advice_id, "incident_id": incident.incident_id}
    connection.execute(insert(INCIDENT_ADVICE).values(**names))


def close(connection: Connection, closing: Closing) -> bool:
    """Close the incident of an Advice; false where it has none, or one that is over."""
    incident = _of(connection, closing.advice_id)
    if incident is None or incident.closed_at is not None:
        return False
    _put(connection, replace(incident, closed_at=closing.at, ending=closing.ending))
    return True


def strike(connection: Connection, struck: Struck) -> bool:
    """Write which incident of the cluster an attempt's belongs to; false where that is known."""
    incident = _of(connection, struck.advice_id)
    if incident is None or incident.part_of is not None:
        return False
    newest = (
        select(INCIDENTS.c.incident_id)
        .where(INCIDENTS.c.subject == struck.subject)
        .order_by(INCIDENTS.c.number.desc())
        .limit(1)
    )
    whole = connection.execute(newest).scalar_one_or_none()
    if whole is None:
        return False
    _put(connection, replace(incident, part_of=whole))
    return True


def find(connection: Connection, incident_id: str) -> IncidentRecord | None:
    """Return one incident with the Advice that belongs to it."""
    query = select(INCIDENTS.c.document).where(INCIDENTS.c.incident_id == incident_id)
    document = connection.execute(query).scalar_one_or_none()
    return None if document is None else _whole(connection, _decode(document))


def of(connection: Connection, advice_id: str) -> IncidentRecord | None:
    """Return the incident to which an Advice belongs, with all that does."""
    incident = _of(connection, advice_id)
    return None if incident is None else _whole(connection, incident)


def going_on(connection: Connection, since: int, limit: int) -> list[IncidentRecord]:
    """Return incidents that go on, or were opened at a time or later; oldest first.

    Without the Advice that belongs to them: one query, however many there are.
    """
    columns = INCIDENTS.c
    query = (
        select(columns.document)
        .where(or_(columns.closed_at.is_(None), columns.opened_at >= since))
        .order_by(columns.opened_at, columns.incident_id)
        .limit(limit)
    )
    return [_decode(one) for one in connection.execute(query).scalars()]


def _of(connection: Connection, advice_id: str) -> IncidentRecord | None:
    query = (
        select(INCIDENTS.c.document)
        .join(INCIDENT_ADVICE)
        .where(INCIDENT_ADVICE.c.advice_id == advice_id)
    )
    document = connection.execute(query).scalar_one_or_none()
    return None if document is None else _decode(document)


def _whole(connection: Connection, incident: IncidentRecord) -> IncidentRecord:
    query = (
        select(INCIDENT_ADVICE.c.advice_id)
        .join(ADVICE)
        .where(INCIDENT_ADVICE.c.incident_id == incident.incident_id)
        .order_by(ADVICE.c.generation)
    )
    return replace(incident, advice=tuple(connection.execute(query).scalars()))


def advice_of(connection: Connection, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the Advice that belongs to each of some incidents, in one query."""
    found: dict[str, list[str]] = {one: [] for one in ids}
    query = (
        select(INCIDENT_ADVICE)
        .join(ADVICE)
        .where(INCIDENT_ADVICE.c.incident_id.in_(list(found)))
        .order_by(ADVICE.c.generation)
    )
    for row in connection.execute(query):
        found[row.incident_id].append(row.advice_id)
    return {one: tuple(advice) for one, advice in found.items()}


def _put(connection: Connection, incident: IncidentRecord, *, is_new: bool = False) -> None:
    values = {
        "closed_at": incident.closed_at,
        "document": msgspec.json.encode(incident).decode(),
    }
    if is_new:
        values |= {
            "incident_id": incident.incident_id,
            "subject": incident.subject,
            "number": incident.number,
            "cluster": incident.cluster,
            "opened_at": incident.opened_at,
        }
        connection.execute(insert(INCIDENTS).values(**values))
    else:
        mine = INCIDENTS.c.incident_id == incident.incident_id
        connection.execute(update(INCIDENTS).where(mine).values(**values))


def _decode(document: str) -> IncidentRecord:
    return msgspec.json.decode(document, type=IncidentRecord)
