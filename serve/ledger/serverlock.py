"""A named lock of a server: services that open a new database at once change its tables in turn."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text

from relume.errors import UnreachableError

PATIENCE_SECONDS = 120.0
"""How long another service may take to change the tables."""
_ASK_SECONDS = 5
"""Of one question, below the time-out of an answer."""


@contextmanager
def alone(connection: Connection, name: str) -> Iterator[None]:
    """Hold the lock of the database that a connection is in.

    The server frees it when the connection is lost.

    Raises
    ------
    UnreachableError
        When another one holds it all the time.
    """
    database = connection.execute(text("SELECT DATABASE()")).scalar_one()
    lock = "relume " + hashlib.sha256(database.encode()).hexdigest()[:32]  # of 64 characters
    _take(connection, lock, name)
    try:
        yield
    finally:
        if not connection.invalidated:
            connection.execute(text("DO RELEASE_LOCK(:lock)"), {"lock": lock})


def _take(connection: Connection, lock: str, name: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    asked = text("SELECT GET_LOCK(:lock, :seconds)")
    while connection.execute(asked, {"lock": lock, "seconds": _ASK_SECONDS}).scalar_one() != 1:
        if time.monotonic() > deadline:
            raise UnreachableError(
                f"ledger {name}",
                found="another service that changes its tables",
                expected=f"that it is done within {PATIENCE_SECONDS:.0f} s",
                hint="look for it in SHOW PROCESSLIST",
            )
