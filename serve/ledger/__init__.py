"""The Advice ledger: what was decided, and what became of it, in a database that survives crashes.

`docs/formats/ledger.md` describes the tables.
"""

from __future__ import annotations

from relume.serve.ledger.address import Access, file_of, sqlite_url
from relume.serve.ledger.aftermath import MAX_PAGE
from relume.serve.ledger.configured import access_of, open_configured, url_of
from relume.serve.ledger.errors import (
    AdviceConflictError,
    ConflictError,
    FinalDispositionError,
    LeaseHeldError,
    NotFoundError,
    NotWaitingError,
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
from relume.serve.ledger.ledger import LEDGER_FILE, Ledger
from relume.serve.ledger.news import News, NewsRecord
from relume.serve.ledger.records import (
    AttemptOutcome,
    AttemptRecord,
    Landed,
    Lease,
    Milestone,
    MilestoneRecord,
)
from relume.serve.ledger.told import MAX_NEWS

__all__ = [
    "LEDGER_FILE",
    "MAX_NEWS",
    "MAX_PAGE",
    "Access",
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
    "News",
    "NewsRecord",
    "NotFoundError",
    "NotWaitingError",
    "OutcomeRecord",
    "StaleFencingTokenError",
    "Standing",
    "Struck",
    "SupersededError",
    "access_of",
    "file_of",
    "open_configured",
    "sqlite_url",
    "url_of",
]
