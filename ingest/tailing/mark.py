"""Whether a file that was read to its end was written on, or written anew.

A requeued job truncates its output file, or appends to it. A job that fails in the same way each
time writes the same bytes again, so that size and first bytes say nothing: the time of the last
write and the last bytes do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from relume.ingest.tailing.file import Opener
from relume.ingest.tailing.position import TailPosition, digest

END_BYTES = 256
"""How much of the end is remembered: the words of a failure, which differ from what follows."""


class Since(StrEnum):
    """What became of a file since it was read."""

    UNTOUCHED = "untouched"
    """Nobody has written to it."""
    CONTINUED = "continued"
    """What was read is still there, and more follows."""
    REPLACED = "replaced"
    """Its content is another one, even if it may look alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndMark:
    """The end of a file as it was read: when it was last written to, and its last bytes.

    `modified_ns` is the time of the last write in nanoseconds, `length` how many bytes are
    remembered, `digest` what is kept of them.
    """

    modified_ns: int
    length: int
    digest: bytes


def mark_end(path: Path | str, position: TailPosition, opener: Opener) -> EndMark:
    """Return the mark of what was read up to `position`.

    Raises
    ------
    InputError, OSError
        What `opener` raises.
    """
    descriptor = opener(Path(path))
    try:
        length = min(END_BYTES, position.offset)
        modified = os.fstat(descriptor).st_mtime_ns  # before the bytes: a later write shows
        end = os.pread(descriptor, length, position.offset - length)
        return EndMark(modified_ns=modified, length=length, digest=digest(end))
    finally:
        os.close(descriptor)


def since(path: Path | str, position: TailPosition, mark: EndMark, opener: Opener) -> Since:
    """Return what became of a file since `mark` was made at `position`.

    Raises
    ------
    InputError, OSError
        What `opener` raises.
    """
    descriptor = opener(Path(path))
    try:
        status = os.fstat(descriptor)
        if status.st_ino != position.inode or status.st_size < position.offset:
            return Since.REPLACED
        if status.st_size == position.offset:
            is_same = status.st_mtime_ns == mark.modified_ns
            return Since.UNTOUCHED if is_same else Since.REPLACED
        end = os.pread(descriptor, mark.length, position.offset - mark.length)
        return Since.CONTINUED if digest(end) == mark.digest else Since.REPLACED
    finally:
        os.close(descriptor)
