"""Lists of what the ledger holds, a page at a time; each call is one transaction.

A page goes on behind the last record of the one before, by what the list is ordered by: what is
written meanwhile neither doubles nor hides anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, or_, select

from relume.advice import Advice
from relume.errors import InputError
from relume.serve.ledger import attempts, decisions, incidents, leases
from relume.serve.ledger.happened import AuditRecord, IncidentRecord, LabelRecord
from relume.serve.ledger.records import AttemptRecord, Lease, MilestoneRecord
from relume.serve.ledger.tables import ADVICE, ATTEMPTS, AUDIT, INCIDENTS, LABELS, MILESTONES

if TYPE_CHECKING:
    from relume.serve.ledger.store import Store

T = TypeVar("T")
Key = tuple[int | str, ...]
"""Where a page ends: what the list is ordered by, of its last record."""
MAX_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some records in their order; `end` is where the next page begins, null after the last."""

    records: tuple[T, ...]
    end: Key | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be listed; null doesn't choose, and each list knows some of them.

    Attributes
    ----------
    cluster, job_id, run
        Exactly so.
    attempt
        Text form, or `job_id-restart_count` of the newest job; its nodes and what struck it count.
    since, until
        UTC microseconds: at the first or later, and before the second.
    active
        What goes on (true) or is over (false).
    who, what, about
        Of the audit, exactly so.
    """

    cluster: str | None = None
    job_id: str | None = None
    run: str | None = None
    attempt: str | None = None
    since: int | None = None
    until: int | None = None
    active: bool | None = None
    who: str | None = None
    what: str | None = None
    about: str | None = None


@dataclass(frozen=True, slots=True)
class _Order:
    """By which columns a list is ordered, and whether the newest comes first."""

    columns: tuple[ColumnElement[Any], ...]
    newest_first: bool = True

    def behind(self, key: Key) -> ColumnElement[bool]:
        """What comes after a record, which may be gone."""
        found: list[ColumnElement[bool]] = []
        for place, (column, value) in enumerate(zip(self.columns, key, strict=True)):
            equal = [one == before for one, before in zip(self.columns[:place], key, strict=False)]
            found.append(and_(*equal, column < value if self.newest_first else column > value))
        return or_(*found)

    def apply(self, query: Select[Any]) -> Select[Any]:
        """Order a query by it."""
        return query.order_by(*(one.desc() if self.newest_first else one for one in self.columns))


_ATTEMPTS = _Order(
    (
        ATTEMPTS.c.first_submit_time,
        ATTEMPTS.c.job_id,
        ATTEMPTS.c.restart_count,
        ATTEMPTS.c.attempt,
    ),
    newest_first=False,
)
_ADVICE = _Order((ADVICE.c.created_at, ADVICE.c.advice_id))
_INCIDENTS = _Order((INCIDENTS.c.opened_at, INCIDENTS.c.incident_id))
_AUDIT = _Order((AUDIT.c.number,), newest_first=False)
_LABELS = _Order((LABELS.c.label_id,))
_MILESTONES = _Order((MILESTONES.c.event_time, MILESTONES.c.attempt, MILESTONES.c.milestone))


class Pages:
    """The part of the ledger that lists. All raise `InputError` for an attempt that is no name."""

    _store: Store

    def page_attempts(self, wanted: Wanted, key: Key | None, limit: int) -> Page[AttemptRecord]:
        """Return attempts, oldest first: by `cluster`, `job_id`, `run`, `active`, their submit."""
        return self._store.read(_attempts, wanted, key, limit)

    def page_advice(self, wanted: Wanted, key: Key | None, limit: int) -> Page[Advice]:
        """Return Advice whatever became of it, newest first: by `cluster`, `attempt`, its time."""
        return self._store.read(_advice, wanted, key, limit)

    def page_incidents(self, wanted: Wanted, key: Key | None, limit: int) -> Page[IncidentRecord]:
        """Return incidents, newest first: by `cluster`, `attempt`, `active`, when they began."""
        return self._store.read(_incidents, wanted, key, limit)

    def page_audit(self, wanted: Wanted, key: Key | None, limit: int) -> Page[AuditRecord]:
        """Return who did what, oldest first: by `who`, `what`, `about`, its time."""
        return self._store.read(_audit, wanted, key, limit)

    def page_labels(self, wanted: Wanted, key: Key | None, limit: int) -> Page[LabelRecord]:
        """Return what people said, newest first: by `cluster`, `attempt`, the Advice's time."""
        return self._store.read(_labels, wanted, key, limit)

    def page_milestones(self, wanted: Wanted, key: Key | None, limit: int) -> Page[MilestoneRecord]:
        """Return milestones, newest first: by `attempt` and their time."""
        return self._store.read(_milestones, wanted, key, limit)

    def leases(self) -> list[Lease]:
        """Return the newest lease of each cluster, alive or not, by its name."""
        return self._store.read(leases.every)


def _attempts(
    connection: Connection, wanted: Wanted, key: Key | None, limit: int
) -> Page[AttemptRecord]:
    columns = ATTEMPTS.c
    query = _within(select(*_ATTEMPTS.columns, columns.document), columns.first_submit_time, wanted)
    for column, value in (
        (columns.cluster, wanted.cluster),
        (columns.job_id, wanted.job_id),
        (columns.run, wanted.run),
    ):
        query = query if value is None else query.where(column == value)
    if wanted.active is not None:
        query = query.where(columns.ended.is_(not wanted.active))
    rows, end = _rows(connection, query, _ATTEMPTS, key, limit)
    return Page(tuple(msgspec.json.decode(row.document, type=AttemptRecord) for row in rows), end)


def _advice(connection: Connection, wanted: Wanted, key: Key | None, limit: int) -> Page[Advice]:
    query = _within(decisions.stored().add_columns(*_ADVICE.columns), ADVICE.c.created_at, wanted)
    query = _about(connection, query, ADVICE.c.attempt, wanted)
    if wanted.cluster is not None:
        query = query.where(ADVICE.c.cluster == wanted.cluster)
    rows, end = _rows(connection, query, _ADVICE, key, limit)
    return Page(tuple(map(decisions.advice_of, rows)), end)


def _incidents(
    connection: Connection, wanted: Wanted, key: Key | None, limit: int
) -> Page[IncidentRecord]:
    columns = INCIDENTS.c
    query = _within(select(*_INCIDENTS.columns, columns.document), columns.opened_at, wanted)
    query = _about(connection, query, columns.subject, wanted)
    if wanted.cluster is not None:
        query = query.where(columns.cluster == wanted.cluster)
    if wanted.active is not None:
        is_open = columns.closed_at.is_(None)
        query = query.where(is_open if wanted.active else ~is_open)
    rows, end = _rows(connection, query, _INCIDENTS, key, limit)
    advice = incidents.advice_of(connection, [row.incident_id for row in rows])
    found = (msgspec.json.decode(row.document, type=IncidentRecord) for row in rows)
    return Page(tuple(replace(one, advice=advice[one.incident_id]) for one in found), end)


def _audit(
    connection: Connection, wanted: Wanted, key: Key | None, limit: int
) -> Page[AuditRecord]:
    columns = AUDIT.c
    query = _within(select(AUDIT), columns.at, wanted)
    for column, value in (
        (columns.who, wanted.who),
        (columns.what, wanted.what),
        (columns.about, wanted.about),
    ):
        query = query if value is None else query.where(column == value)
    rows, end = _rows(connection, query, _AUDIT, key, limit)
    return Page(tuple(AuditRecord(**row._asdict()) for row in rows), end)


def _labels(
    connection: Connection, wanted: Wanted, key: Key | None, limit: int
) -> Page[LabelRecord]:
    said: Select[Any] = select(LABELS.c.label_id, LABELS.c.document).join(ADVICE)
    query = _within(said, ADVICE.c.created_at, wanted)
    query = _about(connection, query, ADVICE.c.attempt, wanted)
    if wanted.cluster is not None:
        query = query.where(ADVICE.c.cluster == wanted.cluster)
    rows, end = _rows(connection, query, _LABELS, key, limit)
    return Page(tuple(msgspec.json.decode(row.document, type=LabelRecord) for row in rows), end)


def _milestones(
    connection: Connection, wanted: Wanted, key: Key | None, limit: int
) -> Page[MilestoneRecord]:
    reached: Select[Any] = select(MILESTONES)
    query = _within(reached, MILESTONES.c.event_time, wanted)
    if wanted.attempt is not None:
        name = attempts.full_name(connection, wanted.attempt)
        query = query.where(MILESTONES.c.attempt == name)
    rows, end = _rows(connection, query, _MILESTONES, key, limit)
    return Page(tuple(map(attempts.milestone_of, rows)), end)


def advice_before(
    connection: Connection, attempt: str | None, before: str, limit: int
) -> list[Advice]:
    """Return Advice, newest first; that older than one of that id unless it is empty."""
    key: Key | None = None
    if before:
        last = decisions.require(connection, before)
        key = last.created_at, last.advice_id
    query = decisions.stored().add_columns(*_ADVICE.columns)
    if attempt is not None:
        query = _of(query, ADVICE.c.attempt, attempt)
    rows, _ = _rows(connection, query, _ADVICE, key, limit)
    return [decisions.advice_of(row) for row in rows]


def incidents_before(
    connection: Connection, wanted: Wanted, before: str, limit: int
) -> list[IncidentRecord]:
    """Return incidents, newest first; those older than one of that id unless it is empty."""
    key: Key | None = None
    if before:
        last = incidents.find(connection, before)
        if last is None:
            raise InputError(
                f"page of incidents before {before[:MAX_SHOWN]!r}",
                found="no such incident",
                expected="the incident_id of the last one of the page before",
            )
        key = last.opened_at, last.incident_id
    return list(_incidents(connection, wanted, key, limit).records)


def _within(query: Select[Any], column: ColumnElement[int], wanted: Wanted) -> Select[Any]:
    """Let a time be within what is wanted."""
    if wanted.since is not None:
        query = query.where(column >= wanted.since)
    return query if wanted.until is None else query.where(column < wanted.until)


def _about(
    connection: Connection, query: Select[Any], subject: ColumnElement[str], wanted: Wanted
) -> Select[Any]:
    """Let a subject be an attempt, or nodes of it, or what struck it."""
    if wanted.attempt is None:
        return query
    name = attempts.full_name(connection, wanted.attempt)
    if name is None:  # a job that was never seen
        return query.where(subject.is_(None))
    return _of(query, subject, name)


def _of(query: Select[Any], subject: ColumnElement[str], name: str) -> Select[Any]:
    """Let a subject be an attempt by its text form, or nodes of it, or what struck it."""
    # The subject of a node or a cluster is the attempt, a space and more.
    return query.where(or_(subject == name, subject.startswith(f"{name} ", autoescape=True)))


def _rows(
    connection: Connection, query: Select[Any], order: _Order, key: Key | None, limit: int
) -> tuple[Sequence[Row[Any]], Key | None]:
    """Return the rows of a page, and where it ends if more follow."""
    if key is not None:
        query = query.where(order.behind(key))
    found = connection.execute(order.apply(query).limit(limit + 1)).all()
    rows = found[:limit]
    if len(found) == len(rows):
        return rows, None
    last = rows[-1]._mapping  # noqa: SLF001 - how a row is read by its columns
    return rows, tuple(last[column] for column in order.columns)
