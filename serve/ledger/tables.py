"""The tables of the ledger, as they are after the newest migration.

Whole records are JSON in `document`; the columns beside it are what is searched for. Times are UTC
microseconds.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    text,
)

from relume.serve.ledger.types import DOCUMENT, HASH, ID, NAME, SOURCE, SUBJECT

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


ADVICE = Table(
    "advice",
    METADATA,
    Column("advice_id", ID, primary_key=True),
    Column("attempt", SUBJECT, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("cluster", NAME, nullable=False),
    Column("operation", NAME, nullable=False),
    Column("settled", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False, index=True),
    Column("document", DOCUMENT, nullable=False),
    UniqueConstraint("attempt", "generation"),
    CheckConstraint("generation > 0", "generation"),
    Index(None, "created_at", "advice_id"),
)
"""Written once and never changed; a trigger sees to it. `attempt` is `Advice.subject`."""

RECONCILIATIONS = Table(
    "reconciliations",
    METADATA,
    Column("advice_id", ID, ForeignKey(ADVICE.c.advice_id), primary_key=True),
    Column("disposition", NAME, nullable=False),
    Column("reason", DOCUMENT),
    Column("observed_generation", Integer, nullable=False),
    Column("fencing_token", BigInteger, nullable=False),
)
"""What the controller reported last; no row is PENDING."""

ATTEMPTS = Table(
    "attempts",
    METADATA,
    Column("attempt", NAME, primary_key=True),
    Column("cluster", NAME, nullable=False),
    Column("job_id", NAME, nullable=False),
    Column("first_submit_time", BigInteger, nullable=False),
    Column("restart_count", Integer, nullable=False),
    Column("run", NAME, nullable=False, index=True),
    Column("ended", Boolean, nullable=False, index=True),
    Column("document", DOCUMENT, nullable=False),
    Column("changed", BigInteger, nullable=False, server_default=text("0"), index=True),
    Index(None, "job_id", "first_submit_time", "restart_count"),
    Index(None, "first_submit_time", "job_id", "restart_count"),
)
"""`changed` rises with each transaction that writes attempts; 0 is from before it was counted."""

GAPS = Table(
    "gaps",
    METADATA,
    Column("attempt", NAME, primary_key=True),
    Column("family", String(32), nullable=False),
    Column("known_at", BigInteger, nullable=False),
    Column("document", DOCUMENT, nullable=False),
    Index(None, "family", "known_at"),
)
"""Written when an attempt is over; those that begin later learn from it."""

MILESTONES = Table(
    "milestones",
    METADATA,
    Column("attempt", NAME, primary_key=True),
    Column("milestone", NAME, primary_key=True),
    Column("advice_id", ID, ForeignKey(ADVICE.c.advice_id)),
    Column("event_time", BigInteger, nullable=False, index=True),
)

LEASES = Table(
    "leases",
    METADATA,
    Column("cluster", NAME, primary_key=True),
    Column("holder", NAME, nullable=False),
    Column("fencing_token", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger),
)
"""One row for each cluster that ever had a controller; never deleted, or tokens would repeat."""

FLEETS = Table(
    "fleets",
    METADATA,
    Column("cluster", NAME, primary_key=True),
    Column("document", DOCUMENT, nullable=False),
)
"""What a service knows of a cluster beside its attempts, to go on with after a restart."""

CURSORS = Table(
    "cursors",
    METADATA,
    Column("source", SOURCE, primary_key=True),
    Column("position", DOCUMENT, nullable=False),
)

INCIDENTS = Table(
    "incidents",
    METADATA,
    Column("incident_id", ID, primary_key=True),
    Column("subject", SUBJECT, nullable=False),
    Column("number", Integer, nullable=False),
    Column("cluster", NAME, nullable=False),
    Column("opened_at", BigInteger, nullable=False),
    Column("closed_at", BigInteger),
    Column("document", DOCUMENT, nullable=False),
    UniqueConstraint("subject", "number"),
    Index(None, "opened_at", "incident_id"),
)
"""Changed while one goes on, with each Advice that belongs to it; `subject` is `Advice.subject`."""

INCIDENT_ADVICE = Table(
    "incident_advice",
    METADATA,
    Column("advice_id", ID, ForeignKey(ADVICE.c.advice_id), primary_key=True),
    Column("incident_id", ID, ForeignKey(INCIDENTS.c.incident_id), nullable=False, index=True),
)
"""Which Advice belongs to which incident; what was written by older versions belongs to none."""

OUTCOMES = Table(
    "outcomes",
    METADATA,
    Column("advice_id", ID, ForeignKey(ADVICE.c.advice_id), primary_key=True),
    Column("rule", NAME),
    Column("label", NAME, nullable=False),
    Column("document", DOCUMENT, nullable=False),
)
"""What became of an alarm, once it is known; written once."""

LABELS = Table(
    "labels",
    METADATA,
    Column("label_id", Integer, primary_key=True),
    Column("advice_id", ID, ForeignKey(ADVICE.c.advice_id), nullable=False, index=True),
    Column("document", DOCUMENT, nullable=False),
)
"""What people say of Advice; a trigger refuses changes, the newest one stands."""

AUDIT = Table(
    "audit",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("who", NAME, nullable=False),
    Column("what", NAME, nullable=False),
    Column("about", NAME, nullable=False),
    Column("document", DOCUMENT, nullable=False),
    Column("previous", HASH, nullable=False),
    Column("hash", HASH, nullable=False),
)
"""Who did what; each row holds the hash of the one before, and triggers refuse changes."""

TURN = ""
WRITERS = Table(
    "writers",
    METADATA,
    Column("writer", ID, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
)
"""On a server only: row `TURN` is locked by who writes; each writer numbers its commits."""

ANSWERS = Table(
    "answers",
    METADATA,
    Column("advice_id", ID, ForeignKey(ADVICE.c.advice_id), primary_key=True),
    Column("answer", NAME, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("who", NAME),
    Column("why", DOCUMENT),
    Column("at", BigInteger),
    Index(None, "answer", "expires_at"),
)
"""One row for each Advice that a person must approve; changed once, by the answer."""

REQUESTS = Table(
    "requests",
    METADATA,
    Column("request", HASH, primary_key=True),
    Column("body", HASH, nullable=False),
    Column("at", BigInteger, nullable=False, index=True),
    Column("document", DOCUMENT, nullable=False),
)
"""Requests that carried a key of their own, so that none is done twice; forgotten after a day."""

NEWS = Table(
    "news",
    METADATA,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("what", NAME, nullable=False),
    Column("advice_id", ID, ForeignKey(ADVICE.c.advice_id), nullable=False),
    Column("at", BigInteger, nullable=False),
)
"""What became known, in the order in which it became durable; written with it."""
