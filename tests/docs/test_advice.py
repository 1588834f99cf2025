"""The page about Advice names every command and option of `relume advice` and `relume ledger`."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from relume.cli import advice, ledger


@pytest.mark.parametrize(("name", "app"), [("advice", advice.app), ("ledger", ledger.app)])
def test_every_command_and_option_is_named(repository: Path, name: str, app: typer.Typer) -> None:
    page = (repository / "docs/advice.md").read_text(encoding="utf-8")
    for command, found in typer.main.get_group(app).commands.items():
        assert f"relume {name} {command}" in page
        for parameter in found.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in page, option
