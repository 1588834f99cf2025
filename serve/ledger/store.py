"""The database behind the ledger: how it is opened, and its transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar

from relume.errors import UnreachableError
from relume.serve.ledger.address import Access, is_file, parse
from relume.serve.ledger.database import Database
from relume.serve.ledger.migrate import bring_up_to_date

if TYPE_CHECKING:
    from sqlalchemy import Connection

TURN_SECONDS = 60.0
"""How long a change waits for those of other threads before it."""
Asked = ParamSpec("Asked")
Result = TypeVar("Result")


class Store:
    """A database with its transactions. Safe between threads, not across a fork."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._turn = Lock()

    @classmethod
    def open(cls, url: str, access: Access | None = None) -> Self:
        """Open the database, make it if there is none, and bring its tables up to date.

        Raises
        ------
        ConfigError
            For a URL of anything else, a SQLite file on a network filesystem, a server that isn't
            fit or doesn't let us in, and a database that a newer version wrote or that is none.
        UnreachableError
            When the file can't be opened or stays locked, or the server doesn't answer.
        """
        store = cls.connect(url, access)
        try:
            bring_up_to_date(store.database.read, store.migrating, store.name)
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def connect(cls, url: str, access: Access | None = None) -> Self:
        """Open the database and leave its tables as they are, if there are any."""
        database = _database(url, access or Access())
        try:
            database.open()
        except BaseException:
            database.close()
            raise
        return cls(database)

    @property
    def name(self) -> str:
        """What the database is called in messages."""
        return self.database.name

    def read(
        self,
        work: Callable[Concatenate[Connection, Asked], Result],
        *args: Asked.args,
        **kwargs: Asked.kwargs,
    ) -> Result:
        """Return what `work` reads; it sees one state of the database throughout."""
        return self.database.read(lambda connection: work(connection, *args, **kwargs))

    def write(
        self,
        work: Callable[Concatenate[Connection, Asked], Result],
        *args: Asked.args,
        **kwargs: Asked.kwargs,
    ) -> Result:
        """Run `work` in a transaction that is alone in writing from its start; return its result.

        What it wrote is durable then. It may be run more than once (after a deadlock, a lost
        connection), so it changes nothing but the database; what it wrote is there once.
        """
        # Our own threads queue up here: SQLite's waiting is by polling, and unfair.
        with self._alone():
            return self.database.write(lambda connection: work(connection, *args, **kwargs))

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run a transaction that sees one state of the database throughout."""
        with self.database.reading() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run a transaction as `write` does, but once: nothing is tried again."""
        with self._alone(), self.database.writing() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for the threads that write before this one; not for ever, if a server is stuck."""
        if not self._turn.acquire(timeout=TURN_SECONDS):
            raise UnreachableError(
                f"ledger {self.name}",
                found="other changes that wait for the database",
                expected=f"that they are done within {TURN_SECONDS:.0f} s",
                hint="nothing was changed; look at the database",
            )
        try:
            yield
        finally:
            self._turn.release()

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Change tables while nobody else does, whoever opens the database at the same time."""
        with self._alone(), self.database.migrating() as connection:
            yield connection


def _database(url: str, access: Access) -> Database:
    parsed = parse(url)
    if is_file(parsed):
        from relume.serve.ledger.sqlite import SqliteDatabase  # noqa: PLC0415 - one of the two

        return SqliteDatabase(parsed)
    from relume.serve.ledger.server import ServerDatabase  # noqa: PLC0415 - one of the two

    return ServerDatabase(parsed, access)
