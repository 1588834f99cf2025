"""Copying a ledger into another database: all in one transaction, and checked before its end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, func, insert, inspect, select

from relume.errors import InputError, counted
from relume.serve.ledger import audit
from relume.serve.ledger.store import Store
from relume.serve.ledger.tables import METADATA, WRITERS
from relume.serve.ledger.types import SERVER

BATCH_ROWS = 500
TABLES = tuple(table for table in METADATA.sorted_tables if table is not WRITERS)
"""In an order in which each row finds those that it names; who writes is each database's own."""
_IDLE_SECONDS = 8 * 3600
"""One side waits while the other one is looked through."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: rows of each table, and how the audit ends (its rows, and the last hash)."""

    rows: Mapping[str, int]
    audit_rows: int
    audit_last: str


def counts(store: Store) -> dict[str, int]:
    """Return the rows of each table that is there; a database may have none, or older ones."""
    return store.read(_counts)


def require_empty(rows: Mapping[str, int], name: str) -> None:
    """Refuse a target that holds something.

    Raises
    ------
    InputError
        When it does.
    """
    filled = [f"{table} ({count})" for table, count in rows.items() if count]
    if filled:
        raise InputError(
            f"ledger {name}",
            found=f"rows in {', '.join(filled)}",
            expected="an empty ledger to copy into, or none yet",
            hint="name another file or database: two ledgers can't be put together",
        )


def copy(source: Store, target: Store) -> Copied:
    """Copy all rows of `source`, as they are at the start, into `target`; all or none.

    What was written is read back and compared with what was read, row by row, and the chain of the
    audit is checked, before the transaction ends.

    Raises
    ------
    InputError
        When the target isn't empty, when it doesn't hold what was written, and when the chain of
        the audit is broken.
    """
    return source.read(lambda read: target.write(_copy, read, (source.name, target.name)))


def _copy(write: Connection, read: Connection, names: tuple[str, str]) -> Copied:
    for connection in (read, write):
        if connection.dialect.name == SERVER:
            connection.exec_driver_sql(f"SET SESSION wait_timeout = {_IDLE_SECONDS}")
    require_empty(_counts(write), names[1])
    rows = {str(table.name): _copy_table(write, read, table, names[1]) for table in TABLES}
    verified = audit.verify(write)
    if verified.broken is not None:
        raise InputError(
            f"ledger {names[0]}",
            found=f"a broken audit: {verified.broken}",
            expected="a chain that holds",
            hint="nothing was copied; see `relume ledger verify`",
        )
    return Copied(rows, verified.rows, verified.last)


def _copy_table(write: Connection, read: Connection, table: Table, name: str) -> int:
    given, names = _Digest(), table.columns.keys()
    for rows in _in_order(read, table).partitions():
        write.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])
        given.add(rows)
    taken = _Digest()
    for rows in _in_order(write, table).partitions():
        taken.add(rows)
    if (given.rows, given.digest()) != (taken.rows, taken.digest()):
        raise InputError(
            f"ledger {name}, table {table.name}",
            found=f"{counted(taken.rows, 'row')}, not what was written",
            expected=f"the {counted(given.rows, 'row')} read before",
            hint="nothing was copied; has the database triggers or settings that change what is "
            "written?",
        )
    return given.rows


class _Digest:
    """Rows in their order as one number."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = hashlib.sha256()

    def add(self, rows: Any) -> None:  # noqa: ANN401 - a sequence of rows
        for row in rows:
            self.rows += 1
            self._hash.update(msgspec.json.encode(tuple(row)))

    def digest(self) -> bytes:
        return self._hash.digest()


def _in_order(connection: Connection, table: Table) -> Any:  # noqa: ANN401 - rows of any table
    query = select(table).order_by(*table.primary_key.columns)
    return connection.execute(query.execution_options(yield_per=BATCH_ROWS))


def _counts(connection: Connection) -> dict[str, int]:
    there = set(inspect(connection).get_table_names())
    asked = ((one, select(func.count()).select_from(one)) for one in TABLES if one.name in there)
    return {str(one.name): connection.execute(query).scalar_one() for one, query in asked}
