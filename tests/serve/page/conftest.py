"""The pages that tests look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paging import Site
from relume.serve.ledger import Ledger, sqlite_url


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A service that has just started: nothing in its ledger, no lake."""
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as ledger:
        yield Site(ledger, tmp_path / "lake")
