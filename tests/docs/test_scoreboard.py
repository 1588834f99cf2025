"""The page about the scoreboard names the options of both reports, and their columns."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from relume.cli.report import app


@pytest.mark.parametrize("name", ["scoreboard", "false-positives"])
def test_every_option_is_named(repository: Path, name: str) -> None:
    page = (repository / "docs/scoreboard.md").read_text(encoding="utf-8")
    assert f"relume report {name}" in page
    for parameter in typer.main.get_group(app).commands[name].params:
        for option in parameter.opts:
            assert option in page, option
