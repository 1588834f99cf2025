"""Why the ledger refuses a change; `error_type` is part of the HTTP API.

::

    ConflictError               something else is true by now; asking again changes nothing
    ├── AdviceConflictError     the same decision with another content
    ├── SupersededError         about a generation that is no longer the newest
    ├── FinalDispositionError   the Advice has come to another end already
    ├── NotWaitingError         it has an answer already, or needs none
    ├── LeaseHeldError          another controller is alive
    └── StaleFencingTokenError  another controller has taken over
    NotFoundError               there is no such record
    KeyUsedError                a key of a request came with another one
"""

from __future__ import annotations

from relume.errors import InputError, Permanent, RelumeError


class ConflictError(Permanent, RelumeError):
    """The change contradicts what the ledger holds by now."""

    error_type = "conflict"


class AdviceConflictError(ConflictError):
    """A generation that is in the ledger was to be written with another content."""

    error_type = "advice_conflict"


class SupersededError(ConflictError):
    """A report about an older generation than the newest one; it is ignored."""

    error_type = "superseded"


class FinalDispositionError(ConflictError):
    """The Advice has converged or was abandoned, and that doesn't change any more."""

    error_type = "final_disposition"


class NotWaitingError(ConflictError):
    """An answer to Advice that waits for none: it has one, has expired, or never needed one."""

    error_type = "not_waiting"


class LeaseHeldError(ConflictError):
    """Another holder's lease is alive."""

    error_type = "lease_held"


class StaleFencingTokenError(ConflictError):
    """The fencing token isn't the newest one of its cluster: stop acting."""

    error_type = "stale_fencing_token"


class NotFoundError(InputError):
    """The record that was named doesn't exist."""

    error_type = "not_found"


class KeyUsedError(InputError):
    """A request came by a key (Idempotency-Key) that was used for another one."""

    error_type = "key_used"
