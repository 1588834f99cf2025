"""Which attempts changed last, so that who counts all of them reads those that are new to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the number; attempts of older versions have 0, and are read by everybody once."""
    column = sa.Column("changed", sa.BigInteger, nullable=False, server_default=sa.text("0"))
    op.add_column("attempts", column)
    op.create_index("ix_attempts_changed", "attempts", ["changed"])
