"""Whether Advice was right, in the database: by what became of it, and by the word of people."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, insert, select

from relume.advice import Advice
from relume.models.worth.outcomes import Label
from relume.serve.ledger import audit, decisions
from relume.serve.ledger.happened import LabelRecord, OutcomeRecord, Standing
from relume.serve.ledger.tables import ADVICE, LABELS, OUTCOMES

LABEL = "label"
BY_ITSELF = "its outcome"


def put_outcome(connection: Connection, outcome: OutcomeRecord) -> bool:
    """Write what became of an alarm; the first word stands, false for a later one."""
    decisions.require(connection, outcome.advice_id)
    if _outcome(connection, outcome.advice_id) is not None:
        return False
    connection.execute(
        insert(OUTCOMES).values(
            advice_id=outcome.advice_id,
            rule=outcome.rule,
            label=outcome.label.value,
            document=msgspec.json.encode(outcome).decode(),
        )
    )
    return True


def put(connection: Connection, label: LabelRecord) -> Standing:
    """Write what a person says of an Advice, and that it was said; return what stands then."""
    decisions.require(connection, label.advice_id)
    document = msgspec.json.encode(label).decode()
    connection.execute(insert(LABELS).values(advice_id=label.advice_id, document=document))
    audit.add(connection, at=label.at, who=label.who, what=LABEL, about=label.advice_id, done=label)
    return standing(connection, label.advice_id)


def standing(connection: Connection, advice_id: str) -> Standing:
    """Return whether an Advice was right: people win over what became of it by itself."""
    decisions.require(connection, advice_id)
    query = select(LABELS.c.document).where(LABELS.c.advice_id == advice_id)
    documents = connection.execute(query.order_by(LABELS.c.label_id)).scalars()
    labels = tuple(msgspec.json.decode(one, type=LabelRecord) for one in documents)
    return stands(labels, _outcome(connection, advice_id))


def stands(labels: tuple[LabelRecord, ...], outcome: OutcomeRecord | None) -> Standing:
    """Return what stands, of what people said and what became of it by itself."""
    label = by = None
    if labels:
        label, by = Label.TRUE if labels[-1].right else Label.FALSE, labels[-1].who
    elif outcome is not None:
        label, by = outcome.label, BY_ITSELF
    return Standing(label=label, by=by, outcome=outcome, labels=labels)


def told(connection: Connection, since: int) -> list[tuple[Advice, Standing]]:
    """Return all Advice from a time on with whether it was right, oldest first.

    In three queries, however many there are.
    """
    advice = decisions.since(connection, since)
    recent = ADVICE.c.created_at >= since
    said: dict[str, list[LabelRecord]] = {}
    query = select(LABELS.c.document).join(ADVICE).where(recent).order_by(LABELS.c.label_id)
    for document in connection.execute(query).scalars():
        label = msgspec.json.decode(document, type=LabelRecord)
        said.setdefault(label.advice_id, []).append(label)
    rows = connection.execute(select(OUTCOMES.c.document).join(ADVICE).where(recent)).scalars()
    became = {
        one.advice_id: one for one in (msgspec.json.decode(row, type=OutcomeRecord) for row in rows)
    }
    return [
        (one, stands(tuple(said.get(one.advice_id, ())), became.get(one.advice_id)))
        for one in advice
    ]


def outcomes(connection: Connection) -> list[OutcomeRecord]:
    """Return what became of all alarms, in the order in which they were raised."""
    documents = connection.execute(select(OUTCOMES.c.document)).scalars()
    found = [msgspec.json.decode(one, type=OutcomeRecord) for one in documents]
    return sorted(found, key=lambda one: (one.alarm_at, one.advice_id))


def known(connection: Connection, before: Advice, limit: int) -> list[tuple[Advice, bool]]:
    """Return Advice from before one of which it is known whether it was right, oldest first.

    Of more than `limit` the newest.
    """
    told = select(OUTCOMES.c.advice_id).where(OUTCOMES.c.label != Label.UNLABELLED.value)
    ids = told.union(select(LABELS.c.advice_id))
    query = (
        select(ADVICE.c.advice_id)
        .where(ADVICE.c.advice_id.in_(ids), ADVICE.c.created_at < before.created_at)
        .order_by(ADVICE.c.created_at.desc(), ADVICE.c.advice_id.desc())
        .limit(limit)
    )
    names = connection.execute(query).scalars().all()
    found = ((name, standing(connection, name).label) for name in reversed(names))
    return [(decisions.require(connection, name), label is Label.TRUE) for name, label in found]


def _outcome(connection: Connection, advice_id: str) -> OutcomeRecord | None:
    query = select(OUTCOMES.c.document).where(OUTCOMES.c.advice_id == advice_id)
    document = connection.execute(query).scalar_one_or_none()
    return None if document is None else msgspec.json.decode(document, type=OutcomeRecord)
