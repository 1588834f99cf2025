"""Open a log by its content: plain text, gzip, zstd, UTF-16; a stream, never the whole file."""

from __future__ import annotations

import codecs
import gzip
import io
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from relume.errors import InputError
from relume.ingest.blocks import Block, BlockAssembler
from relume.ingest.skips import SkipCounts

STDIN = "-"
READ_BYTES = 1 << 20
PROBE_BYTES = 64 * 1024
"""How much of a file is looked at to tell what it is."""
MAX_CONTROL_SHARE = 0.1
"""Text has hardly any control bytes besides tabs, line ends, escapes and a few NULs of a crash."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BINARY_MAGIC = (
    b"\x7fELF",
    b"PAR1",
    b"PK\x03\x04",
    b"\x80\x02",
    b"\x80\x03",
    b"\x80\x04",
    b"\x80\x05",
)
_CONTROL = bytes(c for c in range(32) if c not in b"\t\n\r\x1b\x0c\x08\x07")
_COMPRESSION_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError)


def read_blocks(path: Path | str, *, skipped: SkipCounts | None = None) -> Iterator[Block]:
    """Yield the blocks of one log; ``-`` is standard input.

    A compressed file that ends early gives what it held so far and counts as
    `truncated_compression`.

    Raises
    ------
    InputError
        When the file cannot be opened or read.
    """
    assembler = BlockAssembler(str(path), skipped=skipped)
    for chunk in _chunks(path, skipped):
        yield from assembler.feed(chunk)
    yield from assembler.finish()


def probe(path: Path | str) -> bytes:
    """First decoded bytes of a log, at most `PROBE_BYTES`, to tell what it is."""
    taken = b""
    for chunk in _chunks(path, None):
        taken += chunk
        if len(taken) >= PROBE_BYTES:
            break
    return taken[:PROBE_BYTES]


def is_binary(start: bytes) -> bool:
    r"""Whether the first bytes of a file are no text.

    >>> is_binary(b"\x7fELF\x02\x01"), is_binary(b"step 1\n")
    (True, False)
    """
    if start.startswith(_BINARY_MAGIC):
        return True
    control = len(start) - len(start.translate(None, _CONTROL))
    return control > MAX_CONTROL_SHARE * len(start)


def is_special(path: Path) -> bool:
    """Whether `path` is a pipe, socket or device: reading one might never end."""
    return not (stat.S_ISREG(path.stat().st_mode) or path.is_dir())


def _chunks(path: Path | str, skipped: SkipCounts | None) -> Iterator[bytes]:
    with _open(path) as stream:
        head = stream.peek(4)[:4]  # type: ignore[attr-defined]
        try:
            decoded = _decoded(stream, head)
            while chunk := decoded.read(READ_BYTES):
                yield chunk
        except _COMPRESSION_ERRORS:
            if skipped is not None:
                skipped.add("truncated_compression")
        except OSError as error:
            raise _unreadable(path, error) from error


def _open(path: Path | str) -> BinaryIO:
    if str(path) == STDIN:
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), READ_BYTES)
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise _unreadable(path, error) from error


def _decoded(stream: BinaryIO, head: bytes) -> BinaryIO:
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if head.startswith(_ZSTD):
        return zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
    for mark, encoding in _UTF16.items():
        if head.startswith(mark):
            return _Recoded(stream, encoding)  # type: ignore[return-value]
    return stream


class _Recoded:
    """A UTF-16 stream read as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._stream.read(2)

    def read(self, size: int) -> bytes:
        """Return up to about `size` bytes of UTF-8, nothing at the end."""
        while raw := self._stream.read(size):
            if text := self._decoder.decode(raw):
                return text.encode("utf-8", "replace")
        return self._decoder.decode(b"", final=True).encode("utf-8", "replace")


def _unreadable(path: Path | str, error: OSError) -> InputError:
    return InputError(
        f"cannot read {path}",
        found=error.strerror or type(error).__name__,
        expected="a readable log file, a folder, or - for standard input",
        hint="check the path and its permissions",
    )
