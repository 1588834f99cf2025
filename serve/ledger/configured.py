"""The ledger that a configuration names."""

from __future__ import annotations

from pathlib import Path

from relume.serve.ledger.address import Access, sqlite_url
from relume.serve.ledger.ledger import LEDGER_FILE, Ledger
from relume.settings import ServeSettings


def url_of(serve: ServeSettings) -> str:
    """Return the URL of the configured ledger.

    Examples
    --------
    >>> url_of(ServeSettings(folder="/data"))
    'sqlite:////data/ledger.db'
    """
    return serve.ledger_url or sqlite_url(Path(serve.folder) / LEDGER_FILE)


def access_of(serve: ServeSettings) -> Access:
    """Return how the configured database is entered."""
    password, ca = serve.ledger_password_file, serve.ledger_ca_file
    return Access(Path(password) if password else None, Path(ca) if ca else None)


def open_configured(serve: ServeSettings) -> Ledger:
    """Open the configured ledger; raises as `Ledger.open`."""
    return Ledger.open(url_of(serve), access_of(serve))
