"""What Alembic runs for each command, on the connection that it is given."""

from __future__ import annotations

from alembic import context

from relume.serve.ledger.tables import METADATA


def run() -> None:
    """Run the migrations inside the transaction of the caller."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=METADATA,
        # SQLite can change tables in a transaction; a crash leaves all of a migration or nothing.
        transactional_ddl=True,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name under which Alembic loads this file
    run()
