"""What attempts that are over leave to their families, in the database."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, insert, select, update

from relume.models.family.attempt import AttemptGaps
from relume.models.family.prior import MAX_MEMBERS
from relume.serve.ledger.tables import GAPS


def put(connection: Connection, family: str, left: AttemptGaps) -> None:
    """Write what an attempt leaves in place of what was written of it before."""
    values = {
        "family": family,
        "known_at": left.known_at,
        "document": msgspec.json.encode(left).decode(),
    }
    mine = GAPS.c.attempt == left.attempt
    if connection.execute(update(GAPS).where(mine).values(**values)).rowcount == 0:
        connection.execute(insert(GAPS).values(attempt=left.attempt, **values))


def before(connection: Connection, family: str, time: int) -> list[AttemptGaps]:
    """Return the last members of a family that were known to be over before a time."""
    query = (
        select(GAPS.c.document)
        .where(GAPS.c.family == family, GAPS.c.known_at < time)
        .order_by(GAPS.c.known_at.desc(), GAPS.c.attempt.desc())
        .limit(MAX_MEMBERS)
    )
    documents = connection.execute(query).scalars()
    return [msgspec.json.decode(document, type=AttemptGaps) for document in documents]
