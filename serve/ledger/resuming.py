"""Migrations that were broken off on a server, where a change of tables can't be taken back.

Each statement is done or not, by itself. While migrations run, the table `relume_migrating` is
there; who finds it goes on: what the next statement is to make, and exists, was made before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from alembic.ddl.mysql import MySQLImpl
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from relume.errors import ConfigError
from relume.serve.ledger import servererrors
from relume.serve.ledger.tables import METADATA
from relume.serve.ledger.types import SERVER

MARK = "relume_migrating"
_RESUMES = "relume_resumes"


class ResumingImpl(MySQLImpl):
    """How Alembic changes tables of a server: what is there isn't made again, where we resume."""

    __dialect__ = SERVER

    def _exec(self, construct: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - Alembic's
        try:
            return super()._exec(construct, *args, **kwargs)
        except DBAPIError as error:
            connection = self.connection
            resumes = connection is not None and connection.info.get(_RESUMES, False)
            if not resumes or servererrors.code(error) not in servererrors.EXISTS:
                raise
            return None


def is_marked(connection: Connection) -> bool:
    """Whether migrations run, or were broken off."""
    return connection.dialect.name == SERVER and inspect(connection).has_table(MARK)


@contextmanager
def resumable(connection: Connection, name: str, *, is_new: bool) -> Iterator[None]:
    """Mark that migrations run, and go on with those that were broken off.

    Where tables are changed in a transaction there is nothing to do.

    Raises
    ------
    ConfigError
        For a new ledger in a database with tables of the same names, without a mark.
    """
    if connection.dialect.name != SERVER:
        yield
        return
    found = set(inspect(connection).get_table_names())
    foreign = sorted(found & METADATA.tables.keys())
    if is_new and foreign and MARK not in found:
        raise ConfigError(
            f"ledger {name}",
            found=f"tables that Relume didn't make: {', '.join(foreign)}",
            expected="an empty database",
            hint="make one for Relume alone: CREATE DATABASE relume",
        )
    connection.execute(text(f"CREATE TABLE IF NOT EXISTS {MARK} (id INTEGER PRIMARY KEY)"))
    connection.info[_RESUMES] = MARK in found
    try:
        yield
    finally:
        connection.info.pop(_RESUMES, None)
    connection.execute(text(f"DROP TABLE {MARK}"))
