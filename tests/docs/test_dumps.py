"""The page about dumps says what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.tables import update
from relume.models.collectives.finding import Pattern


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs" / "formats" / "dumps.md").read_text()


def test_every_pattern_is_explained(page: str) -> None:
    for pattern in Pattern:
        assert f"| `{pattern.value}` |" in page


def test_the_table_is_that_of_the_stored_result(page: str, repository: Path) -> None:
    assert update(page, repository / "benchmarks" / "results") == page
