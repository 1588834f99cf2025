"""What became known about Advice, in the order in which it became durable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

from sqlalchemy import Connection, func, insert, select

from relume.serve.ledger.tables import NEWS


class News(StrEnum):
    """What became known."""

    ADVICE = "advice"
    """A new generation."""
    ANSWER = "answer"
    """A person approved or rejected it, or nobody did in time."""
    RECONCILIATION = "reconciliation"
    """A controller told what became of it."""
    CLOSED = "closed"
    """The incident to which it belongs is over."""
    LABEL = "label"
    """A person said whether it was right."""


@dataclass(frozen=True, slots=True)
class NewsRecord:
    """One thing that became known.

    Attributes
    ----------
    number
        1 for the first, without gaps: whoever has seen one has seen all before it.
    what
        What became known.
    advice_id
        About which Advice.
    at
        UTC microseconds, by the clock of who wrote it.
    """

    number: int
    what: News
    advice_id: str
    at: int


def add(connection: Connection, what: News, advice_id: str, at: int) -> None:
    """Write that something became known, in the transaction in which it did."""
    number = last(connection) + 1
    values = {"number": number, "what": what.value, "advice_id": advice_id, "at": at}
    connection.execute(insert(NEWS).values(**values))


def after(connection: Connection, number: int, limit: int) -> list[NewsRecord]:
    """Return what became known after a number, in order, at most `limit`."""
    query = select(NEWS).where(NEWS.c.number > number).order_by(NEWS.c.number).limit(limit)
    return [
        NewsRecord(row.number, News(row.what), row.advice_id, row.at)
        for row in connection.execute(query)
    ]


def last(connection: Connection) -> int:
    """Return the newest number; 0 while there is none."""
    return connection.execute(select(func.max(NEWS.c.number))).scalar_one() or 0


class Bell:
    """Tells this process's listeners that something was written. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each writing, in the thread that wrote; return what ends that."""
        with self._lock:
            self._listeners = [*self._listeners, listener]

        def end() -> None:
            with self._lock:
                self._listeners = [one for one in self._listeners if one is not listener]

        return end

    def ring(self) -> None:
        """Tell everybody who listens; they are quick and don't fail."""
        for listener in self._listeners:
            listener()
