"""Bringing a ledger to the tables of this version, by the Alembic migrations in `migrations/`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from relume.errors import ConfigError

Transaction = Callable[[], AbstractContextManager[Connection]]

_ONE_AT_A_TIME = Lock()  # Alembic keeps the migration that runs in a global


def alembic_config() -> Config:
    """Return the configuration under which Alembic finds the migrations, also in a wheel."""
    config = Config()
    config.set_main_option("script_location", "relume.serve.ledger:migrations")
    config.set_main_option("path_separator", "os")
    return config


def bring_up_to_date(reading: Transaction, writing: Transaction, name: str) -> None:
    """Apply the migrations that are missing, all in one transaction.

    Parameters
    ----------
    reading, writing
        What begins a transaction.
    name
        The database, for messages.

    Raises
    ------
    ConfigError
        For a ledger that a newer version of Relume has migrated.
    """
    config = alembic_config()
    script = ScriptDirectory.from_config(config)
    with reading() as connection:
        if _revision(connection) == script.get_current_head():
            return
    with writing() as connection:
        revision = _revision(connection)  # again: another process may have been faster
        known = {one.revision for one in script.walk_revisions()}
        if revision is not None and revision not in known:
            raise ConfigError(
                f"ledger {name}",
                found=f"tables of revision {revision}, which this version of Relume doesn't know",
                expected=f"revision {script.get_current_head()} or an earlier one",
                hint="it was written by a newer Relume: run that one, or restore a backup",
            )
        config.attributes["connection"] = connection
        with _ONE_AT_A_TIME:
            command.upgrade(config, "head")


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
