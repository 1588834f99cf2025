"""The dashboard: pages for people over what the ledger and the lake hold; `docs/page.md`."""

from __future__ import annotations

from relume.serve.page.dashboard import Dashboard

__all__ = ["Dashboard"]
