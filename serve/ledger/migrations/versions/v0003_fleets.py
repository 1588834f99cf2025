"""What is known of each cluster beside its attempts: incidents, nodes and their faults."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from relume.serve.ledger.types import DOCUMENT, NAME

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "fleets",
        sa.Column("cluster", NAME, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("cluster", name="pk_fleets"),
    )
