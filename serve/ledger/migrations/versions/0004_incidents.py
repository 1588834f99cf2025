"""Incidents, outcomes of alarms, labels of people, and who did what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_NAME = sa.String(255)
_ID = sa.String(36)
_HASH = sa.String(64)
_KEPT = "what was written here never changes"
_NO_REPLACING = (
    "CREATE TRIGGER TABLE_refuses_replace BEFORE INSERT ON TABLE "
    "WHEN EXISTS (SELECT 1 FROM TABLE WHERE KEY = NEW.KEY) "
    "BEGIN SELECT RAISE(ABORT, 'what was written here never changes'); END"
)


def upgrade() -> None:
    """Make the tables."""
    _make_incidents()
    _make_outcomes()
    _make_audit()
    for table in ("labels", "audit"):
        for change in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_refuses_{change.lower()} BEFORE {change} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{_KEPT}'); END"
            )
        # INSERT OR REPLACE deletes a row without asking a trigger.
        key = {"labels": "label_id", "audit": "number"}[table]
        op.execute(_NO_REPLACING.replace("TABLE", table).replace("KEY", key))


def _make_incidents() -> None:
    op.create_table(
        "incidents",
        sa.Column("incident_id", _ID, nullable=False),
        sa.Column("subject", _NAME, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("cluster", _NAME, nullable=False),
        sa.Column("opened_at", sa.BigInteger, nullable=False),
        sa.Column("closed_at", sa.BigInteger),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("incident_id", name="pk_incidents"),
        sa.UniqueConstraint("subject", "number", name="uq_incidents_subject_number"),
    )
    op.create_index("ix_incidents_opened_at_incident_id", "incidents", ["opened_at", "incident_id"])
    op.create_table(
        "incident_advice",
        sa.Column("advice_id", _ID, nullable=False),
        sa.Column("incident_id", _ID, nullable=False),
        sa.PrimaryKeyConstraint("advice_id", name="pk_incident_advice"),
        sa.ForeignKeyConstraint(
            ["advice_id"], ["advice.advice_id"], name="fk_incident_advice_advice_id"
        ),
        sa.ForeignKeyConstraint(
            ["incident_id"], ["incidents.incident_id"], name="fk_incident_advice_incident_id"
        ),
    )
    op.create_index("ix_incident_advice_incident_id", "incident_advice", ["incident_id"])


def _make_outcomes() -> None:
    op.create_table(
        "outcomes",
        sa.Column("advice_id", _ID, nullable=False),
        sa.Column("rule", _NAME),
        sa.Column("label", _NAME, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("advice_id", name="pk_outcomes"),
        sa.ForeignKeyConstraint(["advice_id"], ["advice.advice_id"], name="fk_outcomes_advice_id"),
    )
    op.create_table(
        "labels",
        sa.Column("label_id", sa.Integer, nullable=False),
        sa.Column("advice_id", _ID, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("label_id", name="pk_labels"),
        sa.ForeignKeyConstraint(["advice_id"], ["advice.advice_id"], name="fk_labels_advice_id"),
    )
    op.create_index("ix_labels_advice_id", "labels", ["advice_id"])


def _make_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("who", _NAME, nullable=False),
        sa.Column("what", _NAME, nullable=False),
        sa.Column("about", _NAME, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
        sa.Column("previous", _HASH, nullable=False),
        sa.Column("hash", _HASH, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
