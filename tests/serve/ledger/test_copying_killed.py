"""A copy that is killed on the way leaves an empty ledger, and is simply made again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ledgers import fill, said_by
from mariadb_server import MariaDB
from relume.cli import app
from relume.serve.ledger import Ledger, copying, sqlite_url

LAST = len(copying.TABLES) - 1
KILLED = """
import os, signal, sys
from relume.cli import app
from relume.serve.ledger import audit, copying

left = int(sys.argv.pop(1))

def dying(real):
    def call(*arguments):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)
    return call

copying._copy_table, audit.verify = dying(copying._copy_table), dying(audit.verify)
app()
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file with something in every table."""
    file = tmp_path / "source.db"
    with Ledger.open(sqlite_url(file)) as ledger:
        fill(ledger)
    return file


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration; the test of a server adds to it."""
    file = tmp_path / "relume.toml"
    file.touch()
    return file


def killed_after(tables: int, *arguments: str | Path) -> None:
    """Run a command and kill it after so many tables, or before the end of its transaction."""
    command = [sys.executable, "-c", KILLED, str(tables), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


def copied(*arguments: str | Path) -> None:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.exception
    assert "the audit holds: 10 rows" in result.stderr


@pytest.mark.parametrize("tables", [0, LAST // 2, LAST, LAST + 1])
def test_into_a_file(tmp_path: Path, source: Path, tables: int) -> None:
    target = tmp_path / "target.db"
    command = ("ledger", "copy", "--from", source, "--to", target, "--yes")
    killed_after(tables, *command)
    copied(*command)
    with Ledger.open(sqlite_url(source)) as one, Ledger.open(sqlite_url(target)) as other:
        assert said_by(one) == said_by(other)


@pytest.fixture
def served(mariadb_server: MariaDB, config: Path) -> str:
    """The URL of a new database, and its password in the configuration."""
    config.write_text(f'[serve]\nledger_password_file = "{mariadb_server.password_file}"\n')
    return mariadb_server.url()


@pytest.mark.needs_server("mariadb")
@pytest.mark.parametrize("tables", [LAST // 2, LAST + 1])
def test_into_a_server_and_back(
    tmp_path: Path, source: Path, served: str, config: Path, tables: int
) -> None:
    target = tmp_path / "back.db"
    for begin, end in ((source, served), (served, target)):
        command = ("ledger", "copy", "--from", begin, "--to", end, "--yes", "--config", config)
        killed_after(tables, *command)
        copied(*command)
    with Ledger.open(sqlite_url(source)) as one, Ledger.open(sqlite_url(target)) as other:
        assert said_by(one) == said_by(other)
