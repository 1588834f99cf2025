"""Counts of what was not read, and that each reason is documented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relume.ingest.skips import MAX_NAMED, MENDED, REASONS, SkipCounts


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


def test_files_are_named_the_first_ones_of_many() -> None:
    counts, other = SkipCounts(), SkipCounts()
    for number in range(2 * MAX_NAMED):
        counts.add("empty", file=f"rank_{number}.log")
    other.add("empty", file=Path("last.log"))
    other.add("name_not_utf8", file="\udcff.log")
    counts.merge(other)
    assert len(counts.files()["empty"]) == MAX_NAMED
    assert str(counts) == (
        f"{2 * MAX_NAMED + 1} x empty (rank_0.log, rank_1.log, rank_2.log and 18 more), "
        "1 x name_not_utf8 (\N{REPLACEMENT CHARACTER}.log)"
    )
    json.dumps(counts.record()).encode()  # raises on what no JSON holds


def test_what_was_read_all_the_same_is_not_called_left_out() -> None:
    counts = SkipCounts()
    counts.add("long_line_split", file="a.log")
    counts.add("sacct_row_joined", 2)
    counts.add("sacct_row")
    assert counts.left_out() == ["1 x sacct_row"]
    assert counts.mended() == ["1 x long_line_split (a.log)", "2 x sacct_row_joined"]
    record = counts.record()
    assert record["skipped"] == {"sacct_row": 1}
    assert record["mended"] == {"long_line_split": 1, "sacct_row_joined": 2}
    assert set(REASONS) > MENDED


def test_a_reason_that_nobody_knows_is_refused() -> None:
    with pytest.raises(KeyError):
        SkipCounts().add("mood")


def test_every_reason_is_documented_in_its_words(repository: Path) -> None:
    page = (repository / "docs" / "formats" / "log-input.md").read_text()
    rows = {tuple(cell.strip(" `") for cell in row.split("|")[1:3]) for row in page.splitlines()
            if row.startswith("| `")}  # fmt: skip
    assert set(REASONS.items()) <= rows
