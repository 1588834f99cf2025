"""The pages of the formats name every key, table and error."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from relume.ingest import lake
from relume.ingest.lake.columns import LINE_SCHEMA
from relume.ingest.lake.journal import Commit, Segment
from relume.ingest.lake.segments import TABLES
from relume.ingest.tail import TailEvent
from relume.ingest.tailing.position import TailPosition


def first_cells(page: str) -> set[str]:
    """Words in the first column of every table."""
    rows = re.findall(r"^\| ([^|]+) \|", page, re.MULTILINE)
    return {word for row in rows for word in re.findall(r"\w+", row)}


@pytest.mark.parametrize(("page", "record"), [("lake", Commit), ("tailing", TailPosition)])
def test_every_key_has_its_row(repository: Path, page: str, record: type) -> None:
    text = (repository / f"docs/formats/{page}.md").read_text()
    assert {field.name for field in dataclasses.fields(record)} <= first_cells(text)


def test_the_page_of_the_lake_names_what_is_in_it(repository: Path) -> None:
    text = (repository / "docs/formats/lake.md").read_text()
    named = set(re.findall(r"`(\w+)`", text))
    assert set(TABLES.values()) <= named
    assert {field.name for field in dataclasses.fields(Segment)} <= named
    assert {name for name in lake.__all__ if name.endswith("Error")} <= named
    assert {"landed", "parsed"} == set(LINE_SCHEMA.names[-2:]) <= first_cells(text)


def test_the_page_of_the_tails_names_every_event(repository: Path) -> None:
    text = (repository / "docs/formats/tailing.md").read_text()
    assert {event.value for event in TailEvent} <= set(re.findall(r"`(\w+)`", text))
