"""Files that are there whole or not at all, also after a power failure."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

_PIECE_BYTES = 1 << 20


def sync_file(path: Path) -> int:
    """Make the content of `path` durable; return its size in bytes."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def checksum(path: Path) -> int:
    """Return the CRC-32 of a file, read piece by piece."""
    crc = 0
    with path.open("rb") as stream:
        while piece := stream.read(_PIECE_BYTES):
            crc = zlib.crc32(piece, crc)
    return crc


def sync_folder(path: Path) -> None:
    """Make the names in `path` durable: a rename isn't until then."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make `path` and what is missing above it, durably."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def publish(staged: Path, final: Path) -> int:
    """Move a finished file to its name, durably; return its size in bytes.

    Its name and content appear together. Both paths are on one filesystem.
    """
    size = sync_file(staged)
    make_folder(final.parent)
    staged.replace(final)
    sync_folder(final.parent)
    return size


def write_whole(path: Path, data: bytes, staging: Path) -> None:
    """Write a file by way of the folder `staging`; replaces one that has the name."""
    staged = staging / path.name
    staged.write_bytes(data)
    publish(staged, path)
