"""Migrations: they lead to the tables that the code uses, and only forward."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect

from relume.errors import ConfigError
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.ledger.migrate import alembic_config
from relume.serve.ledger.store import Store
from relume.serve.ledger.tables import METADATA


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a new ledger."""
    file = tmp_path / "ledger.db"
    Ledger.open(sqlite_url(file)).close()
    return file


def revise(file: Path, statement: str) -> None:
    """Change the database behind the ledger's back."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()


def revision(file: Path) -> list[tuple[str]]:
    """The revision that the database says it has."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT version_num FROM alembic_version").fetchall()


def test_the_migrations_make_the_tables_that_the_code_uses(file: Path) -> None:
    store = Store.open(sqlite_url(file))
    with store.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []
        assert set(inspect(connection).get_table_names()) == {*METADATA.tables, "alembic_version"}
    store.close()


def described(engine: Engine) -> dict[str, list[object]]:
    """Everything that the database says about the tables of the ledger."""
    inspector = inspect(engine)
    return {
        name: [
            inspector.get_columns(name),
            inspector.get_pk_constraint(name),
            inspector.get_foreign_keys(name),
            inspector.get_unique_constraints(name),
            inspector.get_check_constraints(name),
            sorted(inspector.get_indexes(name), key=lambda index: str(index["name"])),
        ]
        for name in METADATA.tables
    }


def test_names_and_constraints_are_those_of_the_code(file: Path, tmp_path: Path) -> None:
    migrated = create_engine(sqlite_url(file))
    made = create_engine(sqlite_url(tmp_path / "made.db"))
    METADATA.create_all(made)
    # As text: reflected types compare by identity.
    assert str(described(migrated)) == str(described(made))
    migrated.dispose()
    made.dispose()


def test_there_is_one_line_of_migrations_and_the_ledger_is_at_its_end(file: Path) -> None:
    script = ScriptDirectory.from_config(alembic_config())
    assert script.get_heads() == [script.get_current_head()]
    assert revision(file) == [(script.get_current_head(),)]


def test_a_ledger_of_a_newer_version_is_refused_and_left_alone(file: Path) -> None:
    revise(file, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(ConfigError, match=r"revision 9999.*written by a newer Relume"):
        Ledger.open(sqlite_url(file))
    assert revision(file) == [("9999",)]


def test_a_migration_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    revise(file, "CREATE TABLE leases (mine)")  # somebody else's
    with pytest.raises(Exception, match="leases already exists"):
        Ledger.open(sqlite_url(file))
    with closing(sqlite3.connect(file)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    assert tables == [("leases",)]
