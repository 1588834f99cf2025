"""What every test of alerts gets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from desk import Desk
from receiving import receiving
from relume.serve.ledger import Ledger, sqlite_url


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A desk with an empty ledger; its receiver runs as long as the test."""
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as ledger, receiving() as receiver:
        found = Desk(ledger, receiver)
        yield found
        for target in found.targets:
            target.close()
