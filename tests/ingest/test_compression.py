"""Compressed streams: cut and damaged anywhere, in pieces of bounded size."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterator

import pytest
import zstandard

from relume.ingest.compression import DAMAGE, MAX_PIECE_BYTES, gunzip, unzstd

Unpack = Callable[[Iterator[bytes]], Iterator[bytes]]
TEXT = b"".join(b"step %d loss %d\n" % (n, n * 7919 % 1009) for n in range(300))
NOISE = random.Random(3).randbytes(300_000)
RUN = b"x" * 300_000


def packed_zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


def flushed_zstd(data: bytes) -> bytes:
    """A frame of many small blocks, as of a program that flushes each line."""
    stream = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    lines = [
        stream.compress(line) + stream.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
        for line in data.splitlines(keepends=True)
    ]
    return b"".join(lines) + stream.flush()


FORMATS: list[tuple[Unpack, Callable[[bytes], bytes]]] = [
    (gunzip, gzip.compress),
    (unzstd, packed_zstd),
    (unzstd, flushed_zstd),
]
formats = pytest.mark.parametrize(
    ("unpack", "pack"), FORMATS, ids=["gzip", "zstd", "zstd of small blocks"]
)


def unpacked(unpack: Unpack, packed: bytes, step: int = 1000) -> tuple[bytes, bool]:
    """(what came out, whether all of it did)."""
    text = b""
    try:
        for piece in unpack(packed[at : at + step] for at in range(0, len(packed), step)):
            assert 0 < len(piece) <= MAX_PIECE_BYTES
            text += piece
    except DAMAGE:
        return text, False
    return text, True


@formats
@pytest.mark.parametrize("data", [b"", b"x", TEXT, NOISE, RUN, RUN + TEXT + NOISE])
def test_what_was_packed_comes_out_however_it_is_cut(
    unpack: Unpack, pack: Callable[[bytes], bytes], data: bytes
) -> None:
    packed = pack(data)
    assert unpacked(unpack, packed) == (data, True)
    assert unpacked(unpack, packed + packed, 1 << 30) == (data + data, True)
    if len(packed) < 10_000:
        assert unpacked(unpack, packed, 1) == (data, True)


@formats
def test_an_end_anywhere_gives_what_comes_before(
    unpack: Unpack, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(TEXT)
    sizes = []
    for end in range(1, len(packed)):
        text, is_whole = unpacked(unpack, packed[:end])
        assert not is_whole
        assert TEXT.startswith(text)
        sizes.append(len(text))
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(TEXT)  # only the checksum is cut


@formats
def test_a_wrong_checksum_costs_nothing_and_garbage_after_the_end_neither(
    unpack: Unpack, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(TEXT)
    wrong = packed[:-1] + bytes([packed[-1] ^ 1])
    assert unpacked(unpack, wrong) == (TEXT, False)
    assert unpacked(unpack, wrong, 1 << 30) == (TEXT, False)
    assert unpacked(unpack, packed + b"garbage") == (TEXT, False)


@formats
def test_damage_anywhere_never_raises_anything_else(
    unpack: Unpack, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(TEXT)
    for place in range(0, len(packed), 7):
        unpacked(unpack, packed[:place] + bytes([packed[place] ^ 0xFF]) + packed[place + 1 :])


def test_blocks_before_a_damaged_one_come_out() -> None:
    packed = flushed_zstd(TEXT)
    text, is_whole = unpacked(unzstd, packed[: len(packed) // 2] + b"\xff" * 64)
    assert not is_whole
    assert TEXT.startswith(text)
    assert len(text) > len(TEXT) // 3


def test_an_uncompressed_block_is_given_up_to_where_it_is_cut() -> None:
    packed = packed_zstd(NOISE)
    text, _ = unpacked(unzstd, packed[:200_000])
    assert len(text) > 199_000
    assert NOISE.startswith(text)
