"""When each Advice was durable: seen from outside, in the ledger's file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from relume.advice import Advice
from relume.clock import Clock, SystemClock
from relume.identity import AttemptId

POLL_SECONDS = 0.05
"""By so much the times may be late, never early."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An Advice, and when it was first there for another process (UTC microseconds)."""

    advice: Advice
    at: int


class AdviceWatch:
    """Looks into a ledger again and again from a thread of its own; a context manager.

    It reads the file as `docs/formats/ledger.md` describes it, and never writes.
    """

    def __init__(self, ledger: Path, clock: Clock | None = None) -> None:
        self._uri = f"{ledger.absolute().as_uri()}?mode=ro"
        self._clock = clock or SystemClock()
        self._seen: list[Seen] = []
        self._stop = threading.Event()
        self._error: sqlite3.Error | None = None
        self._thread = threading.Thread(target=self._run, name="advice watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def seen(self) -> tuple[Seen, ...]:
        """Return all that was seen, in the order in which it was written.

        Raises
        ------
        sqlite3.Error
            When the file could not be read.
        """
        if self._error is not None:
            raise self._error
        return tuple(self._seen)

    def _run(self) -> None:
        try:
            database = sqlite3.connect(self._uri, uri=True, timeout=10.0)
            try:
                row = 0
                while not self._stop.wait(POLL_SECONDS):
                    row = self._look(database, row)
            finally:
                database.close()
        except sqlite3.Error as error:
            self._error = error

    def _look(self, database: sqlite3.Connection, last: int) -> int:
        query = "SELECT rowid, document FROM advice WHERE rowid > ? ORDER BY rowid"
        rows = database.execute(query, (last,)).fetchall()
        now = self._clock.now()
        for row, document in rows:
            self._seen.append(Seen(msgspec.json.decode(document, type=Advice), now))
            last = row
        return last


def about(seen: Iterable[Seen], job_id: str) -> tuple[Seen, ...]:
    """Return what is about the attempts of one job."""
    return tuple(one for one in seen if attempt_of(one).job_key.job_id == job_id)


def attempt_of(seen: Seen) -> AttemptId:
    """Return the attempt that an Advice is about."""
    return AttemptId.parse(seen.advice.attempt)
