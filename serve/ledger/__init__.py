"""The Advice ledger: what was decided, and what became of it, in a database that survives crashes.

`docs/formats/ledger.md` describes the tables.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relume.serve.ledger.errors import (
    AdviceConflictError,
    ConflictError,
    FinalDispositionError,
    KeyUsedError,
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
from relume.serve.ledger.records import (
    AttemptOutcome,
    AttemptRecord,
    Landed,
    Lease,
    Milestone,
    MilestoneRecord,
)

if TYPE_CHECKING:
    from relume.serve.ledger.address import Access, file_of, sqlite_url
    from relume.serve.ledger.aftermath import MAX_PAGE
    from relume.serve.ledger.configured import access_of, open_configured, url_of
    from relume.serve.ledger.ledger import LEDGER_FILE, Ledger
    from relume.serve.ledger.news import News, NewsRecord
    from relume.serve.ledger.pages import Key, Page, Wanted
    from relume.serve.ledger.requests import RequestKey
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
    "Key",
    "KeyUsedError",
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
    "Page",
    "RequestKey",
    "StaleFencingTokenError",
    "Standing",
    "Struck",
    "SupersededError",
    "Wanted",
    "access_of",
    "file_of",
    "open_configured",
    "sqlite_url",
    "url_of",
]
_LATER = {
    "Access": "address",
    "Key": "pages",
    "LEDGER_FILE": "ledger",
    "Ledger": "ledger",
    "MAX_NEWS": "told",
    "MAX_PAGE": "aftermath",
    "News": "news",
    "NewsRecord": "news",
    "Page": "pages",
    "RequestKey": "requests",
    "Wanted": "pages",
    "access_of": "configured",
    "file_of": "address",
    "open_configured": "configured",
    "sqlite_url": "address",
    "url_of": "configured",
}
"""Names of modules that need the database's library: a fifth of a second, and a worker of a
backtest, which knows only the records, does without."""


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever has that name
    """Return a name of `_LATER`, from its module, when it is first asked for."""
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return found
