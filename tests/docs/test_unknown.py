"""`docs/unknown.md` names the options, keys and bounds that there are."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import typer.main

from relume.cli.report import app
from relume.models.templates.drain import DrainSettings
from relume.models.templates.history import (
    MAX_FAMILIES,
    MAX_LEARNED,
    MAX_OF_FAMILY,
    SETTINGS,
    HistoryState,
)
from relume.models.templates.unrecognised import MAX_SHOWN, MAX_TEXT
from relume.serve.healthy import HISTORY_FILE
from relume.serve.kept import KeptBounds
from relume.serve.tails import SHOWN_LINES
from relume.serve.unrecognised import MAX_LINES, MIN_LINES
from relume.verdict import Unrecognised


def page(repository: Path) -> str:
    return (repository / "docs/unknown.md").read_text(encoding="utf-8")


def test_every_option_of_the_report_is_named(repository: Path) -> None:
    command = typer.main.get_group(app).commands["unknown"]
    options = {name for parameter in command.params for name in parameter.opts}
    assert options == set(re.findall(r"`(--[a-z]+)(?: [A-Z]+)?`", page(repository))) - {"--cases"}


def test_every_key_is_named(repository: Path) -> None:
    text = page(repository)
    for key in (*HistoryState.__struct_fields__, *(field.name for field in fields(Unrecognised))):
        assert re.search(rf"^\| (?:\w+, )*{key}[ ,]", text, re.MULTILINE), key


def test_the_bounds_are_those_of_the_code(repository: Path) -> None:
    text = page(repository)
    bounds = KeptBounds()
    for words in (
        f"{MAX_TEXT} characters at most",
        f"the last {SHOWN_LINES} lines",
        f"up to {bounds.late_bytes // 1024} KiB after each",
        f"{MAX_LINES:,} lines, at least {MIN_LINES} of each",
        f"of each of the first {bounds.max_logs} logs",
        f"share {DrainSettings().similarity:.0%} of their constant words".replace("%", " %"),
        f"{SETTINGS.max_templates:,} at most",
        f"{MAX_FAMILIES} families ({MAX_OF_FAMILY:,}",
        f"last {MAX_LEARNED:,} attempts",
        f"`{HISTORY_FILE}`",
    ):
        assert words in " ".join(text.split()), words
    assert MAX_SHOWN == 5
    assert "up to five lines" in text
