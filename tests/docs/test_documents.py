"""The documents name files, folders and make targets that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
TARGET = re.compile(r"^([a-z]+):.*##", re.MULTILINE)
MAKE = re.compile(r"(?:`|^\$ )make ([a-z]+)", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
# `models/signatures/rule.py`, `docs/formats/`; placeholders such as `tests/<folder>/` are left out.
NAMED = re.compile(
    r"`((?:src|ingest|features|models|serve|controller|benchmarks|docs|tests|scripts)/[\w./-]*)`"
)


def documents(repository: Path) -> list[Path]:
    """Every page that the project ships."""
    return [
        *(repository / name for name in DOCUMENTS),
        *sorted((repository / "docs").rglob("*.md")),
    ]


def test_every_make_target_that_is_named_exists(repository: Path) -> None:
    targets = set(TARGET.findall((repository / "Makefile").read_text()))
    named = {hit for page in documents(repository) for hit in MAKE.findall(page.read_text())}
    assert {"demo", "test"} <= named
    assert named <= targets


@pytest.mark.parametrize("pattern", [LINK, NAMED], ids=["links", "paths"])
def test_every_path_that_is_named_exists(repository: Path, pattern: re.Pattern[str]) -> None:
    broken = {
        (str(page.relative_to(repository)), name)
        for page in documents(repository)
        for name in pattern.findall(page.read_text())
        if not ((page.parent if pattern is LINK else repository) / name).exists()
    }
    assert broken == set()


def test_make_help_lists_every_target(repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    phony = set(re.findall(r"^\.PHONY: ([a-z]+)$", makefile, re.MULTILINE))
    assert phony == set(TARGET.findall(makefile))
