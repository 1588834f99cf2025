"""What people answer in mode approve, and in which order things became known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from relume.serve.ledger.types import DOCUMENT, ID, NAME

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "answers",
        sa.Column("advice_id", ID, nullable=False),
        sa.Column("answer", NAME, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("who", NAME),
        sa.Column("why", DOCUMENT),
        sa.Column("at", sa.BigInteger),
        sa.PrimaryKeyConstraint("advice_id", name="pk_answers"),
        sa.ForeignKeyConstraint(["advice_id"], ["advice.advice_id"], name="fk_answers_advice_id"),
    )
    op.create_index("ix_answers_answer_expires_at", "answers", ["answer", "expires_at"])
    op.create_table(
        "news",
        sa.Column("number", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("what", NAME, nullable=False),
        sa.Column("advice_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_news"),
        sa.ForeignKeyConstraint(["advice_id"], ["advice.advice_id"], name="fk_news_advice_id"),
    )
