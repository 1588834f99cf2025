"""The first tables: advice, reconciliations, attempts, milestones, leases, cursors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from relume.serve.ledger.migrations.triggers import refuse
from relume.serve.ledger.types import DOCUMENT, ID, NAME, SOURCE, SUBJECT

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_KEPT = "a written generation of an Advice never changes"


def upgrade() -> None:
    """Make the tables."""
    _make_advice()
    _make_attempts()
    op.create_table(
        "leases",
        sa.Column("cluster", NAME, nullable=False),
        sa.Column("holder", NAME, nullable=False),
        sa.Column("fencing_token", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("cluster", name="pk_leases"),
    )
    op.create_table(
        "cursors",
        sa.Column("source", SOURCE, nullable=False),
        sa.Column("position", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("source", name="pk_cursors"),
    )


def _make_advice() -> None:
    op.create_table(
        "advice",
        sa.Column("advice_id", ID, nullable=False),
        sa.Column("attempt", SUBJECT, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("cluster", NAME, nullable=False),
        sa.Column("operation", NAME, nullable=False),
        sa.Column("settled", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("advice_id", name="pk_advice"),
        sa.UniqueConstraint("attempt", "generation", name="uq_advice_attempt_generation"),
        sa.CheckConstraint("generation > 0", name=op.f("ck_advice_generation")),
    )
    op.create_index("ix_advice_expires_at", "advice", ["expires_at"])
    refuse("advice_is_append_only", "advice", "UPDATE", _KEPT)
    op.create_table(
        "reconciliations",
        sa.Column("advice_id", ID, nullable=False),
        sa.Column("disposition", NAME, nullable=False),
        sa.Column("reason", DOCUMENT),
        sa.Column("observed_generation", sa.Integer, nullable=False),
        sa.Column("fencing_token", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("advice_id", name="pk_reconciliations"),
        sa.ForeignKeyConstraint(
            ["advice_id"], ["advice.advice_id"], name="fk_reconciliations_advice_id"
        ),
    )


def _make_attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("attempt", NAME, nullable=False),
        sa.Column("cluster", NAME, nullable=False),
        sa.Column("job_id", NAME, nullable=False),
        sa.Column("first_submit_time", sa.BigInteger, nullable=False),
        sa.Column("restart_count", sa.Integer, nullable=False),
        sa.Column("run", NAME, nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("attempt", name="pk_attempts"),
    )
    op.create_index("ix_attempts_run", "attempts", ["run"])
    op.create_index("ix_attempts_ended", "attempts", ["ended"])
    op.create_index(
        "ix_attempts_job_id_first_submit_time_restart_count",
        "attempts",
        ["job_id", "first_submit_time", "restart_count"],
    )
    op.create_table(
        "milestones",
        sa.Column("attempt", NAME, nullable=False),
        sa.Column("milestone", NAME, nullable=False),
        sa.Column("advice_id", ID),
        sa.Column("event_time", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("attempt", "milestone", name="pk_milestones"),
        sa.ForeignKeyConstraint(
            ["advice_id"], ["advice.advice_id"], name="fk_milestones_advice_id"
        ),
    )
