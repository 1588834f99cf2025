"""What the ledger needs of a database, whatever it is: transactions, and errors with names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from relume.errors import RelumeError, UnreachableError

Result = TypeVar("Result")
Work = Callable[[Connection], Result]


class Database(ABC):
    """One database. What writes takes turns within the process before it comes here.

    Attributes
    ----------
    name
        For messages; never with a password.
    reader, writer
        What makes connections for reading and for writing.
    """

    name: str
    reader: Engine
    writer: Engine

    @abstractmethod
    def open(self) -> None:
        """Make sure that the database is fit, before its tables are looked at."""

    @abstractmethod
    def migrating(self) -> AbstractContextManager[Connection]:
        """Run migrations alone, whoever else opens the database at the same time."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[Connection]:
        """Run a transaction that is alone in writing from its start; durable when it has ended."""

    @abstractmethod
    def read(self, work: Work[Result]) -> Result:
        """Return what `work` reads in one transaction."""

    @abstractmethod
    def write(self, work: Work[Result]) -> Result:
        """Return what `work` says of what it wrote in one transaction.

        It may be run more than once, and what it wrote is there once.
        """

    @abstractmethod
    def named(self, error: DBAPIError) -> RelumeError | None:
        """Return an error of the database in our words; null for a mistake in the code."""

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run a transaction that sees one state of the database throughout."""
        with self.named_errors(), self.reader.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self.reader.dispose()
        self.writer.dispose()

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Raise errors of the database in our words."""
        try:
            yield
        except DBAPIError as error:
            known = self.named(error)
            if known is None:
                raise
            raise known from error
        except PoolTimeout as error:
            raise UnreachableError(
                f"ledger {self.name}",
                found="no free connection",
                expected="one within a few seconds",
                hint="nothing was changed; more is asked at once than the database answers",
            ) from error
