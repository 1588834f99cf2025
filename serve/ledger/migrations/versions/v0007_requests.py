"""Requests that are done once, when a controller was seen last, and what lists are ordered by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from relume.serve.ledger.types import DOCUMENT, HASH

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, the column and the indexes."""
    op.create_table(
        "requests",
        sa.Column("request", HASH, nullable=False),
        sa.Column("body", HASH, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("request", name="pk_requests"),
    )
    op.create_index("ix_requests_at", "requests", ["at"])
    op.add_column("leases", sa.Column("seen_at", sa.BigInteger))
    for table, columns in (
        ("attempts", ["first_submit_time", "job_id", "restart_count"]),
        ("advice", ["created_at", "advice_id"]),
        ("milestones", ["event_time"]),
    ):
        op.create_index(f"ix_{table}_{'_'.join(columns)}", table, columns)
