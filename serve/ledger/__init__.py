"""The Advice ledger: what was decided, and what became of it, in a database that survives crashes.

`docs/formats/ledger.md` describes the tables.
"""

from __future__ import annotations

from relume.serve.ledger.aftermath import MAX_PAGE
from relume.serve.ledger.errors import (
    AdviceConflictError,
    ConflictError,
    FinalDispositionError,
    LeaseHeldError,
    NotFoundError,
    StaleFencingTokenError,
    SupersededError,
)
from relume.serve.ledger.happened import (
    AuditRecord,
    Closing,
    IncidentRecord,
    LabelRecord,
    OutcomeRecord,
    Standing,
    Struck,
)
from relume.serve.ledger.ledger import LEDGER_FILE, Ledger, sqlite_url
from relume.serve.ledger.records import (
    AttemptOutcome,
    AttemptRecord,
    Landed,
    Lease,
    Milestone,
    MilestoneRecord,
)

__all__ = [
    "LEDGER_FILE",
    "MAX_PAGE",
    "AdviceConflictError",
    "AttemptOutcome",
    "AttemptRecord",
    "AuditRecord",
    "Closing",
    "ConflictError",
    "FinalDispositionError",
    "IncidentRecord",
    "LabelRecord",
    "Landed",
    "Lease",
    "LeaseHeldError",
    "Ledger",
    "Milestone",
    "MilestoneRecord",
    "NotFoundError",
    "OutcomeRecord",
    "StaleFencingTokenError",
    "Standing",
    "Struck",
    "SupersededError",
    "sqlite_url",
]
