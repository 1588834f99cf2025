"""What is known of each cluster beside its attempts, in the database: one document each."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from relume.serve.ledger.tables import FLEETS


def put(connection: Connection, cluster: str, document: str) -> None:
    """Write what is known in place of what was known before."""
    mine = FLEETS.c.cluster == cluster
    if connection.execute(update(FLEETS).where(mine).values(document=document)).rowcount == 0:
        connection.execute(insert(FLEETS).values(cluster=cluster, document=document))


def find(connection: Connection, cluster: str) -> str | None:
    """Return what was written last."""
    query = select(FLEETS.c.document).where(FLEETS.c.cluster == cluster)
    return connection.execute(query).scalar_one_or_none()
