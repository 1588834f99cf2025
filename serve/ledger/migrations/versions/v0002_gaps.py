"""What attempts leave to their families: how long they were silent."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from relume.serve.ledger.types import DOCUMENT, NAME

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "gaps",
        sa.Column("attempt", NAME, nullable=False),
        sa.Column("family", sa.String(32), nullable=False),
        sa.Column("known_at", sa.BigInteger, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("attempt", name="pk_gaps"),
    )
    op.create_index("ix_gaps_family_known_at", "gaps", ["family", "known_at"])
