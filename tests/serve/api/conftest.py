"""The service that tests talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from relume.serve.ledger import Ledger, sqlite_url
from serving import Service


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service that has just started on an empty ledger."""
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as ledger:
        yield Service(ledger)
