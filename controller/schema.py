"""The tables of the journal, and how its file is opened."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from relume.errors import ConfigError, UnreachableError
from relume.filesystems import require_local

VERSION = 1
AGES = {
    "sightings": "seen_at",
    "deeds": "intended_at",
    "advice": "closed_at",
    "messages": "sent_at",
}
"""The column that says how old a row is; null: it is still needed."""
BUSY_SECONDS = 5.0
"""How long a transaction waits for that of another process (the watchdog only reads)."""
_TABLES = """
CREATE TABLE birth (id INTEGER PRIMARY KEY CHECK (id = 1), born_at INTEGER NOT NULL);
CREATE TABLE sightings (
    cluster TEXT NOT NULL, job_id TEXT NOT NULL, first_submit INTEGER NOT NULL,
    restart_count INTEGER NOT NULL, submit_time INTEGER NOT NULL, user TEXT NOT NULL,
    run TEXT NOT NULL, nodes TEXT NOT NULL, running_at INTEGER, held_at INTEGER,
    seen_at INTEGER NOT NULL, PRIMARY KEY (cluster, job_id, first_submit, restart_count));
CREATE INDEX sightings_run ON sightings (cluster, user, run);
CREATE TABLE deeds (
    deed_id INTEGER PRIMARY KEY, attempt TEXT NOT NULL, advice_id TEXT, job_id TEXT NOT NULL,
    action TEXT NOT NULL, by TEXT NOT NULL, nodes TEXT NOT NULL, reason TEXT NOT NULL, command TEXT,
    intended_at INTEGER NOT NULL, ended_at INTEGER, outcome TEXT NOT NULL, words TEXT,
    read_back TEXT);
CREATE INDEX deeds_job ON deeds (job_id);
CREATE INDEX deeds_time ON deeds (intended_at);
CREATE TABLE advice (
    advice_id TEXT PRIMARY KEY, attempt TEXT NOT NULL, generation INTEGER NOT NULL,
    body BLOB NOT NULL, accepted_at INTEGER NOT NULL, closed_at INTEGER);
CREATE INDEX advice_attempt ON advice (attempt, generation);
CREATE TABLE messages (
    message_id INTEGER PRIMARY KEY, kind TEXT NOT NULL, about TEXT NOT NULL, body BLOB NOT NULL,
    sent_at INTEGER, answer TEXT, UNIQUE (kind, about));
"""


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Open the journal, and make it where it isn't there yet.

    Raises
    ------
    ConfigError
        On a network filesystem, where SQLite's write-ahead log breaks, and for a journal of another
        version.
    UnreachableError
        When the file can't be opened.
    """
    if not read_only:
        require_local(path.parent, "controller.folder")
    try:
        return _open(path, read_only=read_only)
    except sqlite3.Error as error:
        there = path.exists()
        raise UnreachableError(
            f"journal {path}",
            found=str(error) if there or not read_only else "no such file",
            expected="the journal that `relume control` keeps there",
            hint="if it is broken, move it away: the markers of the jobs make up for it"
            if there
            else "check controller.folder and its owner",
        ) from error


def _open(path: Path, *, read_only: bool) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    database = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        if not read_only:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            _make(database)
        _require_version(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _make(database: sqlite3.Connection) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0:
        database.executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


def _require_version(database: sqlite3.Connection, path: Path) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise ConfigError(
            f"journal {path}",
            found=f"version {version}",
            expected=f"version {VERSION}",
            hint="run the version of Relume that made it, or give this one another folder",
        )
