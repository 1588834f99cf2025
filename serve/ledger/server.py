"""The ledger in a database of MySQL or MariaDB, through PyMySQL.

Reading transactions see one state: REPEATABLE READ with a snapshot from their start. Writing ones
take turns, across all services on the database, by a lock on the first row of `writers`, as with
SQLite's BEGIN IMMEDIATE; so READ COMMITTED is enough for them: nobody else commits until they end,
and what was committed before they got their turn is seen.

Each writer has a row of its own there, with the number of its last transaction. When the answer to
a COMMIT was lost, that number tells whether it was done.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from uuid import uuid4

from sqlalchemy import URL, Connection, case, delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from relume.clock import SystemClock, from_seconds
from relume.errors import RelumeError
from relume.serve.ledger import servererrors
from relume.serve.ledger.address import Access
from relume.serve.ledger.database import Database, Result, Work
from relume.serve.ledger.serverengine import make_engines, require_fit
from relume.serve.ledger.serverlock import alone
from relume.serve.ledger.tables import TURN, WRITERS

AGAIN_SECONDS = 15.0
"""How long a transaction that was broken off is begun again, the waits for locks included."""
TRIES = 8
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 1.0
_FORGOTTEN_SECONDS = 7 * 86400.0
"""A writer that wrote nothing for so long won't ask any more what became of its last commit."""


class ServerDatabase(Database):
    """A database on a server; the account may make tables and triggers in it.

    Raises
    ------
    ConfigError
        For a file of a password or of certificates that can't be used.
    """

    def __init__(self, url: URL, access: Access) -> None:
        self.name = url.render_as_string(hide_password=True)
        self.reader, self.writer = make_engines(url, access)
        self._writer_id = str(uuid4())
        self._number = 0

    def open(self) -> None:
        """Make sure that the server keeps what it acknowledges.

        Raises
        ------
        ConfigError
            When it doesn't, when it is too old, and when it doesn't let us in.
        UnreachableError
            When it doesn't answer.
        """
        with self.reading() as connection:
            require_fit(connection, self.name)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Run a transaction that is alone in writing from its start; durable when it has ended."""
        with self.named_errors(), self.writer.begin() as connection:
            self._number += 1
            self._take_turn(connection)
            yield connection

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """Run migrations under a lock of their own; each statement is a transaction."""
        with self.named_errors(), self.writer.connect() as connection:
            each = connection.execution_options(isolation_level="AUTOCOMMIT")
            with alone(each, self.name):
                yield each

    def read(self, work: Work[Result]) -> Result:
        """Return what `work` reads in one transaction; it is run again when that was broken off."""

        def once() -> Result:
            with self.reader.begin() as connection:
                return work(connection)

        return self._until_done(once)

    def write(self, work: Work[Result]) -> Result:
        """Return what `work` says of what it wrote in one transaction.

        It is run again after a deadlock, a lock that took too long, and a lost connection; not when
        the transaction turns out to have been committed before the connection was lost.
        """
        self._number += 1
        said: list[Result] = []
        return self._until_done(lambda: self._write(work, said))

    def named(self, error: DBAPIError) -> RelumeError | None:
        """Return an error of the server in our words; null for a mistake in the code."""
        return servererrors.named(error, self.name)

    def _write(self, work: Work[Result], said: list[Result]) -> Result:
        """Do one transaction; `said` holds what an earlier try came to if it got to its commit."""
        with self.writer.begin() as connection:
            if said and self._is_committed(connection):
                return said[0]
            self._take_turn(connection)
            said.clear()
            result = work(connection)
            said.append(result)
        return result

    def _is_committed(self, connection: Connection) -> bool:
        """Whether the present number was committed; waits for an earlier try that goes on."""
        mine = (TURN, self._writer_id)
        rows = select(WRITERS.c.writer, WRITERS.c.number).where(WRITERS.c.writer.in_(mine))
        numbers = {row.writer: row.number for row in connection.execute(rows.with_for_update())}
        return numbers.get(self._writer_id) == self._number

    def _take_turn(self, connection: Connection) -> None:
        """Wait until no other writer is at work, and note the number of this transaction."""
        now = SystemClock().now()
        is_mine = WRITERS.c.writer == self._writer_id
        number = case((is_mine, self._number), else_=WRITERS.c.number + 1)
        both = WRITERS.c.writer.in_((TURN, self._writer_id))
        taken = connection.execute(update(WRITERS).where(both).values(number=number, at=now))
        if taken.rowcount < 2:  # noqa: PLR2004 - the turn's row, and ours, which is new
            mine = {"writer": self._writer_id, "number": self._number, "at": now}
            connection.execute(insert(WRITERS).values(**mine))
            forgotten = WRITERS.c.at < now - from_seconds(_FORGOTTEN_SECONDS)
            connection.execute(delete(WRITERS).where(forgotten, WRITERS.c.writer != TURN))

    def _until_done(self, act: Callable[[], Result]) -> Result:
        """Do something that may be broken off through no fault of its own, again and again."""
        began = time.monotonic()
        with self.named_errors():
            for number in count():
                try:
                    return act()
                except DBAPIError as error:
                    is_late = time.monotonic() - began > AGAIN_SECONDS
                    if number + 1 >= TRIES or is_late or not servererrors.may_pass(error):
                        raise
                pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**number)
                time.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - so two don't meet again
        raise AssertionError  # `count` has no end
