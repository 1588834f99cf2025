"""Attempts and their milestones in the database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, and_, func, insert, select, update

from relume.advice import Disposition, Operation
from relume.identity import AttemptId, JobKey, parse_short
from relume.serve.ledger import decisions
from relume.serve.ledger.records import (
    AttemptOutcome,
    AttemptRecord,
    Milestone,
    MilestoneRecord,
)
from relume.serve.ledger.tables import ADVICE, ATTEMPTS, MILESTONES, RECONCILIATIONS

_OLDEST_FIRST = (ATTEMPTS.c.first_submit_time, ATTEMPTS.c.job_id, ATTEMPTS.c.restart_count)


def put(connection: Connection, record: AttemptRecord, changed: int) -> None:
    """Write what is known about an attempt in place of what was known before."""
    attempt = AttemptId.parse(record.attempt)
    values = {
        "cluster": attempt.job_key.cluster,
        "job_id": attempt.job_key.job_id,
        "first_submit_time": attempt.job_key.first_submit_time,
        "restart_count": attempt.restart_count,
        "run": record.run,
        "ended": record.ended,
        "document": msgspec.json.encode(record).decode(),
        "changed": changed,
    }
    mine = ATTEMPTS.c.attempt == record.attempt
    if connection.execute(update(ATTEMPTS).where(mine).values(**values)).rowcount == 0:
        connection.execute(insert(ATTEMPTS).values(attempt=record.attempt, **values))


def put_all(connection: Connection, records: Iterable[AttemptRecord]) -> None:
    """Write what is known about several attempts."""
    changed = last_change(connection) + 1
    for record in records:
        put(connection, record, changed)


def last_change(connection: Connection) -> int:
    """Return the number of the last transaction that wrote attempts; 0 for none."""
    return connection.execute(select(func.max(ATTEMPTS.c.changed))).scalar_one() or 0


def changed_after(connection: Connection, number: int) -> tuple[int, list[AttemptRecord]]:
    """Return the attempts that were written after a number, and the number to go on with."""
    query = select(ATTEMPTS.c.document).where(ATTEMPTS.c.changed > number)
    documents = connection.execute(query).scalars()
    found = [msgspec.json.decode(document, type=AttemptRecord) for document in documents]
    return last_change(connection), found


def find(connection: Connection, name: str) -> AttemptRecord | None:
    """Return one attempt by its text form or its short form."""
    attempt = full_name(connection, name)
    query = select(ATTEMPTS.c.document).where(ATTEMPTS.c.attempt == attempt)
    return _record(connection.execute(query).scalar_one_or_none())


def newest(connection: Connection, cluster: str, job_id: str) -> AttemptRecord | None:
    """Return the last attempt of the newest job with that id."""
    query = (
        select(ATTEMPTS.c.document)
        .where(ATTEMPTS.c.cluster == cluster, ATTEMPTS.c.job_id == job_id)
        .order_by(ATTEMPTS.c.first_submit_time.desc(), ATTEMPTS.c.restart_count.desc())
    )
    return _record(connection.execute(query.limit(1)).scalar_one_or_none())


def every(connection: Connection, *, active: bool | None) -> list[AttemptRecord]:
    """Return all attempts, or only those that have not ended (true) or have (false)."""
    query = select(ATTEMPTS.c.document).order_by(*_OLDEST_FIRST)
    if active is not None:
        query = query.where(ATTEMPTS.c.ended.is_(not active))
    documents = connection.execute(query).scalars()
    return [msgspec.json.decode(document, type=AttemptRecord) for document in documents]


def tries(connection: Connection, run: str) -> list[AttemptOutcome]:
    """Return how each attempt of a run ended, oldest first."""
    last = (
        select(func.max(ADVICE.c.generation))
        .where(ADVICE.c.attempt == ATTEMPTS.c.attempt)
        .correlate(ATTEMPTS)
        .scalar_subquery()
    )
    about = and_(ADVICE.c.attempt == ATTEMPTS.c.attempt, ADVICE.c.generation == last)
    query = (
        select(
            ATTEMPTS.c.document,
            ADVICE.c.operation,
            ADVICE.c.settled,
            RECONCILIATIONS.c.disposition,
        )
        .select_from(ATTEMPTS.outerjoin(ADVICE, about).outerjoin(RECONCILIATIONS))
        .where(ATTEMPTS.c.run == run)
        .order_by(*_OLDEST_FIRST)
    )
    return [_outcome(row) for row in connection.execute(query)]


def put_milestone(connection: Connection, milestone: MilestoneRecord) -> bool:
    """Write a milestone; false if the attempt has reached it already."""
    AttemptId.parse(milestone.attempt)
    if milestone.advice_id is not None:
        decisions.require(connection, milestone.advice_id)
    if any(m.milestone is milestone.milestone for m in milestones(connection, milestone.attempt)):
        return False
    connection.execute(
        insert(MILESTONES).values(
            attempt=milestone.attempt,
            milestone=milestone.milestone.value,
            advice_id=milestone.advice_id,
            event_time=milestone.event_time,
        )
    )
    return True


def milestones(connection: Connection, attempt: str) -> list[MilestoneRecord]:
    """Return the milestones of an attempt in the order of their times."""
    query = select(MILESTONES).where(MILESTONES.c.attempt == attempt)
    rows = connection.execute(query.order_by(MILESTONES.c.event_time, MILESTONES.c.milestone))
    return [milestone_of(row) for row in rows]


def milestone_of(row: Row[Any]) -> MilestoneRecord:
    """Return the milestone of a row."""
    return MilestoneRecord(row.attempt, Milestone(row.milestone), row.advice_id, row.event_time)


def full_name(connection: Connection, name: str) -> str | None:
    """Return the text form that `name` means, null for a short form of a job never seen."""
    if "/" in name:
        return str(AttemptId.parse(name))
    job_id, restart_count = parse_short(name)
    query = (
        select(ATTEMPTS.c.cluster, ATTEMPTS.c.first_submit_time)
        .where(ATTEMPTS.c.job_id == job_id)
        # Two clusters may give one id in one second; then the first by name is meant.
        .order_by(ATTEMPTS.c.first_submit_time.desc(), ATTEMPTS.c.cluster)
    )
    row = connection.execute(query.limit(1)).one_or_none()
    if row is None:
        return None
    return str(AttemptId(JobKey(row.cluster, job_id, row.first_submit_time), restart_count))


def _record(document: str | None) -> AttemptRecord | None:
    return None if document is None else msgspec.json.decode(document, type=AttemptRecord)


def _outcome(row: Row[str, str | None, bool | None, str | None]) -> AttemptOutcome:
    document, operation, settled, disposition = row
    record = msgspec.json.decode(document, type=AttemptRecord)
    return AttemptOutcome(
        attempt=record.attempt,
        user=record.user,
        ended=record.ended,
        fingerprint=record.fingerprint,
        first_step=record.first_step,
        last_step=record.last_step,
        operation=None if operation is None else Operation(operation),
        settled=settled,
        disposition=None if operation is None else Disposition(disposition or Disposition.PENDING),
        over_at=record.over_at,
    )
