"""Bringing a ledger to the tables of this version, by the Alembic migrations in `migrations/`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from relume.errors import ConfigError
from relume.serve.ledger.resuming import is_marked, resumable

Reading = Callable[[Callable[[Connection], bool]], bool]
Transaction = Callable[[], AbstractContextManager[Connection]]

_ONE_AT_A_TIME = Lock()  # Alembic keeps the migration that runs in a global


def alembic_config() -> Config:
    """Return the configuration under which Alembic finds the migrations, also in a wheel."""
    config = Config()
    config.set_main_option("script_location", "relume.serve.ledger:migrations")
    config.set_main_option("path_separator", "os")
    return config


def bring_up_to_date(reading: Reading, migrating: Transaction, name: str) -> None:
    """Apply the migrations that are missing: all or none, or so that they can be gone on with.

    Parameters
    ----------
    reading
        What returns what a function finds in a transaction.
    migrating
        What lets nobody else change tables meanwhile; a transaction where tables can be changed in
        one.
    name
        The database, for messages.

    Raises
    ------
    ConfigError
        For a ledger that a newer version of Relume has migrated, and for a server's database with
        tables of ours that Relume hasn't made.
    """
    config = alembic_config()
    script = ScriptDirectory.from_config(config)
    if reading(lambda connection: _is_done(connection, script)):
        return
    with migrating() as connection:
        if _is_done(connection, script):  # another process was faster
            return
        revision = _revision(connection)
        known = {one.revision for one in script.walk_revisions()}
        if revision is not None and revision not in known:
            raise ConfigError(
                f"ledger {name}",
                found=f"tables of revision {revision}, which this version of Relume doesn't know",
                expected=f"revision {script.get_current_head()} or an earlier one",
                hint="it was written by a newer Relume: run that one, or restore a backup",
            )
        config.attributes["connection"] = connection
        with _ONE_AT_A_TIME, resumable(connection, name, is_new=revision is None):
            command.upgrade(config, "head")


class Standing(StrEnum):
    """How tables stand to those of this version."""

    CURRENT = "current"
    OLDER = "older"
    """Of an earlier version, or none at all."""
    STRANGE = "strange"
    """Of a version that this one doesn't know."""


def standing_of(connection: Connection) -> Standing:
    """Return how the tables of a database stand to those of this version; changes nothing."""
    script = ScriptDirectory.from_config(alembic_config())
    if _is_done(connection, script):
        return Standing.CURRENT
    revision = _revision(connection)
    known = {None, *(one.revision for one in script.walk_revisions())}
    return Standing.OLDER if revision in known else Standing.STRANGE


def _is_done(connection: Connection, script: ScriptDirectory) -> bool:
    return _revision(connection) == script.get_current_head() and not is_marked(connection)


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
