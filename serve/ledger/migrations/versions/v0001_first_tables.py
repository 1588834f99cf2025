"""The first tables: advice, reconciliations, attempts, milestones, leases, cursors."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_NAME = sa.String(255)
_ID = sa.String(36)


def upgrade() -> None:
    """Make the tables."""
    _make_advice()
    _make_attempts()
    op.create_table(
        "leases",
        sa.Column("cluster", _NAME, nullable=False),
        sa.Column("holder", _NAME, nullable=False),
        sa.Column("fencing_token", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("cluster", name="pk_leases"),
    )
    op.create_table(
        "cursors",
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("position", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("source", name="pk_cursors"),
    )


def _make_advice() -> None:
    op.create_table(
        "advice",
        sa.Column("advice_id", _ID, nullable=False),
        sa.Column("attempt", _NAME, nullable=False),
        sa.Column("generation", sa.Integer, nullable=False),
        sa.Column("cluster", _NAME, nullable=False),
        sa.Column("operation", _NAME, nullable=False),
        sa.Column("settled", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("advice_id", name="pk_advice"),
        sa.UniqueConstraint("attempt", "generation", name="uq_advice_attempt_generation"),
        sa.CheckConstraint("generation > 0", name=op.f("ck_advice_generation")),
    )
    op.create_index("ix_advice_expires_at", "advice", ["expires_at"])
    op.execute(
        "CREATE TRIGGER advice_is_append_only BEFORE UPDATE ON advice "
        "BEGIN SELECT RAISE(ABORT, 'a written generation of an Advice never changes'); END"
    )
    op.create_table(
        "reconciliations",
        sa.Column("advice_id", _ID, nullable=False),
        sa.Column("disposition", _NAME, nullable=False),
        sa.Column("reason", sa.Text),
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
        sa.Column("attempt", _NAME, nullable=False),
        sa.Column("cluster", _NAME, nullable=False),
        sa.Column("job_id", _NAME, nullable=False),
        sa.Column("first_submit_time", sa.BigInteger, nullable=False),
        sa.Column("restart_count", sa.Integer, nullable=False),
        sa.Column("run", _NAME, nullable=False),
        sa.Column("ended", sa.Boolean, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
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
        sa.Column("attempt", _NAME, nullable=False),
        sa.Column("milestone", _NAME, nullable=False),
        sa.Column("advice_id", _ID),
        sa.Column("event_time", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("attempt", "milestone", name="pk_milestones"),
        sa.ForeignKeyConstraint(
            ["advice_id"], ["advice.advice_id"], name="fk_milestones_advice_id"
        ),
    )
