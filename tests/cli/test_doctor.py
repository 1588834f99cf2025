"""`relume doctor`: text, JSON and exit codes, and its page."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from relume.cli import app
from relume.clock import ManualClock
from relume.errors import ConfigError
from relume.serve.doctor.checks import checks_of
from relume.settings import Settings


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of a service that doesn't run, on a machine without Slurm."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    file = tmp_path / "relume.toml"
    file.write_text(
        f'[serve]\nfolder = "{tmp_path}"\nlisten = "127.0.0.1:{port}"\nlog_roots = ["/no/such"]\n'
    )
    return file


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["doctor", "--patience", "300", *map(str, arguments)])


def test_each_failing_line_says_what_to_do(file: Path) -> None:
    result = run("--config", file)
    lines = result.stdout.splitlines()
    assert result.exit_code == 3
    assert lines[0] == "      ok  config: the configuration is valid"
    bad = [number for number, line in enumerate(lines) if line.startswith(" failing")]
    assert len(bad) >= 2
    assert all(lines[number + 1].startswith("          -> ") for number in bad)
    assert "failing" in result.stderr


def test_the_same_is_a_document(file: Path) -> None:
    result = run("--config", file, "--json")
    document = json.loads(result.stdout)
    assert document["exit_code"] == result.exit_code == 3
    logs = [one for one in document["findings"] if one["check"] == "logs"]
    assert [(one["status"], one["is_unreachable"]) for one in logs] == [("failing", False)]


def test_a_wrong_configuration_is_told_as_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "relume.toml"
    file.write_text("[serve]\nflder = 1\n")
    assert isinstance(run("--config", file).exception, ConfigError)


def test_a_token_is_read_from_a_file(file: Path) -> None:
    token = file.with_name("token")
    token.touch(0o600)
    assert isinstance(run("--config", file, "--token-file", token).exception, ConfigError)
    token.write_text("a-token-for-reading\n")
    assert run("--config", file, "--token-file", token).exit_code == 3


def test_the_page_names_every_option_and_check(repository: Path) -> None:
    page = (repository / "docs/doctor.md").read_text(encoding="utf-8")
    command = typer.main.get_command(app).commands["doctor"]  # type: ignore[attr-defined]
    for parameter in command.params:
        for option in parameter.opts:
            assert option in page, option
    for check in checks_of(Settings(), ManualClock(0), prometheus="http://p"):
        assert f"| {check} |" in page
