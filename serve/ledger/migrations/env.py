"""What Alembic runs for each command, on the connection that it is given."""

from __future__ import annotations

from alembic import context

from relume.serve.ledger.tables import METADATA
from relume.serve.ledger.types import SERVER


def run() -> None:
    """Run the migrations on the connection of the caller."""
    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=METADATA,
        # SQLite can change tables in a transaction; a crash leaves all of a migration or nothing.
        # A server can't: see `relume.serve.ledger.resuming`.
        transactional_ddl=connection.dialect.name != SERVER,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name under which Alembic loads this file
    run()
