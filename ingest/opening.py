"""Open a log by its content: plain text, gzip, zstd, UTF-16; a stream, never the whole file."""

from __future__ import annotations

import codecs
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TextIO, TypeVar

from relume.errors import InputError
from relume.files import special_kind
from relume.ingest.blocks import Block, BlockAssembler
from relume.ingest.compression import DAMAGE, GZIP, ZSTD, gunzip, unzstd
from relume.ingest.skips import SkipCounts
from relume.ingest.tailing.file import Opener

Chunk = TypeVar("Chunk", bound=bytes | memoryview)
STDIN = "-"
READ_BYTES = 1 << 20
PROBE_BYTES = 64 * 1024
"""How much of a file is looked at to tell what it is."""
MAX_HOLE_BYTES = 256 << 20
"""How many leading NULs are passed over to find a log's first text."""
MAX_CONTROL_SHARE = 0.02
"""Text has hardly any control bytes; compressed or random bytes have a tenth."""

_MAGIC_BYTES = 4
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BINARY_MAGIC = (
    b"\x7fELF",
    b"PAR1",
    b"PK\x03\x04",  # zip, and so torch.save
    b"\x80\x02",  # pickles
    b"\x80\x03",
    b"\x80\x04",
    b"\x80\x05",
    b"\x93NUMPY",
    b"\x89PNG",
    b"\x89HDF",
    b"%PDF-",
    b"SQLite format 3",
    b"BZh",
    b"\xfd7zXZ",
)
_TAR = (257, b"ustar")
_SAFETENSORS = re.compile(rb'.{5}\x00{3}\{"', re.DOTALL)
_HOLE = re.compile(rb"\x00{8,}+")
_CONTROL = bytes(c for c in range(32) if c not in b"\t\n\r\x1b\x0c\x08\x07")


def read_blocks(
    path: Path | str, *, skipped: SkipCounts | None = None, opener: Opener | None = None
) -> Iterator[Block]:
    """Yield the blocks of one log; ``-`` is standard input.

    `opener` opens it where somebody else chose the path (`relume.ingest.tailing.opening`).

    Offsets count the bytes of the decoded text: after decompression, without a byte order mark,
    UTF-16 as UTF-8. A compressed file that ends early gives what it held so far and counts as
    `truncated_compression`.

    Raises
    ------
    InputError
        When the file cannot be opened, read or decompressed at all.
    """
    assembler = BlockAssembler(str(path), skipped=skipped)
    with _open(path, opener) as stream:
        for chunk in _until_damage(path, _in_reused_buffer(stream), skipped):
            yield from assembler.feed(chunk)
    yield from assembler.finish()


def read_chunks(
    path: Path | str,
    *,
    skipped: SkipCounts | None = None,
    read_bytes: int = READ_BYTES,
    start: int = 0,
    opener: Opener | None = None,
) -> Iterator[bytes]:
    """Yield the decoded bytes of one file, ``-`` for standard input, in pieces of any size.

    Damage after the first of them ends it, and is counted. The first `start` decoded bytes are left
    out: a plain file isn't read until there, any other is decoded.

    Raises
    ------
    InputError
        As for `read_blocks`.
    """
    with _open(path, opener) as stream:
        yield from _until_damage(path, _from(stream, start, read_bytes), skipped)


def probe(path: Path) -> bytes:
    """First decoded bytes of a log, at most `PROBE_BYTES`, to tell what it is.

    Leading NULs are passed over: a job's output file that was truncated at a requeue begins with a
    hole when a process of the old attempt goes on writing.
    """
    return _first_text(read_chunks(path, read_bytes=PROBE_BYTES))


def probe_stdin() -> bytes | None:
    """First decoded bytes of standard input, left there to be read; null when it can't be peeked.

    Waits for the first bytes.

    Raises
    ------
    InputError
        When it is closed or cannot be read.
    """
    stream = _stdin()
    if not isinstance(stream, io.BufferedReader):
        return None
    try:
        start = stream.peek(PROBE_BYTES)
    except OSError as error:
        raise _unreadable(STDIN, error.strerror or str(error)) from error
    return _first_text(_arrived(_decoded([start])))


def is_binary(start: bytes) -> bool:
    r"""Whether the first bytes of a file are no text.

    >>> is_binary(b"\x7fELF\x02\x01"), is_binary(b"step 1\n"), is_binary(b"\x00" * 99 + b"step 2\n")
    (True, False, False)
    """
    if start.startswith(_BINARY_MAGIC) or start.startswith(_TAR[1], _TAR[0]):
        return True
    if _SAFETENSORS.match(start):
        return True
    text = _HOLE.sub(b"", start) if b"\x00" in start else start
    control = len(text) - len(text.translate(None, _CONTROL))
    return control > MAX_CONTROL_SHARE * len(text) or (bool(start) and not text)


def refuse_special(path: Path) -> None:
    """Raise InputError for a pipe, socket or device that may never end.

    Raises
    ------
    OSError
        When there is no such file.
    """
    if kind := special_kind(path):
        raise InputError(
            f"cannot read {path}",
            found=kind,
            expected="a file, or - for standard input",
            hint="pass what it holds on standard input",
        )


def is_special(path: Path) -> bool:
    """Whether `path` is a pipe, socket or device: it can be read only once, if at all."""
    return not (stat.S_ISREG(path.stat().st_mode) or path.is_dir())


def _first_text(chunks: Iterable[bytes]) -> bytes:
    taken, passed = b"", 0
    for chunk in chunks:
        taken += chunk
        text = taken.lstrip(b"\x00")
        if not text and passed < MAX_HOLE_BYTES:
            passed += len(taken)
            taken = b"\x00"  # a file of NULs isn't empty
            continue
        taken = text or taken
        if len(taken) >= PROBE_BYTES:
            break
    return taken[:PROBE_BYTES]


def _open(path: Path | str, opener: Opener | None) -> AbstractContextManager[BinaryIO]:
    if str(path) == STDIN:
        return nullcontext(_stdin())
    path = Path(path)
    try:
        if opener is not None:
            return os.fdopen(opener(path), "rb")
        refuse_special(path)
        return path.open("rb")
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error


def _stdin() -> BinaryIO:
    stream: TextIO | None = sys.stdin  # null when the caller closed it (`<&-`)
    if stream is None:
        raise _unreadable(STDIN, "a closed stream")
    return stream.buffer


def _until_damage(
    path: Path | str, chunks: Iterator[Chunk], skipped: SkipCounts | None
) -> Iterator[Chunk]:
    """Yield what can be read: damage after the first chunk ends it, and is counted."""
    is_empty = True
    try:
        for chunk in chunks:
            yield chunk
            is_empty = False
    except DAMAGE as error:
        if is_empty:
            raise _damaged(path, error) from error
        if skipped is not None:
            skipped.add("truncated_compression", file=path)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error


def _from(stream: BinaryIO, start: int, read_bytes: int) -> Iterator[bytes]:
    """Yield the decoded bytes after the first `start` ones."""
    if start and _is_plain(stream):
        stream.seek(start)
        yield from _pieces(stream, read_bytes)
        return
    left = start
    for chunk in _decoded(_pieces(stream, read_bytes)):
        if left < len(chunk):
            yield chunk[left:] if left else chunk
        left = max(0, left - len(chunk))


def _in_reused_buffer(stream: BinaryIO) -> Iterator[bytes | memoryview]:
    """Yield the decoded bytes; of a plain file in one buffer, each piece until the next is read.

    New memory for each piece would cost more than reading it: the kernel clears it first.
    """
    if not _is_plain(stream):
        yield from _decoded(_pieces(stream, READ_BYTES))
        return
    buffer = memoryview(bytearray(READ_BYTES))
    while size := stream.readinto1(buffer):  # type: ignore[attr-defined]
        yield buffer[:size]


def _pieces(stream: BinaryIO, read_bytes: int) -> Iterator[bytes]:
    return iter(lambda: stream.read1(read_bytes), b"")  # type: ignore[attr-defined]


def _is_plain(stream: BinaryIO) -> bool:
    """Whether the bytes of a file, which stands at its start, are those of its text."""
    if not stream.seekable():
        return False
    head = stream.read(_MAGIC_BYTES)
    stream.seek(0)
    return not head.startswith((GZIP, ZSTD, codecs.BOM_UTF8, *_UTF16))


def _decoded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Take off one layer of compression, and of UTF-16 or a byte order mark."""
    head, rest = _with_head(chunks)
    if head.startswith(GZIP):
        head, rest = _with_head(gunzip(rest))
    elif head.startswith(ZSTD):
        head, rest = _with_head(unzstd(rest))
    for mark, encoding in _UTF16.items():
        if head.startswith(mark):
            return _recoded(rest, encoding)
    return _without_mark(rest) if head.startswith(codecs.BOM_UTF8) else rest


def _with_head(chunks: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """(the first bytes, enough to tell the format; all bytes from the start)."""
    source, head = iter(chunks), b""
    try:
        while len(head) < _MAGIC_BYTES and (chunk := next(source, b"")):
            head += chunk
    except DAMAGE as error:
        if not head:
            raise
        source = _failing(error)  # a short text, and after it the damage
    return head, chain([head] if head else [], source)


def _failing(error: Exception) -> Iterator[bytes]:
    raise error
    yield b""


def _recoded(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """UTF-16 after its byte order mark, as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).removeprefix("\ufeff").encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _without_mark(chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield next(chunks).removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _arrived(chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from chunks
    except DAMAGE:
        return  # the rest has not arrived yet


def _damaged(path: Path | str, error: Exception) -> InputError:
    return InputError(
        f"cannot decompress {path}",
        found=str(error),
        expected="a whole gzip or zstd file",
        hint="copy it again, or decompress it by hand",
    )


def _unreadable(path: Path | str, found: str) -> InputError:
    is_stdin = str(path) == STDIN
    return InputError(
        f"cannot read {'standard input' if is_stdin else path}",
        found=found,
        expected="a readable file, or - for standard input",
        hint="redirect it from a file" if is_stdin else "check the path and its permissions",
    )
