"""`relume ledger copy`, and the commands about a ledger that is a database on a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from advising import ATTEMPT
from ledgers import fill
from mariadb_server import MariaDB
from relume.advice import advice_id
from relume.cli import app
from relume.errors import ConfigError, InputError
from relume.serve.ledger import Ledger, sqlite_url

FIRST = advice_id(ATTEMPT, 1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with something in it."""
    file = tmp_path / "ledger.db"
    with Ledger.open(sqlite_url(file)) as ledger:
        fill(ledger)
    return file


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_without_yes_it_is_only_shown(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    result = run("ledger", "copy", "--from", file, "--to", target)
    assert result.exit_code == 0
    assert ["advice", "8"] in [line.split("\t") for line in result.stdout.splitlines()]
    assert f"to copy: relume ledger copy --from {file} --to {target} --yes" in result.stderr
    assert not target.exists()


def test_a_file_is_copied_into_another_one_once(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    result = run("ledger", "copy", "--from", file, "--to", target, "--yes", "--json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert (told["copied"], told["rows"]["advice"]) == (True, 8)
    assert "the audit holds: 10 rows" in result.stderr
    for arguments in ([], ["--yes"]):
        again = run("ledger", "copy", "--from", file, "--to", target, *arguments)
        assert isinstance(again.exception, InputError)
        assert "expected an empty ledger" in str(again.exception)
    missing = run("ledger", "copy", "--from", tmp_path / "none.db", "--to", target, "--yes")
    assert isinstance(missing.exception, InputError)
    assert "no such file" in str(missing.exception)
    assert "name it with --from" in str(missing.exception)


@pytest.mark.needs_server("mariadb")
def test_a_ledger_on_a_server_is_asked_as_a_file_is(
    file: Path, tmp_path: Path, mariadb_server: MariaDB
) -> None:
    url = mariadb_server.url()
    config = tmp_path / "relume.toml"
    config.write_text(
        f'[serve]\nledger_url = "{url}"\nledger_password_file = "{mariadb_server.password_file}"\n'
    )
    with_config = ("--config", config)
    dry = run("ledger", "copy", "--from", file, "--to", url, *with_config)
    assert dry.exit_code == 0
    assert mariadb_server.ask(f"SHOW TABLES FROM {mariadb_server.last_database}") == []
    assert run("ledger", "copy", "--from", file, "--to", url, "--yes", *with_config).exit_code == 0
    commands = [
        ("ledger", "verify"),
        ("ledger", "audit"),
        ("advice", "list", "--json"),
        ("advice", "show", FIRST[:8], "--json"),
    ]
    for command in commands:
        served = run(*command, *with_config)
        assert served.exit_code == 0, served.stderr
        assert served.stdout == run(*command, "--ledger", file).stdout
    assert run("report", "scoreboard", *with_config).exit_code == 0
    labelled = run(
        "advice", "label", FIRST[:8], "--wrong", "--who", "me", "--ledger", url, *with_config
    )
    assert labelled.exit_code == 0
    assert "wrong" in run("advice", "show", FIRST[:8], *with_config).stdout
    refused = run("ledger", "verify", "--ledger", url)
    assert isinstance(refused.exception, ConfigError)
    assert "Access denied" in str(refused.exception)
