"""The HTTP API of the service; `docs/api.md` describes it, `/openapi.json` types it."""

from __future__ import annotations

from relume.serve.api.access import Access, is_local
from relume.serve.api.app import create_app
from relume.serve.api.ports import (
    AttemptsView,
    AttemptView,
    OnScheduler,
    PartStatus,
    Readiness,
    view_of,
)
from relume.serve.api.tokens import Role, Tokens, read_tokens

__all__ = [
    "Access",
    "AttemptView",
    "AttemptsView",
    "OnScheduler",
    "PartStatus",
    "Readiness",
    "Role",
    "Tokens",
    "create_app",
    "is_local",
    "read_tokens",
    "view_of",
]
