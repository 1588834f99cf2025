"""One kept state a file: written whole or not at all, checked by a digest before it is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import IO, Final, TypeVar, cast

import msgspec
import zstandard

from relume.errors import InputError
from relume.ingest.lake.files import sync_folder
from relume.serve.live.state.binding import Binding, LakePoint

SUFFIX: Final = ".state"
NEW: Final = ".new"
T = TypeVar("T")
_LEVEL = 1
_PIECE_BYTES = 1 << 20
_DIGEST_BYTES = 32
_MAX_HEADER_BYTES = 64 << 10


class Header(msgspec.Struct, frozen=True):
    """The first line of a file, as JSON: what the state goes with, and when it was taken."""

    binding: Binding
    point: LakePoint
    taken_at: int


def name_of(sequence: int) -> str:
    """Return the name of the state as of a commit; names sort as commits do."""
    return f"{sequence:020d}{SUFFIX}"


def write_state(folder: Path, header: Header, write: Callable[[IO[bytes]], None]) -> int:
    """Write a file, durably, with what `write` puts into it; return its size in bytes.

    It appears under its name only when all of it is on the disk.

    Raises
    ------
    OSError
        When the disk doesn't take it; there is no such file then.
    """
    path = folder / name_of(header.point.sequence)
    new = path.with_suffix(NEW)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = os.open(new, flags, 0o640)
    try:
        sink = _Sink(descriptor)
        sink.write(msgspec.json.encode(header) + b"\n")
        compressor = zstandard.ZstdCompressor(level=_LEVEL)
        with compressor.stream_writer(cast("IO[bytes]", sink), closefd=False) as stream:
            write(cast("IO[bytes]", stream))
        sink.finish()
        os.fsync(descriptor)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    new.replace(path)
    sync_folder(folder)
    return sink.size


def read_header(path: Path) -> Header:
    """Return the first line of a file.

    Raises
    ------
    InputError
        When it is none of ours, or damaged.
    OSError
        When it can't be read.
    """
    with path.open("rb") as stream:
        return _header(path, stream)


def read_state(path: Path, read: Callable[[IO[bytes]], T]) -> T:
    """Return what `read` makes of what was written, once all of it proved undamaged.

    Raises
    ------
    InputError
        When the file is damaged, or `read` can't make anything of it.
    OSError
        When it can't be read.
    """
    with path.open("rb") as stream:
        end = _checked(path, stream)
        _header(path, stream)
        body = _Part(stream, end)
        try:
            with zstandard.ZstdDecompressor().stream_reader(cast("IO[bytes]", body)) as raw:
                return read(cast("IO[bytes]", _Exact(raw)))
        except zstandard.ZstdError as error:
            raise _damaged(path, str(error)) from error


def _checked(path: Path, stream: IO[bytes]) -> int:
    """Compare the digest; return where the body ends, and be at the start again."""
    left = os.fstat(stream.fileno()).st_size - _DIGEST_BYTES
    end, digest = left, sha256()
    while left > 0 and (piece := stream.read(min(left, _PIECE_BYTES))):
        digest.update(piece)
        left -= len(piece)
    if left or digest.digest() != stream.read(_DIGEST_BYTES):
        raise _damaged(path, "another digest")
    stream.seek(0)
    return end


def _header(path: Path, stream: IO[bytes]) -> Header:
    line = stream.readline(_MAX_HEADER_BYTES)
    try:
        return msgspec.json.decode(line, type=Header)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, found: str) -> InputError:
    return InputError(f"kept state {path.name}", found=found, expected="a whole file of ours")


class _Sink:
    """Writes to a descriptor and keeps the digest of what was written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._digest = descriptor, sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write all of it."""
        view = memoryview(data)
        self._digest.update(view)
        self._put(view)
        return len(view)

    def flush(self) -> None:
        """Nothing is held back."""

    def finish(self) -> None:
        """Write the digest behind everything."""
        self._put(memoryview(self._digest.digest()))

    def _put(self, view: memoryview) -> None:
        while view:
            written = os.write(self._descriptor, view)
            self.size += written
            view = view[written:]


class _Part:
    """A file up to a place."""

    def __init__(self, stream: IO[bytes], end: int) -> None:
        self._stream, self._end = stream, end

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        left = self._end - self._stream.tell()
        return self._stream.read(left if size < 0 else min(size, left))


class _Exact:
    """What an unpickler needs of a stream: as many bytes as it asks for, and lines."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._held = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end only."""
        parts, missing = [], size
        while missing > 0:
            if not self._held:
                self._held = memoryview(self._stream.read(max(missing, _PIECE_BYTES)))
                if not self._held:
                    break
            parts.append(self._held[:missing])
            missing -= len(parts[-1])
            self._held = self._held[len(parts[-1]) :]
        return b"".join(parts)

    def readline(self) -> bytes:
        """Refuse: only pickles of old protocols have lines."""
        raise InputError("kept state", found="a line", expected="what Relume keeps")
