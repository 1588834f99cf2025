"""The database behind the ledger: how it is opened, and its transactions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from relume.errors import ConfigError, RelumeError, UnreachableError
from relume.filesystems import require_local
from relume.serve.ledger.migrate import bring_up_to_date

BUSY_SECONDS = 10.0
"""How long a transaction waits for the writer before it; one commit takes well under 10 ms."""
_PRAGMAS = ("synchronous = FULL", "foreign_keys = ON")
_WRITES = "relume_writes"
_AGAIN_SECONDS = 0.01


class Store:
    """A database with its transactions. Safe between threads, not across a fork."""

    def __init__(self, url: URL, engine: Engine) -> None:
        self._url = url
        self._engine = engine
        self._writer = engine.execution_options(**{_WRITES: True})
        self._turn = Lock()

    @classmethod
    def open(cls, url: str) -> Self:
        """Open the database, make it if there is none, and bring its tables up to date.

        Raises
        ------
        ConfigError
            For a URL that isn't one of a SQLite file, for a file on a network filesystem, and for
            one that a newer version wrote or that is no database.
        UnreachableError
            When the file can't be opened or stays locked.
        """
        parsed = _parse(url)
        file = Path(str(parsed.database)).absolute()
        _prepare(file.parent)
        store = cls(parsed, _make_engine(parsed))
        try:
            with store.reading() as connection:
                mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
            if mode != "wal":
                raise ConfigError(
                    f"ledger {file}",
                    found=f"journal mode {mode}",
                    expected="a filesystem on which SQLite can keep a write-ahead log",
                )
            bring_up_to_date(store.reading, store.writing, str(file))
        except RelumeError:
            store.close()
            raise
        return store

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run a transaction that sees one state of the database throughout."""
        with self._named_errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run a transaction that is alone in writing from its start; durable when it has ended."""
        # Our own threads queue up here: SQLite's waiting is by polling, and unfair.
        with self._turn, self._named_errors(), self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        try:
            yield
        except OperationalError as error:  # locked, disk full, I/O error, can't open
            raise UnreachableError(
                f"ledger {self._url.database}",
                found=str(error.orig),
                expected="a database that takes the transaction",
                hint="nothing was changed; look at the disk and at who else uses the file",
            ) from error
        except DatabaseError as error:
            if "not a database" not in str(error.orig) and "malformed" not in str(error.orig):
                raise
            raise ConfigError(
                f"ledger {self._url.database}",
                found=str(error.orig),
                expected="a SQLite database",
                hint="restore it from a backup, or move it away to begin a new one",
            ) from error


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise _bad_url(url) from error
    database = parsed.database or ""
    if parsed.get_backend_name() != "sqlite" or parsed.query:
        raise _bad_url(url)
    if not database or database == ":memory:" or database.startswith("file:"):
        raise _bad_url(url)
    return parsed


def _bad_url(url: str) -> ConfigError:
    return ConfigError(
        "ledger URL",
        found=repr(url),
        expected="sqlite:/// and the path of a file, such as sqlite:////var/lib/relume/ledger.db",
    )


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"data folder {folder}", found=str(error), expected="a folder that can be written"
        ) from error
    require_local(folder, "data folder")


def _make_engine(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: Any, _record: object) -> None:  # noqa: ANN401 - any DB-API's
    connection.isolation_level = None  # the driver begins nothing by itself: `_on_begin` does
    _use_wal(connection)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _use_wal(connection: Any) -> None:  # noqa: ANN401 - any DB-API's
    """Make the file one with a write-ahead log, for good; others may be about to do it as well.

    SQLite doesn't wait for them by itself, whatever the time-out of the connection.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").close()
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_SECONDS)
        else:
            return


def _on_begin(connection: Connection) -> None:
    # IMMEDIATE: a transaction that read first could not become a writer after another's commit.
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
