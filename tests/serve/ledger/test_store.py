"""The database: how it is opened, what is refused, what its transactions promise."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from advising import make_advice
from relume import filesystems
from relume.errors import ConfigError, UnreachableError
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.ledger import sqlite as store_module
from relume.serve.ledger import store as turn_module
from relume.serve.ledger.store import Store
from relume.serve.ledger.tables import CURSORS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file of a ledger that doesn't exist yet, in a folder that doesn't either."""
    return tmp_path / "data" / "ledger.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    """An empty database."""
    opened = Store.open(sqlite_url(file))
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("pragma", "expected"),
    [
        ("journal_mode", "wal"),
        ("synchronous", 2),  # FULL
        ("foreign_keys", 1),
        ("busy_timeout", 10_000),
    ],
)
def test_every_connection_is_durable_and_checked(
    store: Store, pragma: str, expected: object
) -> None:
    for transaction in (store.reading, store.writing):
        with transaction() as connection:
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() == expected


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=ro&uri=true",
        "sqlite:////tmp/x.db?mode=ro",
        "mysql://me@host/relume",
        "mysql+pymysql://host/relume",
        "mysql+pymysql://me@host",
        "mysql+pymysql://me@/relume",
        "mysql+pymysql://me@host/relume?ssl_verify_cert=false",
        "sqlite+aiosqlite:////tmp/x.db",
        "/var/lib/relume/ledger.db",
        "",
    ],
)
def test_anything_but_the_file_of_a_sqlite_database_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="sqlite:/// and the path of a file"):
        Store.open(url)


def test_a_password_in_the_url_is_refused_and_not_shown() -> None:
    with pytest.raises(
        ConfigError, match=r"found a password in it; .*ledger_password_file"
    ) as told:
        Store.open("mysql+pymysql://me:hidden@host/relume")
    assert "hidden" not in str(told.value)


@pytest.mark.parametrize("name", ["a b.db", "100%41.db", "what?.db", "#1;x.db", "ü.db"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    with Ledger.open(sqlite_url(tmp_path / name)):
        assert (tmp_path / name).is_file()


def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no database " * 100)
    with pytest.raises(ConfigError, match=r"notes\.txt; found file is not a database"):
        Store.open(sqlite_url(file))
    assert file.read_text() == "no database " * 100


def test_a_damaged_database_is_named(file: Path) -> None:
    with Ledger.open(sqlite_url(file)) as ledger:
        ledger.put_advice(make_advice())
    with file.open("r+b") as stream:
        stream.seek(100)
        stream.write(b"\xff" * 3000)
    with pytest.raises(ConfigError, match="malformed; expected a SQLite database"):
        Store.open(sqlite_url(file))


def test_a_file_that_can_not_be_opened_may_be_asked_again(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="unable to open database file"):
        Store.open(sqlite_url(tmp_path))


def test_a_folder_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(ConfigError, match="a folder that can be written"):
        Store.open(sqlite_url(tmp_path / "data" / "ledger.db"))


def test_a_network_filesystem_is_refused_before_anything_is_written(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = file.parents[1] / "mounts"
    table.write_text(f"x {file.parents[1].resolve()} nfs4 rw 0 0\n")
    monkeypatch.setattr(filesystems, "MOUNTS", table)
    with pytest.raises(ConfigError, match="type nfs4"):
        Store.open(sqlite_url(file))
    assert not file.exists()


def test_a_filesystem_without_a_write_ahead_log_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What SQLite falls back to by itself where it can't share memory.
    monkeypatch.setattr(store_module, "_PRAGMAS", ("journal_mode = DELETE",))
    with pytest.raises(ConfigError, match="found journal mode delete"):
        Store.open(sqlite_url(file))


def test_a_ledger_that_stays_locked_may_be_asked_again(
    file: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_module, "BUSY_SECONDS", 0.0)
    impatient = Store.open(sqlite_url(file))
    with (
        store.writing(),
        pytest.raises(UnreachableError, match=r"database is locked; .*nothing was changed"),
        impatient.writing(),
    ):
        raise AssertionError
    impatient.close()


def test_a_thread_does_not_wait_for_ever_for_another_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_module, "TURN_SECONDS", 0.0)
    with (
        store.writing(),
        pytest.raises(UnreachableError, match=r"other changes that wait.*nothing was changed"),
        store.writing(),
    ):
        raise AssertionError
    store.write(
        lambda connection: connection.execute(insert(CURSORS).values(source="a", position=""))
    )


def test_a_failed_transaction_changes_nothing(store: Store) -> None:
    rows = [{"source": "b", "position": "1"}, {"source": "a", "position": "2"}]
    with store.writing() as connection:
        connection.execute(insert(CURSORS).values(source="a", position="1"))
    with pytest.raises(IntegrityError), store.writing() as connection:
        connection.execute(insert(CURSORS), rows)
    with store.reading() as connection:
        assert connection.execute(CURSORS.select()).all() == [("a", "1")]


def test_a_reader_sees_one_state_throughout(store: Store) -> None:
    with store.reading() as reader:
        assert reader.execute(CURSORS.select()).all() == []
        with store.writing() as writer:
            writer.execute(insert(CURSORS).values(source="a", position="1"))
        assert reader.execute(CURSORS.select()).all() == []
    with store.reading() as reader:
        assert reader.execute(CURSORS.select()).all() == [("a", "1")]


def test_a_writer_is_alone_from_its_start(file: Path, store: Store) -> None:
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as other:
        with store.writing(), pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.execute("BEGIN IMMEDIATE")


def test_a_full_disk_is_an_error_that_may_pass(store: Store) -> None:
    large = insert(CURSORS).values(source="a" * 100_000, position="1")
    with store.reading() as connection:  # the one connection in the pool
        connection.exec_driver_sql("PRAGMA max_page_count = 1").all()
    with (
        pytest.raises(UnreachableError, match=r"disk is full; .*nothing was changed"),
        store.writing() as connection,
    ):
        connection.execute(large)
    with store.reading() as connection:
        assert connection.execute(CURSORS.select()).all() == []


@pytest.mark.parametrize(
    "statement",
    ["UPDATE advice SET settled = 0", "UPDATE OR REPLACE advice SET document = '{}'"],
)
def test_the_database_itself_keeps_advice_from_changing(
    file: Path, store: Store, statement: str
) -> None:
    with Ledger.open(sqlite_url(file)) as ledger:
        ledger.put_advice(make_advice())
    with pytest.raises(IntegrityError, match="never changes"), store.writing() as connection:
        connection.exec_driver_sql(statement)


def test_the_database_itself_knows_no_report_without_its_advice(store: Store) -> None:
    with pytest.raises(IntegrityError, match="FOREIGN KEY"), store.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO reconciliations VALUES ('x', 'CONVERGED', NULL, 1, 1)"
        )
