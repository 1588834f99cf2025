"""Copies of a ledger: whole, equal, and into nothing but an empty one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from advising import make_advice
from ledgers import fill, said_by
from mariadb_server import MariaDB
from relume.errors import InputError
from relume.serve.ledger import Ledger, copying, sqlite_url
from relume.serve.ledger.copying import copy, counts
from relume.serve.ledger.store import Store

SERVED = pytest.mark.needs_server("mariadb")


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Store]:
    """A file with something in every table."""
    url = sqlite_url(tmp_path / "source.db")
    with Ledger.open(url) as ledger:
        fill(ledger)
    store = Store.open(url)
    yield store
    store.close()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Store]:
    """An empty file."""
    store = Store.open(sqlite_url(tmp_path / "target.db"))
    yield store
    store.close()


@pytest.fixture(params=[1, 3, 500])
def _batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BATCH_ROWS", request.param)


def test_every_table_is_copied(source: Store) -> None:
    rows = counts(source)
    assert rows.keys() == {table.name for table in copying.TABLES}
    filled = {name for name, count in rows.items() if count}
    assert filled >= {"advice", "attempts", "audit", "cursors", "fleets", "incidents", "labels"}
    assert filled >= {"leases", "milestones", "outcomes", "reconciliations", "incident_advice"}


@SERVED
@pytest.mark.usefixtures("_batches")
def test_to_a_server_and_back_it_says_the_same(
    mariadb_server: MariaDB, source: Store, served_store: Store, file: Store
) -> None:
    expected = said_by(Ledger(source))
    done = copy(source, served_store)
    assert said_by(Ledger(served_store)) == expected
    assert done.rows == counts(source)
    assert (done.audit_rows, done.audit_last) == (
        expected["verified"].rows,
        expected["verified"].last,
    )
    assert copy(served_store, file) == done
    assert said_by(Ledger(file)) == expected
    # What comes next goes on from it.
    for store in (served_store, file):
        ledger = Ledger(store)
        assert ledger.put_advice(make_advice(generation=2))
        ledger.take_lease("far", "b", 30, 1)
        assert ledger.verify().broken is None
    del mariadb_server


def test_a_target_that_holds_something_is_refused_and_left_alone(
    source: Store, file: Store
) -> None:
    Ledger(file).put_cursor("mine", "1")
    with pytest.raises(InputError, match=r"found rows in cursors \(1\); expected an empty ledger"):
        copy(source, file)
    assert counts(file) == dict.fromkeys(counts(file), 0) | {"cursors": 1}


def test_a_broken_audit_is_not_copied(source: Store, file: Store) -> None:
    with closing(sqlite3.connect(source.name)) as connection:
        connection.execute("DROP TRIGGER audit_refuses_update")
        connection.execute("UPDATE audit SET who = 'nobody' WHERE number = 2")
        connection.commit()
    with pytest.raises(
        InputError, match=r"a broken audit: row 2 was changed; .*nothing was copied"
    ):
        copy(source, file)
    assert set(counts(file).values()) == {0}


def test_a_target_that_holds_something_else_than_was_written_is_refused(
    source: Store, file: Store
) -> None:
    with closing(sqlite3.connect(file.name)) as connection:
        connection.execute(
            "CREATE TRIGGER other AFTER INSERT ON cursors BEGIN "
            "UPDATE cursors SET position = 'x' WHERE source = NEW.source; END"
        )
        connection.commit()
    with pytest.raises(InputError, match=r"table cursors; found 4 rows, not what was written"):
        copy(source, file)
    assert set(counts(file).values()) == {0}


@SERVED
def test_a_connection_that_is_lost_on_the_way_copies_once(
    mariadb_server: MariaDB, source: Store, served_store: Store, url: str
) -> None:
    name = make_url(url).database
    # The server itself ends the first connection that gets as far as the fleets.
    mariadb_server.ask("CREATE TABLE first (id INTEGER PRIMARY KEY) ENGINE=MyISAM", name)
    mariadb_server.ask(
        "CREATE TRIGGER lose BEFORE INSERT ON fleets FOR EACH ROW "
        "IF NOT EXISTS (SELECT 1 FROM first) THEN INSERT INTO first VALUES (1); "
        "KILL CONNECTION_ID(); END IF",
        name,
    )
    try:
        done = copy(source, served_store)
    finally:
        mariadb_server.ask("DROP TRIGGER lose", name)
        mariadb_server.ask("DROP TABLE first", name)
    assert counts(served_store) == done.rows == counts(source)
