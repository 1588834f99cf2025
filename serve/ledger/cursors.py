"""Positions up to which sources were read, in the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, delete, insert, select, update

from relume.serve.ledger.tables import CURSORS


def put(connection: Connection, positions: Mapping[str, str]) -> None:
    """Write the position of each source in place of the one before."""
    for source, position in positions.items():
        mine = CURSORS.c.source == source
        if connection.execute(update(CURSORS).where(mine).values(position=position)).rowcount == 0:
            connection.execute(insert(CURSORS).values(source=source, position=position))


def find(connection: Connection, source: str) -> str | None:
    """Return the position of one source."""
    query = select(CURSORS.c.position).where(CURSORS.c.source == source)
    return connection.execute(query).scalar_one_or_none()


def every(connection: Connection) -> dict[str, str]:
    """Return the position of every source."""
    query = select(CURSORS.c.source, CURSORS.c.position).order_by(CURSORS.c.source)
    return {row.source: row.position for row in connection.execute(query)}


def drop(connection: Connection, sources: Iterable[str]) -> None:
    """Forget sources that won't be read any more."""
    for source in sources:
        connection.execute(delete(CURSORS).where(CURSORS.c.source == source))
