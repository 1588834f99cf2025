"""What the README shows is what the program prints and what the benches stored."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from relume.benchmarks.demo.corpus import generate
from relume.benchmarks.tables import update
from relume.cli import app

if TYPE_CHECKING:
    import pytest

SHOWN = re.compile(r"```console\n\$ relume diagnose (?P<path>\S+)\n(?P<output>.*?)```", re.DOTALL)


def test_the_tables_are_those_of_the_stored_results(repository: Path) -> None:
    pages = [repository / "README.md", *sorted((repository / "docs").rglob("*.md"))]
    marked = [text for page in pages if "<!-- bench:" in (text := page.read_text())]
    assert marked
    for text in marked:
        assert update(text, repository / "benchmarks" / "results") == text


def test_the_verdict_shown_is_the_one_printed(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = SHOWN.search((repository / "README.md").read_text())
    assert shown is not None
    generate(tmp_path / "relume-demo" / "logs")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["diagnose", shown["path"]])
    assert result.stdout == shown["output"]
