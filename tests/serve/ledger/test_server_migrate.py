"""Migrations on a server: what was broken off is gone on with, and two don't collide."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Engine, create_engine, event, inspect, make_url

from advising import make_advice
from mariadb_server import MariaDB
from relume.errors import ConfigError, UnreachableError
from relume.serve.ledger import serverlock
from relume.serve.ledger.store import Store
from relume.serve.ledger.tables import METADATA

pytestmark = pytest.mark.needs_server("mariadb")
Shape = list[tuple[Any, ...]]
MANY = 100
OPEN = """\
import sys
from pathlib import Path
from relume.serve.ledger import Access, Ledger
sys.stdin.read(1)
Ledger.open(sys.argv[1], Access(Path(sys.argv[2]))).close()
"""


class Broken(Exception):  # noqa: N818 - it stands for SIGKILL
    """What breaks a migration off."""


def shape(server: MariaDB, url: str) -> Shape:
    """All that a server says of the tables and triggers of a database."""
    name = make_url(url).database
    found: Shape = []
    for table in METADATA.tables:
        ((_, made),) = server.ask(f"SHOW CREATE TABLE {name}.{table}")
        lines = made.replace(" AUTO_INCREMENT=1", "").split("\n")
        # Keys come in the order in which they were made.
        found.append((table, *sorted(line.removesuffix(",") for line in lines)))
    asked = "SELECT trigger_name, event_manipulation, action_statement, trigger_schema FROM {}"
    triggers = server.ask(asked.format("information_schema.triggers"))
    found += sorted(row[:3] for row in triggers if row[3] == name)
    return found + server.ask(f"SHOW TABLES FROM {name}")


@contextmanager
def break_off() -> Iterator[None]:
    """Break off after the first statement that changed something for good."""

    def look(_: object, __: object, statement: str, *___: object) -> None:
        changes = statement.lstrip().startswith(("CREATE", "INSERT", "UPDATE"))
        if changes and "IF NOT EXISTS" not in statement and "IGNORE" not in statement:
            raise Broken

    event.listen(Engine, "after_cursor_execute", look)
    try:
        yield
    finally:
        event.remove(Engine, "after_cursor_execute", look)


@pytest.fixture(scope="module")
def whole(mariadb_server: MariaDB) -> Shape:
    """The shape of a ledger that was made at once."""
    url = mariadb_server.url()
    mariadb_server.open(url).close()
    return shape(mariadb_server, url)


def test_a_migration_that_was_broken_off_anywhere_is_gone_on_with(
    mariadb_server: MariaDB, whole: Shape
) -> None:
    url, broken = mariadb_server.url(), 0
    # One database all the way: each try does one thing more than all before it.
    while broken < MANY:
        try:
            with break_off():
                mariadb_server.open(url).close()
        except Broken:
            broken += 1
        else:
            break
    assert len(METADATA.tables) < broken < MANY
    assert shape(mariadb_server, url) == whole
    with mariadb_server.open(url) as ledger:
        assert ledger.put_advice(make_advice())


def test_tables_of_somebody_else_are_left_alone(mariadb_server: MariaDB) -> None:
    url = mariadb_server.url()
    name = make_url(url).database
    mariadb_server.ask("CREATE TABLE leases (mine INTEGER)", name)
    for _ in range(2):
        with pytest.raises(ConfigError, match="tables that Relume didn't make: leases; expected"):
            mariadb_server.open(url)
    assert mariadb_server.ask(f"SHOW TABLES FROM {name}") == [("leases",)]


def test_a_ledger_of_a_newer_version_is_refused_and_left_alone(mariadb_server: MariaDB) -> None:
    url = mariadb_server.url()
    mariadb_server.open(url).close()
    name = make_url(url).database
    mariadb_server.ask("UPDATE alembic_version SET version_num = '9999'", name)
    with pytest.raises(ConfigError, match=r"revision 9999.*written by a newer Relume"):
        mariadb_server.open(url)
    assert mariadb_server.ask("SELECT * FROM alembic_version", name) == [("9999",)]


def test_the_migrations_make_the_tables_that_the_code_uses(mariadb_server: MariaDB) -> None:
    url = mariadb_server.url()
    store = Store.open(url, mariadb_server.access)
    with store.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
        assert set(inspect(connection).get_table_names()) == {*METADATA.tables, "alembic_version"}
    store.close()


def test_every_table_compares_bytes_and_is_durable(mariadb_server: MariaDB, whole: Shape) -> None:
    url = mariadb_server.url()
    name = make_url(url).database
    options = {"unix_socket": str(mariadb_server.socket), "user": "root"}
    engine = create_engine(f"mysql+pymysql:///{name}", connect_args=options)
    METADATA.create_all(engine)
    engine.dispose()
    tables = len(METADATA.tables)
    assert shape(mariadb_server, url)[:tables] == whole[:tables]
    endings = {line for _, *lines in whole[:tables] for line in lines if line.startswith(")")}
    assert endings == {") ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin"}


def test_processes_that_open_a_new_database_at_once_do_not_collide(
    mariadb_server: MariaDB, whole: Shape
) -> None:
    url = mariadb_server.url()
    command = [sys.executable, "-c", OPEN, url, str(mariadb_server.password_file)]
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for one in started:
        assert one.stdin is not None
        one.stdin.write("x")
        one.stdin.flush()
    said = [one.communicate()[1] for one in started]
    assert [one.returncode for one in started] == [0, 0, 0], said
    assert shape(mariadb_server, url) == whole


def test_who_waits_too_long_for_another_migration_is_told(
    mariadb_server: MariaDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serverlock, "PATIENCE_SECONDS", -1.0)
    monkeypatch.setattr(serverlock, "_ASK_SECONDS", 0)
    url = mariadb_server.url()
    first = Store.connect(url, mariadb_server.access)
    with (
        first.migrating(),
        pytest.raises(UnreachableError, match="another service that changes its tables"),
    ):
        mariadb_server.open(url)
    first.close()
