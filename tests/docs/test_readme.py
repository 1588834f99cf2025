"""What the README shows is what the program prints and what the benches stored."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from relume.benchmarks.demo.corpus import generate
from relume.benchmarks.tables import update
from relume.cli import app

SHOWN = re.compile(r"```console\n\$ relume diagnose (?P<path>\S+)\n(?P<output>.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/unknown.md", "docs/speed.md"])
def test_the_tables_are_those_of_the_stored_results(repository: Path, page: str) -> None:
    text = (repository / page).read_text()
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
