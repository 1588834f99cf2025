"""One open log file: what it is, what is in it, and finding it again under another name."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from relume.errors import InputError
from relume.ingest.tailing.position import TailPosition, digest

Opener: TypeAlias = Callable[[Path], int]
"""Opens a log for reading and returns its descriptor; raises OSError or InputError."""
MAX_SIBLINGS = 1000
"""How many names of a folder are looked at for a log that was renamed."""


class OpenFile:
    """A log that stays readable through its descriptor, renamed or deleted.

    Attributes
    ----------
    device, inode
        What it is, whatever its name.
    size
        Bytes it had at the last `look`.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._changed = -1
        try:
            status = os.fstat(descriptor)
        except OSError:
            os.close(descriptor)
            raise
        self.device, self.inode, self.size = status.st_dev, status.st_ino, status.st_size

    def look(self) -> bool:
        """Read the size anew; return whether the file was written to since the last look.

        True the first time.
        """
        status = os.fstat(self._descriptor)
        changed = (status.st_size, status.st_mtime_ns) != (self.size, self._changed)
        self.size, self._changed = status.st_size, status.st_mtime_ns
        return changed

    def read(self, offset: int, limit: int) -> bytes:
        """Return at most `limit` bytes from `offset` on; nothing at the end."""
        return os.pread(self._descriptor, limit, offset)

    def begins_as(self, position: TailPosition) -> bool:
        """Whether the first bytes are those that `position` remembers."""
        length = position.head_length
        return not length or digest(self.read(0, length)) == position.head_digest

    def is_file_of(self, position: TailPosition) -> bool:
        """Whether this is the file that `position` is of: its content may be another by now."""
        return not position.inode or self.inode == position.inode

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)


def open_file(path: Path, opener: Opener) -> OpenFile:
    """Open `path`; raises what `opener` does."""
    return OpenFile(opener(path))


def find_renamed(path: Path, position: TailPosition, opener: Opener) -> OpenFile | None:
    """Return the file of `position` under a name that begins with that of `path`, else null.

    Log rotation renames ``job.log`` to ``job.log.1`` or ``job.log-20260102``. An inode is given out
    again after a file is deleted, so the first bytes must be the same too.
    """
    if not position.inode or not position.head_length:
        return None
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in islice(entries, MAX_SIBLINGS):
            if entry.name.startswith(path.name) and entry.inode() == position.inode:
                return _open_if_same(Path(entry.path), position, opener)
    return None


def _open_if_same(path: Path, position: TailPosition, opener: Opener) -> OpenFile | None:
    try:
        found = open_file(path, opener)
    except (OSError, InputError):
        return None
    if found.is_file_of(position) and found.begins_as(position):
        return found
    found.close()
    return None
