"""Files that hold events, or say them: accounting, JSON lines, Arrow and Parquet of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from relume.errors import InputError
from relume.events import Event
from relume.ingest.accounting.events import to_scheduler_events
from relume.ingest.accounting.read import read_rows
from relume.ingest.eventfiles import JSON_LINES, SUFFIXES, read_events
from relume.ingest.eventlines import decode_event
from relume.ingest.importing.unit import EventsPart
from relume.ingest.opening import probe, read_blocks
from relume.ingest.skips import SkipCounts

_TABLES = frozenset(suffix for suffix, kind in SUFFIXES.items() if kind != JSON_LINES)


def accounting_part(path: Path, cluster: str, zone: str) -> EventsPart:
    """Return what `sacct -P` says in a file: when attempts began, and how they ended.

    `cluster` is that of rows which don't say it, `zone` that of their times (an IANA name).
    """
    return EventsPart(read=partial(_accounting, path, cluster, zone), path=path)


def events_part(path: Path) -> EventsPart:
    """Return the events of a file; lines and rows that are none are counted."""
    return EventsPart(read=partial(_events, path), path=path)


def text_lines(path: Path, skipped: SkipCounts) -> Iterator[str]:
    """Yield the lines of a table; bytes that are no UTF-8 are U+FFFD.

    Raises
    ------
    InputError
        When it can't be read.
    """
    for block in read_blocks(path, skipped=skipped):
        yield from block.data.decode("utf-8", "replace").split("\n")


def holds_events(path: Path) -> bool:
    """Whether a file is one of events: a table by its name, JSON lines by the first of them.

    Raises
    ------
    InputError
        When the file can't be read.
    """
    if path.suffix in _TABLES:
        return True
    first, _, _ = probe(path).lstrip().partition(b"\n")
    try:
        decode_event(first)
    except InputError:
        return False
    return True


def _accounting(path: Path, cluster: str, zone: str, skipped: SkipCounts) -> Iterator[Event]:
    rows = read_rows(text_lines(path, skipped), skipped, zone=zone)
    return to_scheduler_events(rows, cluster, skipped)


def _events(path: Path, skipped: SkipCounts) -> Iterable[Event]:
    return read_events(path, skipped=skipped)
