"""Ledger and lake: whether they can be read, are of this version, and go on. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import counted
from relume.ingest.lake import LakeReader
from relume.serve.doctor.finding import Finding, failing, ok, unknown, warning
from relume.serve.ledger.address import Access
from relume.serve.ledger.migrate import Standing, standing_of
from relume.serve.ledger.store import Store

STALE_SECONDS = 60.0
"""A service that watches commits each five seconds."""


def ledger(url: str, access: Access, file: Path | None) -> Iterator[Finding]:
    """Look whether the ledger answers and has the tables of this version.

    `file` is the SQLite file; null where a server keeps it.
    """
    if file is not None and not file.is_file():
        yield unknown("ledger", f"{file} is not there yet", "start relume serve, which makes it")
        return
    store = Store.connect(url, access)
    try:
        with store.reading() as connection:
            standing = standing_of(connection)
    finally:
        store.close()
    if standing is Standing.CURRENT:
        yield ok("ledger", f"{store.name} answers, its tables are of this version")
    elif standing is Standing.OLDER:
        fix = "back it up, then start relume serve, which brings it up to date"
        yield warning("ledger", f"{store.name} has tables of an earlier version", fix)
    else:
        fix = "run the newer Relume, or restore a backup"
        yield failing("ledger", f"{store.name} has tables that this version doesn't know", fix)


def lake(folder: Path, now: int) -> Iterator[Finding]:
    """Look how old the newest commit of the lake is, by the clock of its writer."""
    if not folder.is_dir():
        yield unknown("lake", f"{folder} is not there yet", "start relume serve, which makes it")
        return
    newest = None
    for newest in LakeReader(folder).commits():  # noqa: B007 - the last one is wanted
        pass
    if newest is None:
        yield unknown(
            "lake", f"{folder} is empty: nothing was watched yet", "is relume control on?"
        )
        return
    age = (now - newest.committed_at) / MICROSECONDS_PER_SECOND
    words = f"{folder}: {counted(newest.sequence, 'commit')}, the newest {age:.0f} s ago"
    if age < -1.0:
        yield warning("lake", words, "the clock was put back: let NTP keep it")
    elif age > STALE_SECONDS:
        yield warning("lake", words, "is relume serve running? /readyz says which part fails")
    else:
        yield ok("lake", words)
