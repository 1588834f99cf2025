"""The ledger in a SQLite file, with a write-ahead log."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError

from relume.errors import ConfigError, RelumeError, UnreachableError
from relume.filesystems import require_local
from relume.serve.ledger.database import Database, Result, Work

BUSY_SECONDS = 10.0
"""How long a transaction waits for the writer before it; one commit takes well under 10 ms."""
_PRAGMAS = ("synchronous = FULL", "foreign_keys = ON")
_WRITES = "relume_writes"
_AGAIN_SECONDS = 0.01


class SqliteDatabase(Database):
    """A file; its folder is made.

    Raises
    ------
    ConfigError
        For a folder that can't be made, or that lies on a network filesystem.
    """

    def __init__(self, url: URL) -> None:
        self.name = str(url.database)
        self._file = Path(self.name).absolute()
        _prepare(self._file.parent)
        self.reader = _make_engine(url)
        self.writer = self.reader.execution_options(**{_WRITES: True})

    def open(self) -> None:
        """Make sure that the file has a write-ahead log.

        Raises
        ------
        ConfigError
            When it can't, or when the file is no database.
        UnreachableError
            When it can't be opened or stays locked.
        """
        with self.reading() as connection:
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar_one()
        if mode != "wal":
            raise ConfigError(
                f"ledger {self._file}",
                found=f"journal mode {mode}",
                expected="a filesystem on which SQLite can keep a write-ahead log",
            )

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run a transaction that is alone in writing from its start; durable when it has ended."""
        with self.named_errors(), self.writer.begin() as connection:
            yield connection

    def migrating(self) -> AbstractContextManager[Connection]:
        """Run migrations in one transaction: SQLite can change tables in one."""
        return self.writing()

    def read(self, work: Work[Result]) -> Result:
        """Return what `work` reads in one transaction."""
        with self.reading() as connection:
            return work(connection)

    def write(self, work: Work[Result]) -> Result:
        """Return what `work` says of what it wrote in one transaction; it is run once."""
        with self.writing() as connection:
            return work(connection)

    def named(self, error: DBAPIError) -> RelumeError | None:
        """Return an error of the database in our words; null for a mistake in the code."""
        if isinstance(error, OperationalError):  # locked, disk full, I/O error, can't open
            return UnreachableError(
                f"ledger {self.name}",
                found=str(error.orig),
                expected="a database that takes the transaction",
                hint="nothing was changed; look at the disk and at who else uses the file",
            )
        if "not a database" not in str(error.orig) and "malformed" not in str(error.orig):
            return None
        return ConfigError(
            f"ledger {self.name}",
            found=str(error.orig),
            expected="a SQLite database",
            hint="restore it from a backup, or move it away to begin a new one",
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
