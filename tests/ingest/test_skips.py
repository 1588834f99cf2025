"""Counts of what was not read, and that each reason is documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.ingest.skips import REASONS, SkipCounts


def test_counts_add_up_and_print_in_order() -> None:
    counts, other = SkipCounts(), SkipCounts()
    assert not counts
    assert str(counts) == ""
    counts.add("empty")
    other.add("binary", 2)
    other.add("empty")
    counts.merge(other)
    assert counts
    assert list(counts.items()) == [("binary", 2), ("empty", 2)]
    assert str(counts) == "2 x binary, 2 x empty"
    assert other.as_dict() == {"binary": 2, "empty": 1}


def test_a_reason_that_nobody_knows_is_refused() -> None:
    with pytest.raises(KeyError):
        SkipCounts().add("mood")


def test_every_reason_is_documented_in_its_words(repository: Path) -> None:
    page = (repository / "docs" / "formats" / "log-input.md").read_text()
    rows = {tuple(cell.strip(" `") for cell in row.split("|")[1:3]) for row in page.splitlines()
            if row.startswith("| `")}  # fmt: skip
    assert set(REASONS.items()) <= rows
