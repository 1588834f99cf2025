"""Advice in the database: written once, and what the controller reports about it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, Select, func, insert, select, update

from relume.advice import (
    Advice,
    Answer,
    Approval,
    Disposition,
    Reconciliation,
    comparable,
)
from relume.errors import InputError
from relume.identity import AttemptId
from relume.serve.ledger.errors import (
    AdviceConflictError,
    FinalDispositionError,
    NotFoundError,
    SupersededError,
)
from relume.serve.ledger.tables import ADVICE, ANSWERS, RECONCILIATIONS

FEW = 3
_ANSWERED = ANSWERS.c.advice_id == ADVICE.c.advice_id


def add(connection: Connection, advice: Advice) -> bool:
    """Write a new generation; false if it is there already, saying the same."""
    stored = find(connection, advice.advice_id)
    if stored is not None:
        _require_equal(stored, advice)
        return False
    newest = newest_generation(connection, advice.subject)
    if newest > advice.generation:
        raise SupersededError(
            f"advice {advice.advice_id} about {advice.attempt}",
            found=f"generation {newest} in the ledger",
            expected=f"none newer than {advice.generation}, which is to be written",
        )
    connection.execute(insert(ADVICE).values(**_columns(advice)))
    return True


def find(connection: Connection, advice_id: str) -> Advice | None:
    """Return one generation with its reconciliation."""
    row = connection.execute(stored().where(ADVICE.c.advice_id == advice_id)).one_or_none()
    return None if row is None else advice_of(row)


def named(connection: Connection, ids: Iterable[str]) -> dict[str, Advice]:
    """Return those of some generations that are there, by id."""
    rows = connection.execute(stored().where(ADVICE.c.advice_id.in_(list(ids))))
    return {advice.advice_id: advice for advice in map(advice_of, rows)}


def newest(connection: Connection, attempt: str) -> Advice | None:
    """Return the newest generation about an attempt."""
    query = stored().where(ADVICE.c.attempt == attempt).order_by(ADVICE.c.generation.desc())
    row = connection.execute(query.limit(1)).one_or_none()
    return None if row is None else advice_of(row)


def newest_generation(connection: Connection, attempt: str) -> int:
    """Return the number of the newest generation about an attempt, 0 without any."""
    query = select(func.max(ADVICE.c.generation)).where(ADVICE.c.attempt == attempt)
    return connection.execute(query).scalar_one() or 0


def active(connection: Connection, now: int, cluster: str | None) -> list[Advice]:
    """Return what is still to be carried out, oldest first."""
    newer = ADVICE.alias("newer")
    has_newer = (
        select(newer.c.generation)
        .where(newer.c.attempt == ADVICE.c.attempt, newer.c.generation > ADVICE.c.generation)
        .exists()
    )
    pending = func.coalesce(RECONCILIATIONS.c.disposition, Disposition.PENDING.value)
    refused = func.coalesce(ANSWERS.c.answer, "").in_([Answer.REJECTED.value, Answer.EXPIRED.value])
    query = (
        stored()
        .where(ADVICE.c.expires_at > now, ~has_newer, pending == Disposition.PENDING.value)
        .where(~refused)
        .order_by(ADVICE.c.created_at, ADVICE.c.advice_id)
    )
    if cluster is not None:
        query = query.where(ADVICE.c.cluster == cluster)
    return [advice_of(row) for row in connection.execute(query)]


def since(connection: Connection, time: int) -> list[Advice]:
    """Return all Advice that was made at a time or later, oldest first."""
    columns = ADVICE.c
    query = stored().where(columns.created_at >= time)
    query = query.order_by(columns.created_at, columns.advice_id)
    return [advice_of(row) for row in connection.execute(query)]


def ids_like(connection: Connection, beginning: str) -> list[str]:
    """Return the ids that begin so, a few at most."""
    theirs = ADVICE.c.advice_id.startswith(beginning, autoescape=True)
    query = select(ADVICE.c.advice_id).where(theirs).order_by(ADVICE.c.advice_id)
    return list(connection.execute(query.limit(FEW)).scalars())


def reconcile(connection: Connection, advice: Advice, report: Reconciliation, token: int) -> Advice:
    """Write down what became of `advice`; return it with the report."""
    number = newest_generation(connection, advice.subject)
    observed = report.observed_generation
    if advice.generation < number or (observed is not None and observed < number):
        raise SupersededError(
            f"reconciliation of advice {advice.advice_id}",
            found=f"a report about generation {min(advice.generation, observed or number)}",
            expected=f"one about generation {number}, the newest about {advice.attempt}",
            hint="it was ignored: fetch the active Advice again",
        )
    if observed is None:
        raise InputError(
            f"reconciliation of advice {advice.advice_id}",
            found="no observed_generation",
            expected="the newest generation that the controller has seen",
        )
    before = advice.reconciliation.disposition
    if before not in {Disposition.PENDING, report.disposition}:
        raise FinalDispositionError(
            f"reconciliation of advice {advice.advice_id}",
            found=f"{report.disposition} after {before}",
            expected=f"nothing else after {before}, which is final",
        )
    changed = dataclasses.replace(advice, reconciliation=report)
    _write_report(connection, changed, token)
    return changed


def _write_report(connection: Connection, advice: Advice, token: int) -> None:
    report = advice.reconciliation
    values = {
        "disposition": report.disposition.value,
        "reason": report.reason,
        "observed_generation": report.observed_generation,
        "fencing_token": token,
    }
    mine = RECONCILIATIONS.c.advice_id == advice.advice_id
    if connection.execute(update(RECONCILIATIONS).where(mine).values(**values)).rowcount == 0:
        connection.execute(insert(RECONCILIATIONS).values(advice_id=advice.advice_id, **values))


def require(connection: Connection, advice_id: str) -> Advice:
    """Return one generation, which must be there."""
    advice = find(connection, advice_id)
    if advice is None:
        raise NotFoundError(
            f"advice {advice_id[:80]!r}",
            found="no such Advice in the ledger",
            expected="the advice_id of one",
        )
    return advice


def cluster_of(advice: Advice) -> str:
    """Return the cluster that an Advice is about."""
    return AttemptId.parse(advice.attempt).job_key.cluster


def _require_equal(stored: Advice, advice: Advice) -> None:
    before, after = comparable(stored), comparable(advice)
    different = [name for name, value in before.items() if value != after[name]]
    if different:
        raise AdviceConflictError(
            f"advice {advice.advice_id}, generation {advice.generation} about {advice.attempt}",
            found=f"another {', '.join(different)} than the one in the ledger",
            expected="the same content: a changed mind is a new generation",
        )


def stored() -> Select[Any]:
    """Return the query of Advice with its report and its answer, for `advice_of`."""
    report, answer = RECONCILIATIONS.c, ANSWERS.c
    return select(
        ADVICE.c.document,
        report.disposition,
        report.reason,
        report.observed_generation,
        answer.answer,
        answer.who,
        answer.why,
        answer.at,
    ).select_from(ADVICE.outerjoin(RECONCILIATIONS).outerjoin(ANSWERS, _ANSWERED))


def advice_of(row: Row[Any]) -> Advice:
    """Return the Advice of a row of `stored`."""
    advice = msgspec.json.decode(row.document, type=Advice)
    if row.disposition is not None:
        report = Reconciliation(Disposition(row.disposition), row.reason, row.observed_generation)
        advice = dataclasses.replace(advice, reconciliation=report)
    if row.at is None:  # it waits, or needs no answer
        return advice
    approval = Approval(Answer(row.answer), row.who, row.why, row.at)
    return dataclasses.replace(advice, approval=approval, decided_at=approval.at)


def _columns(advice: Advice) -> dict[str, object]:
    untouched = dataclasses.replace(advice, reconciliation=Reconciliation(), approval=None)
    return {
        "advice_id": advice.advice_id,
        "attempt": advice.subject,
        "generation": advice.generation,
        "cluster": cluster_of(advice),
        "operation": advice.operation.value,
        "settled": advice.settled,
        "created_at": advice.created_at,
        "expires_at": advice.expires_at,
        "document": msgspec.json.encode(untouched).decode(),
    }
