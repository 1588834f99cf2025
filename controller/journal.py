"""The controller's journal: what it saw, what it intended, what came of it, what it has to report.

SQLite, one file, each call one transaction that is durable when it returns. An intent is written
before its command and the outcome after it, so that after a kill at any point it is known what may
have happened; Slurm's own state says the rest.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from relume.advice import Advice, Disposition, Reconciliation
from relume.controller import schema
from relume.controller.facts import Action, Memory, Outcome, Sighting
from relume.controller.limits import DAY
from relume.controller.recall import recall, to_text
from relume.controller.steps import Step
from relume.errors import InputError, UnreachableError
from relume.identity import AttemptId

RETENTION = 180 * DAY
"""How long sightings and deeds are kept: longer than a job runs."""
MAX_WORDS = 2_000
"""Characters of Slurm's answer that are kept."""


@dataclass(frozen=True, slots=True)
class Message:
    """Something to be told to the service: a reconciliation or a milestone.

    `about` is the advice id or the milestone's key; messages go out in the order of `message_id`.
    """

    message_id: int
    kind: str
    about: str
    body: bytes


class Journal:
    """The journal in one SQLite file; for one process and one thread.

    Raises
    ------
    UnreachableError
        From every method when the file can't be read or written.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._database = schema.connect(path, read_only=read_only)

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        try:
            self._database.execute(f"BEGIN {kind}")
            try:
                yield self._database
            except BaseException:
                self._database.execute("ROLLBACK")
                raise
            self._database.execute("COMMIT")
        except sqlite3.Error as error:
            raise UnreachableError(
                "journal of the controller", found=str(error), hint="check controller.folder"
            ) from error

    def born(self, now: int) -> None:
        """Remember since when this journal remembers; only the first call counts."""
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO birth VALUES (1, ?)", (now,))

    def see(self, sighting: Sighting, now: int) -> None:
        """Remember what was seen of an attempt."""
        with self._transaction() as database:
            database.execute(
                "INSERT OR REPLACE INTO sightings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    sighting.key.cluster,
                    sighting.key.job_id,
                    sighting.key.first_submit_time,
                    sighting.restart_count,
                    sighting.submit_time,
                    sighting.user,
                    sighting.run,
                    to_text(sighting.nodes),
                    sighting.running_at,
                    sighting.held_at,
                    now,
                ),
            )

    def accept(self, advice: Advice, now: int) -> None:
        """Take Advice on, which ends older generations; nothing happens if that was done before."""
        with self._transaction() as database:
            _accept(database, advice, now)

    def finish(
        self, advice: Advice, disposition: Disposition, reason: str | None, now: int
    ) -> None:
        """Close Advice, and remember to report that."""
        words = None if reason is None else reason[:MAX_WORDS]
        report = Reconciliation(disposition, words, advice.generation)
        with self._transaction() as database:
            _accept(database, advice, now)
            database.execute(
                "UPDATE advice SET closed_at = ? WHERE advice_id = ?", (now, advice.advice_id)
            )
            _put(database, "reconciliation", advice.advice_id, msgspec.json.encode(report))

    def milestone(self, about: str, body: bytes) -> None:
        """Remember to report a milestone, once."""
        with self._transaction() as database:
            _put(database, "milestone", about, body)

    def intend(self, step: Step, command: Sequence[str], now: int) -> int:
        """Write down what will be done, before it is done; return the deed's number."""
        with self._transaction() as database:
            cursor = database.execute(
                "INSERT INTO deeds (attempt, advice_id, job_id, action, by, nodes, reason, command,"
                " intended_at, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    step.attempt,
                    step.advice_id,
                    step.job_id,
                    step.action,
                    "controller",
                    to_text(step.asked),
                    step.reason,
                    to_text(command),
                    now,
                    Outcome.UNKNOWN,
                ),
            )
            return int(cursor.lastrowid or 0)

    def result(self, deed_id: int, outcome: Outcome, words: str, now: int) -> None:
        """Write down what Slurm answered."""
        with self._transaction() as database:
            database.execute(
                "UPDATE deeds SET outcome = ?, words = ?, ended_at = ? WHERE deed_id = ?",
                (outcome, words[:MAX_WORDS], now, deed_id),
            )

    def read_back(self, deed_id: int, words: str) -> None:
        """Write down what Slurm showed afterwards."""
        with self._transaction() as database:
            database.execute("UPDATE deeds SET read_back = ? WHERE deed_id = ?", (words, deed_id))

    def helper_held(self, attempt: AttemptId, now: int) -> None:
        """Remember that the EpilogSlurmctld helper holds what follows `attempt`."""
        with self._transaction() as database:
            database.execute(
                "INSERT INTO deeds (attempt, job_id, action, by, nodes, reason, intended_at,"
                " outcome) VALUES (?, ?, ?, 'epilog', '[]', 'it ended badly', ?, ?)",
                (str(attempt), attempt.job_key.job_id, Action.HOLD, now, Outcome.DONE),
            )

    def memory(
        self, cluster: str, job_ids: Iterable[str], advice: Iterable[Advice], now: int
    ) -> Memory:
        """Return what is remembered of these jobs, of this Advice, and of all that is open."""
        try:
            with self._transaction("DEFERRED") as database:
                return recall(database, cluster, job_ids, list(advice), now)
        except (InputError, ValueError, TypeError, msgspec.MsgspecError) as error:
            raise UnreachableError(
                "journal of the controller",
                found=f"a row that makes no sense: {error}",
                expected="what a controller of this version wrote",
                hint="move it away: the markers of the jobs make up for it",
            ) from error

    def unsent(self, limit: int) -> list[Message]:
        """Return what the service must still be told, the oldest first; not what is put off."""
        with self._transaction("DEFERRED") as database:
            rows = database.execute(
                "SELECT message_id, kind, about, body FROM messages"
                " WHERE sent_at IS NULL AND answer IS NULL ORDER BY message_id LIMIT ?",
                (limit,),
            )
            return [Message(*row) for row in rows]

    def sent(self, message_id: int, answer: str, now: int) -> None:
        """Remember that the service took a message, or knew better."""
        with self._transaction() as database:
            database.execute(
                "UPDATE messages SET sent_at = ?, answer = ? WHERE message_id = ?",
                (now, answer[:MAX_WORDS], message_id),
            )

    def put_off(self, message_id: int, answer: str) -> None:
        """Remember that the service didn't take a message, which stays to be sent."""
        with self._transaction() as database:
            database.execute(
                "UPDATE messages SET answer = ? WHERE message_id = ?",
                (answer[:MAX_WORDS], message_id),
            )

    def resume(self) -> None:
        """Let what was put off be sent again."""
        with self._transaction() as database:
            database.execute("UPDATE messages SET answer = NULL WHERE sent_at IS NULL")

    def prune(self, now: int) -> None:
        """Forget what is older than `RETENTION`."""
        with self._transaction() as database:
            for table, column in schema.AGES.items():
                database.execute(
                    f"DELETE FROM {table} WHERE {column} < ?",  # noqa: S608 - names from our schema
                    (now - RETENTION,),
                )


def _accept(database: sqlite3.Connection, advice: Advice, now: int) -> None:
    database.execute(
        "UPDATE advice SET closed_at = ?"
        " WHERE attempt = ? AND generation < ? AND closed_at IS NULL",
        (now, advice.attempt, advice.generation),
    )
    database.execute(
        "INSERT OR IGNORE INTO advice VALUES (?, ?, ?, ?, ?, NULL)",
        (
            advice.advice_id,
            advice.attempt,
            advice.generation,
            msgspec.json.encode(advice),
            now,
        ),
    )


def _put(database: sqlite3.Connection, kind: str, about: str, body: bytes) -> None:
    database.execute(
        "INSERT OR IGNORE INTO messages (kind, about, body) VALUES (?, ?, ?)", (kind, about, body)
    )
