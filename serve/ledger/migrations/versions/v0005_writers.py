"""Who writes, for servers: whose turn it is, and what became of the last commit of each."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from relume.serve.ledger.types import ID, SERVER

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, and on a server the row for which writers wait."""
    op.create_table(
        "writers",
        sa.Column("writer", ID, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("writer", name="pk_writers"),
    )
    if op.get_context().dialect.name == SERVER:
        op.execute("INSERT IGNORE INTO writers VALUES ('', 0, 0)")
