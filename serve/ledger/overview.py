"""What pages and reports ask of the whole ledger at once; each call is one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection, Select, func, or_, select

from relume.advice import Advice, Operation
from relume.identity import JobKey
from relume.serve.ledger import attempts, decisions
from relume.serve.ledger.records import AttemptRecord
from relume.serve.ledger.store import Store
from relume.serve.ledger.tables import ATTEMPTS, FLEETS, INCIDENTS, OUTCOMES
from relume.verdict import Kind

MAX_COUNTED = 10_000
"""Incidents whose kinds are counted, the newest; of more there is only the number."""
_NEWEST_FIRST = (
    ATTEMPTS.c.first_submit_time.desc(),
    ATTEMPTS.c.job_id.desc(),
    ATTEMPTS.c.restart_count.desc(),
)


class _Told(msgspec.Struct):
    kind: Kind
    operation: Operation


class Overview:
    """The part of the ledger that counts and looks up many records by one question."""

    _store: Store

    def count_incidents(self) -> tuple[int, Counter[Kind], Counter[Operation]]:
        """Return how many incidents go on; of the newest ones their kinds, and what is advised."""
        return self._store.read(_count_incidents)

    def attempts_after(self, number: int) -> tuple[int, list[AttemptRecord]]:
        """Return the attempts that were written after a number, and the number to go on with.

        -1 asks for all of them.
        """
        return self._store.read(attempts.changed_after, number)

    def count_outcomes(self) -> int:
        """Return of how many alarms it is known what became of them."""
        return self._store.read(_count, select(func.count()).select_from(OUTCOMES))

    def fleets(self) -> dict[str, str]:
        """Return what is known of every cluster beside its attempts (`Ledger.get_fleet`)."""
        return self._store.read(_fleets)

    def attempts_named(self, names: Iterable[str]) -> dict[str, AttemptRecord]:
        """Return those of some attempts (text forms) that the ledger knows, by name."""
        query = select(ATTEMPTS.c.document).where(ATTEMPTS.c.attempt.in_(list(names)))
        return {one.attempt: one for one in self._store.read(_records, query)}

    def advice_named(self, ids: Iterable[str]) -> dict[str, Advice]:
        """Return those of some Advice that are in the ledger, by id; see `Ledger.get`."""
        return self._store.read(decisions.named, list(ids))

    def newest_attempts(self, *, active: bool | None = None, limit: int) -> list[AttemptRecord]:
        """Return the attempts of the jobs that were submitted last, at most `limit`."""
        query = select(ATTEMPTS.c.document).order_by(*_NEWEST_FIRST).limit(limit)
        if active is not None:
            query = query.where(ATTEMPTS.c.ended.is_(not active))
        return self._store.read(_records, query)

    def count_attempts(self, *, active: bool | None = None) -> int:
        """Return how many attempts are known, or go on (true), or have ended (false)."""
        query = select(func.count()).select_from(ATTEMPTS)
        if active is not None:
            query = query.where(ATTEMPTS.c.ended.is_(not active))
        return self._store.read(_count, query)

    def attempts_like(self, words: str, *, limit: int) -> list[AttemptRecord]:
        """Return attempts whose job id or run is `words`, or begins with a task of that array."""
        columns = ATTEMPTS.c
        tasks = [columns.job_id.startswith(f"{words}{part}", autoescape=True) for part in "_+"]
        query = select(columns.document).where(
            or_(columns.job_id == words, columns.run == words, *tasks)
        )
        return self._store.read(_records, query.order_by(*_NEWEST_FIRST).limit(limit))

    def attempts_of_job(self, key: JobKey, *, limit: int) -> list[AttemptRecord]:
        """Return the attempts of one job, the newest first."""
        columns = ATTEMPTS.c
        query = select(columns.document).where(
            columns.cluster == key.cluster,
            columns.job_id == key.job_id,
            columns.first_submit_time == key.first_submit_time,
        )
        return self._store.read(_records, query.order_by(*_NEWEST_FIRST).limit(limit))


def _count_incidents(connection: Connection) -> tuple[int, Counter[Kind], Counter[Operation]]:
    is_open = INCIDENTS.c.closed_at.is_(None)
    total = _count(connection, select(func.count()).select_from(INCIDENTS).where(is_open))
    query = select(INCIDENTS.c.document).where(is_open).order_by(INCIDENTS.c.opened_at.desc())
    found = connection.execute(query.limit(MAX_COUNTED)).scalars()
    told = [msgspec.json.decode(document, type=_Told) for document in found]
    return total, Counter(one.kind for one in told), Counter(one.operation for one in told)


def _fleets(connection: Connection) -> dict[str, str]:
    rows = connection.execute(select(FLEETS).order_by(FLEETS.c.cluster))
    return {row.cluster: row.document for row in rows}


def _count(connection: Connection, query: Select[int]) -> int:
    return connection.execute(query).scalar_one()


def _records(connection: Connection, query: Select[str]) -> list[AttemptRecord]:
    documents = connection.execute(query).scalars()
    return [msgspec.json.decode(document, type=AttemptRecord) for document in documents]
