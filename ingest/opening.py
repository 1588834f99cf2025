"""Open a log by its content: plain text, gzip, zstd, UTF-16; a stream, never the whole file."""

from __future__ import annotations

import codecs
import io
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
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
MAX_HOLE_BYTES = 256 << 20
"""How many leading NULs are passed over to find a log's first text."""
MAX_CONTROL_SHARE = 0.02
"""Text has hardly any control bytes; compressed or random bytes have a tenth."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_SLICE = 512
"""Compressed bytes taken at a time: at most 128 blocks of 128 KiB come out of them."""
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
_DAMAGE = (EOFError, zlib.error, zstandard.ZstdError)


def read_blocks(path: Path | str, *, skipped: SkipCounts | None = None) -> Iterator[Block]:
    """Yield the blocks of one log; ``-`` is standard input.

    Offsets count the bytes of the decoded text: after decompression, without a byte order mark,
    UTF-16 as UTF-8. A compressed file that ends early gives what it held so far and counts as
    `truncated_compression`.

    Raises
    ------
    InputError
        When the file cannot be opened, read or decompressed at all.
    """
    assembler = BlockAssembler(str(path), skipped=skipped)
    for chunk in _chunks(path, skipped):
        yield from assembler.feed(chunk)
    yield from assembler.finish()


def probe(path: Path) -> bytes:
    """First decoded bytes of a log, at most `PROBE_BYTES`, to tell what it is.

    Leading NULs are passed over: a job's output file that was truncated at a requeue begins with a
    hole when a process of the old attempt goes on writing.
    """
    return _first_text(_chunks(path, None, PROBE_BYTES))


def probe_stdin() -> bytes | None:
    """First decoded bytes of standard input, left there to be read; null when it can't be peeked.

    Waits for the first bytes.
    """
    if not isinstance(sys.stdin.buffer, io.BufferedReader):
        return None
    return _first_text(_until_damage(_decoded([sys.stdin.buffer.peek(PROBE_BYTES)])))


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


def is_special(path: Path) -> bool:
    """Whether `path` is a pipe, socket or device: reading one might never end."""
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


def _chunks(
    path: Path | str, skipped: SkipCounts | None, read_bytes: int = READ_BYTES
) -> Iterator[bytes]:
    """Decoded bytes of a log; damage after the first of them ends it, and is counted."""
    is_empty = True
    with _open(path) as stream:
        try:
            for chunk in _decoded(iter(lambda: stream.read1(read_bytes), b"")):  # type: ignore[attr-defined]
                yield chunk
                is_empty = False
        except _DAMAGE as error:
            if is_empty:
                raise _damaged(path, error) from error
            if skipped is not None:
                skipped.add("truncated_compression")
        except OSError as error:
            raise _unreadable(path, error) from error


def _open(path: Path | str) -> AbstractContextManager[BinaryIO]:
    if str(path) == STDIN:
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise _unreadable(path, error) from error


def _decoded(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Take off one layer of compression, and of UTF-16 or a byte order mark."""
    head, rest = _with_head(chunks)
    if head.startswith(_GZIP):
        head, rest = _with_head(_gunzip(rest))
    elif head.startswith(_ZSTD):
        head, rest = _with_head(_unzstd(rest))
    for mark, encoding in _UTF16.items():
        if head.startswith(mark):
            return _recoded(rest, encoding)
    return _without_mark(rest) if head.startswith(codecs.BOM_UTF8) else rest


def _with_head(chunks: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """(the first bytes, enough to tell the format; all bytes from the start)."""
    source, head = iter(chunks), b""
    for chunk in source:
        head += chunk
        if len(head) >= _MAGIC_BYTES:
            break
    return head, chain([head] if head else [], source)


def _gunzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress all members; their padding with NULs is passed over."""
    member, begun = _gzip_member(), False
    for data in chunks:
        rest = data if begun else data.lstrip(b"\x00")
        while rest:
            begun = True
            if text := member.decompress(rest, READ_BYTES):
                yield text
            rest = member.unconsumed_tail
            if member.eof:
                rest = member.unused_data.lstrip(b"\x00")
                member, begun = _gzip_member(), False
    if begun:
        raise EOFError("the last gzip member has no end")


def _gzip_member() -> zlib._Decompress:
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # 16: with gzip's header


def _unzstd(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress all frames, in slices small enough to bound what one of them can become."""
    frame = zstandard.ZstdDecompressor().decompressobj()
    begun = False
    for data in chunks:
        for start in range(0, len(data), _ZSTD_SLICE):
            rest = data[start : start + _ZSTD_SLICE]
            while rest:
                begun = True
                if text := frame.decompress(rest):
                    yield text
                if not frame.eof:
                    break
                rest, begun = frame.unused_data, False
                frame = zstandard.ZstdDecompressor().decompressobj()
    if begun:
        raise EOFError("the last zstd frame has no end")


def _recoded(chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """UTF-16 after its byte order mark, as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for chunk in chunks:
        yield decoder.decode(chunk).removeprefix("\ufeff").encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _without_mark(chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield next(chunks).removeprefix(codecs.BOM_UTF8)
    yield from chunks


def _until_damage(chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from chunks
    except _DAMAGE:
        return  # the rest has not arrived yet


def _damaged(path: Path | str, error: Exception) -> InputError:
    return InputError(
        f"cannot decompress {path}",
        found=str(error),
        expected="a whole gzip or zstd file",
        hint="copy it again, or decompress it by hand",
    )


def _unreadable(path: Path | str, error: OSError) -> InputError:
    return InputError(
        f"cannot read {path}",
        found=error.strerror or type(error).__name__,
        expected="a readable log file, a folder, or - for standard input",
        hint="check the path and its permissions",
    )
