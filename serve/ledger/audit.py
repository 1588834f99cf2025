"""Who did what, in the database: a chain in which each row holds the hash of the one before.

Whoever can write the file can make a whole new chain; who kept the last hash sees that. Rows that
are cut off at the end are seen only by who kept it, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from sqlalchemy import Connection, Row, func, insert, select

from relume.errors import counted
from relume.serve.ledger.happened import AuditRecord
from relume.serve.ledger.tables import AUDIT

FIRST = "0" * 64
"""What stands for the hash before the first row."""
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check of the chain found.

    Attributes
    ----------
    rows
        That hold; all, where `broken` is null.
    last
        Hash of the last of these.
    broken
        Where the chain breaks, in words.
    """

    rows: int
    last: str
    broken: str | None = None


def hash_of(record: AuditRecord) -> str:
    """Return the hash that a row must have; what it has itself doesn't count.

    Examples
    --------
    >>> row = AuditRecord(
    ...     number=1, at=0, who="a", what="label", about="x", document="{}", previous=FIRST, hash=""
    ... )
    >>> hash_of(row)[:16]
    '17b7392b429d8e00'
    """
    fields = (
        record.number,
        record.at,
        record.who,
        record.what,
        record.about,
        record.document,
        record.previous,
    )
    return hashlib.sha256(msgspec.json.encode(fields)).hexdigest()


def add(  # noqa: PLR0913 - the columns, each by its name
    connection: Connection, *, at: int, who: str, what: str, about: str, done: object
) -> None:
    """Write that somebody did something, in the transaction in which it was done."""
    query = select(AUDIT.c.number, AUDIT.c.hash).order_by(AUDIT.c.number.desc()).limit(1)
    last = connection.execute(query).one_or_none()
    row = AuditRecord(
        number=1 if last is None else last.number + 1,
        at=at,
        who=who,
        what=what,
        about=about,
        document=msgspec.json.encode(done).decode(),
        previous=FIRST if last is None else last.hash,
        hash="",
    )
    connection.execute(insert(AUDIT).values(**_columns(row)))


def after(connection: Connection, number: int, limit: int) -> list[AuditRecord]:
    """Return rows in their order, those after a number, at most `limit`."""
    query = select(AUDIT).where(AUDIT.c.number > number).order_by(AUDIT.c.number).limit(limit)
    return [_record(row) for row in connection.execute(query)]


def verify(connection: Connection) -> Verified:
    """Check every row; holds a page of them at a time."""
    found = Verified(0, FIRST)
    while found.broken is None:
        page = after(connection, found.rows, _PAGE)
        if not page:
            break
        found = _check(page, found)
    if found.broken is None:
        # Rows that the pages passed over: their number is below 1.
        count = connection.execute(select(func.count()).select_from(AUDIT)).scalar_one()
        if count != found.rows:
            return Verified(
                found.rows, found.last, f"{counted(count - found.rows, 'row')} before the first"
            )
    return found


def _check(page: Iterable[AuditRecord], found: Verified) -> Verified:
    for row in page:
        broken = None
        if row.number != found.rows + 1:
            broken = f"row {row.number} follows row {found.rows}: rows between them are gone"
        elif row.previous != found.last:
            broken = f"row {row.number} doesn't follow from the row before it"
        elif row.hash != hash_of(row):
            broken = f"row {row.number} was changed"
        if broken is not None:
            return Verified(found.rows, found.last, broken)
        found = Verified(row.number, row.hash)
    return found


def _columns(row: AuditRecord) -> dict[str, object]:
    names = ("number", "at", "who", "what", "about", "document", "previous")
    return {**{name: getattr(row, name) for name in names}, "hash": hash_of(row)}


def _record(row: Row[int, int, str, str, str, str, str, str]) -> AuditRecord:
    return AuditRecord(
        number=row.number,
        at=row.at,
        who=row.who,
        what=row.what,
        about=row.about,
        document=row.document,
        previous=row.previous,
        hash=row.hash,
    )
