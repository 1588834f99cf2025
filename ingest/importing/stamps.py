"""What a file was when it was imported: whether it is the same now, without reading all of it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

SAMPLE_BYTES = 64 << 10
"""How much of the start and of the end of a file is compared."""
_DIGEST_BYTES = 8


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """Size in bytes, last write (POSIX nanoseconds), and a digest of the start and the end."""

    size: int
    modified_ns: int
    digest: str

    @property
    def content(self) -> tuple[int, str]:
        """What doesn't change when the file is copied or moved."""
        return self.size, self.digest

    def __str__(self) -> str:
        return f"{self.size} bytes with {self.digest}, written at {self.modified_ns} ns"


def stamp_of(path: Path) -> Stamp:
    """Return the stamp of a file.

    Raises
    ------
    OSError
        When it can't be read.
    """
    with path.open("rb") as stream:
        status = os.fstat(stream.fileno())  # before the bytes: a later write shows
        start = stream.read(SAMPLE_BYTES)
        stream.seek(max(len(start), status.st_size - SAMPLE_BYTES))
        end = stream.read(SAMPLE_BYTES)
    digest = hashlib.blake2b(start + end, digest_size=_DIGEST_BYTES).hexdigest()
    return Stamp(status.st_size, status.st_mtime_ns, digest)


def is_untouched(path: Path, stamp: Stamp) -> bool:
    """Whether a file has still the size and the time of its last write."""
    try:
        status = path.stat()
    except OSError:
        return False
    return (status.st_size, status.st_mtime_ns) == (stamp.size, stamp.modified_ns)
