"""Incidents, outcomes of alarms, labels of people, and who did what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from relume.serve.ledger.migrations.triggers import refuse, refuse_replacing
from relume.serve.ledger.types import DOCUMENT, HASH, ID, NAME, SUBJECT

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_KEPT = "what was written here never changes"


def upgrade() -> None:
    """Make the tables."""
    _make_incidents()
    _make_outcomes()
    _make_audit()
    for table in ("labels", "audit"):
        for change in ("UPDATE", "DELETE"):
            refuse(f"{table}_refuses_{change.lower()}", table, change, _KEPT)
        key = {"labels": "label_id", "audit": "number"}[table]
        refuse_replacing(f"{table}_refuses_replace", table, key, _KEPT)


def _make_incidents() -> None:
    op.create_table(
        "incidents",
        sa.Column("incident_id", ID, nullable=False),
        sa.Column("subject", SUBJECT, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("cluster", NAME, nullable=False),
        sa.Column("opened_at", sa.BigInteger, nullable=False),
        sa.Column("closed_at", sa.BigInteger),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("incident_id", name="pk_incidents"),
        sa.UniqueConstraint("subject", "number", name="uq_incidents_subject_number"),
    )
    op.create_index("ix_incidents_opened_at_incident_id", "incidents", ["opened_at", "incident_id"])
    op.create_table(
        "incident_advice",
        sa.Column("advice_id", ID, nullable=False),
        sa.Column("incident_id", ID, nullable=False),
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
        sa.Column("advice_id", ID, nullable=False),
        sa.Column("rule", NAME),
        sa.Column("label", NAME, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("advice_id", name="pk_outcomes"),
        sa.ForeignKeyConstraint(["advice_id"], ["advice.advice_id"], name="fk_outcomes_advice_id"),
    )
    op.create_table(
        "labels",
        sa.Column("label_id", sa.Integer, nullable=False),
        sa.Column("advice_id", ID, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.PrimaryKeyConstraint("label_id", name="pk_labels"),
        sa.ForeignKeyConstraint(["advice_id"], ["advice.advice_id"], name="fk_labels_advice_id"),
    )
    op.create_index("ix_labels_advice_id", "labels", ["advice_id"])


def _make_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("who", NAME, nullable=False),
        sa.Column("what", NAME, nullable=False),
        sa.Column("about", NAME, nullable=False),
        sa.Column("document", DOCUMENT, nullable=False),
        sa.Column("previous", HASH, nullable=False),
        sa.Column("hash", HASH, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
