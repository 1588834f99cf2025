"""Types of columns that hold the same in SQLite and on a server; migrations use them, too.

A server's index takes 3,072 bytes at most, and a character has up to four.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, String, Table, Text, event
from sqlalchemy.dialects.mysql import LONGTEXT, VARCHAR

SERVER = "mysql"
"""What SQLAlchemy calls MySQL, and MariaDB too."""
MAX_SUBJECT = 700

ID = String(36)
HASH = String(64)
NAME = String(255)
SUBJECT = String(255).with_variant(VARCHAR(MAX_SUBJECT), SERVER)
"""`Advice.subject`, which names nodes; in SQLite no length counts."""
SOURCE = Text().with_variant(VARCHAR(MAX_SUBJECT), SERVER)
DOCUMENT = Text().with_variant(LONGTEXT(), SERVER)
"""JSON of any length: TEXT of a server ends at 64 KiB."""


def collation(connection: Connection) -> str:
    """Return the collation of a server that compares bytes, blanks at the end included."""
    is_mariadb = getattr(connection.dialect, "is_mariadb", False)
    return "utf8mb4_nopad_bin" if is_mariadb else "utf8mb4_0900_bin"


@event.listens_for(Table, "before_create")
def _as_bytes(table: Table, connection: Connection, **_: Any) -> None:  # noqa: ANN401 - SQLAlchemy's
    """Make every table of a server one of InnoDB whose texts compare as in SQLite."""
    if connection.dialect.name == SERVER:
        table.kwargs["mysql_engine"] = "InnoDB"
        table.kwargs["mysql_charset"] = "utf8mb4"
        table.kwargs["mysql_collate"] = collation(connection)
