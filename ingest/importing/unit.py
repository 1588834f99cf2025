"""What is imported as one: its parts land one after the other, nothing of others in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from relume.events import Event
from relume.ingest.skips import SkipCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart:
    """The lines of one log.

    Attributes
    ----------
    path
        The file; its lines carry the text of it as `file`.
    stream
        Null is told by the content.
    attempt, node
        Whose it is; null where that isn't known. A kernel log that says by its name which node it
        is of needs no `node`.
    cluster
        Of its lines.
    """

    path: Path
    stream: str | None = None
    attempt: str | None = None
    node: str | None = None
    cluster: str = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsPart:
    """Events, the same ones in the same order each time they are read.

    Attributes
    ----------
    read
        Yields them, and counts what it leaves out; called anew after a restart.
    path
        The file that they come from, null when they are made from what `facts` of the unit say.
    """

    read: Callable[[SkipCounts], Iterable[Event]]
    path: Path | None = None


Part: TypeAlias = LogPart | EventsPart


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Parts that land in this order.

    Attributes
    ----------
    name
        Unique in the lake: it keeps the unit's position under it.
    parts
        In their order.
    facts
        What the unit's content depends on besides its files.
    """

    name: str
    parts: tuple[Part, ...]
    facts: str = ""

    def size(self) -> int:
        """Return the bytes of its files on disk; one that isn't there has none."""
        return sum(_size(part.path) for part in self.parts if part.path is not None)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
