"""The service that tests talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from relume.serve.ledger import Ledger, sqlite_url
from serving import Service


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An empty ledger."""
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as opened:
        yield opened


@pytest.fixture
def service(ledger: Ledger) -> Service:
    """A service that has just started on an empty ledger."""
    return Service(ledger)
