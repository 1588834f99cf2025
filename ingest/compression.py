"""Take gzip or zstd off a stream: all that comes before a damage, in pieces of bounded size."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Iterator

import zstandard

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
MAX_PIECE_BYTES = 1 << 20
"""How much comes out at a time at most, however well it was compressed."""
DAMAGE = (EOFError, zlib.error, zstandard.ZstdError)
"""What `gunzip` and `unzstd` raise where a stream is cut or damaged."""

_ZSTD_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_ZSTD_HEAD_BYTES = 5
"""Bytes that say how long the head of a frame is."""
_ZSTD_RUN = 1
"""Type of a block that repeats one byte: its size counts what comes out."""
_ZSTD_RUN_BYTES = 1
_NO_END = "the last zstd frame has no end"


def gunzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress all members; their padding with NULs is passed over.

    Raises
    ------
    EOFError, zlib.error
        At the damage, when everything before it was given, a text with a wrong checksum too.
    """
    member, begun = _gzip_member(), False
    for data in chunks:
        rest = data if begun else data.lstrip(b"\x00")
        while rest:
            begun, before = True, member.copy()
            try:
                text = member.decompress(rest, MAX_PIECE_BYTES)
            except zlib.error:
                yield from _up_to_damage(before, rest)
                raise
            if text:
                yield text
            rest = member.unconsumed_tail
            if member.eof:
                rest = member.unused_data.lstrip(b"\x00")
                member, begun = _gzip_member(), False
    if begun:
        raise EOFError("the last gzip member has no end")


def _gzip_member() -> zlib._Decompress:
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)  # 16: with gzip's header


def _up_to_damage(member: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """What comes out of `data`, byte by byte: a call that fails gives nothing of what it read."""
    text = bytearray()
    for position in range(len(data)):
        try:
            text += member.decompress(data[position : position + 1])
        except zlib.error:
            break
    if text:
        yield bytes(text)


def unzstd(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress all frames, each block of them by itself (at most 128 KiB come out of one).

    The format is RFC 8878, section 3.1. A call that fails gives nothing of what it read, so none
    may read past the end of a block.

    Raises
    ------
    EOFError, zstandard.ZstdError
        At the damage, when everything before it was given, a text with a wrong checksum too.
    """
    source = _Source(chunks)
    while magic := source.take(len(ZSTD)):
        if int.from_bytes(magic, "little") in _ZSTD_SKIPPABLE:
            source.skip(int.from_bytes(source.whole(4), "little"))
        else:
            yield from filter(None, _frame(source, magic))


def _frame(source: _Source, magic: bytes) -> Iterator[bytes]:
    head = magic + source.whole(_ZSTD_HEAD_BYTES - len(magic))
    head += source.whole(zstandard.frame_header_size(head) - len(head))
    has_checksum = zstandard.get_frame_parameters(head).has_checksum
    frame = zstandard.ZstdDecompressor().decompressobj()
    yield frame.decompress(head)
    is_last = False
    while not is_last:
        block = source.whole(3)
        bits = int.from_bytes(block, "little")
        is_last, kind, size = bool(bits & 1), bits >> 1 & 3, bits >> 3
        yield frame.decompress(block)
        wanted = _ZSTD_RUN_BYTES if kind == _ZSTD_RUN else size
        # What there is of it: a block that wasn't compressed gives its text without its end, too.
        if body := source.take(wanted):
            yield frame.decompress(body)
        if len(body) < wanted:
            raise EOFError(_NO_END)
    if has_checksum:
        yield frame.decompress(source.whole(4))


class _Source:
    """Bytes of a stream by count."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._chunk = io.BytesIO()

    def take(self, size: int) -> bytes:
        """Return `size` bytes, fewer only at the end of the stream."""
        data = self._chunk.read(size)
        while len(data) < size and (chunk := next(self._chunks, None)) is not None:
            self._chunk = io.BytesIO(chunk)
            data += self._chunk.read(size - len(data))
        return data

    def whole(self, size: int) -> bytes:
        """Return `size` bytes or raise."""
        data = self.take(size)
        if len(data) < size:
            raise EOFError(_NO_END)
        return data

    def skip(self, size: int) -> None:
        """Pass over `size` bytes."""
        while size > 0:
            size -= len(self.whole(min(size, MAX_PIECE_BYTES)))
