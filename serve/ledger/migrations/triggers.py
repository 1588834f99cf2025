"""Triggers that keep rows from changing, in the words of each database."""

from __future__ import annotations

from alembic import op

from relume.serve.ledger.types import SERVER


def refuse(name: str, table: str, change: str, words: str) -> None:
    """Make a trigger that refuses a change (UPDATE or DELETE) of a table."""
    if op.get_context().dialect.name == SERVER:
        raised = f"FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{words}'"
    else:
        raised = f"BEGIN SELECT RAISE(ABORT, '{words}'); END"
    op.execute(f"CREATE TRIGGER {name} BEFORE {change} ON {table} {raised}")


def refuse_replacing(name: str, table: str, key: str, words: str) -> None:
    """Make a trigger that refuses a second row of one key.

    In SQLite INSERT OR REPLACE deletes a row without asking a trigger; a server's REPLACE asks.
    """
    if op.get_context().dialect.name != SERVER:
        known = f"SELECT 1 FROM {table} WHERE {key} = NEW.{key}"  # noqa: S608 - names in the code
        refused = f"BEGIN SELECT RAISE(ABORT, '{words}'); END"
        op.execute(
            f"CREATE TRIGGER {name} BEFORE INSERT ON {table} WHEN EXISTS ({known}) {refused}"
        )
