"""Compressed bodies: whole or refused, and never more unpacked than is allowed."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Callable

import cramjam
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.errors import InputError
from relume.ingest.push.bodies import BodyTooLargeError, unpacked

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "deflate": zlib.compress,
    "snappy": lambda data: bytes(cramjam.snappy.compress_raw(data)),
}
TEXT = b"iter 17: loss 3.9\n" * 400


@pytest.mark.parametrize("name", PACK)
def test_what_was_packed_comes_out(name: str) -> None:
    packed = PACK[name](TEXT)
    assert unpacked(packed, f" {name.upper()}", len(TEXT)) == TEXT
    assert unpacked(PACK[name](b""), name, 0) == b""
    with pytest.raises(BodyTooLargeError, match=f"{len(TEXT) - 1:,} bytes unpacked"):
        unpacked(packed, name, len(TEXT) - 1)


@pytest.mark.parametrize("name", PACK)
def test_a_bomb_is_refused(name: str) -> None:
    with pytest.raises(BodyTooLargeError):
        unpacked(PACK[name](bytes(64 << 20)), name, 1 << 20)


@pytest.mark.parametrize("name", [None, "", "identity"])
def test_what_is_not_packed_is_as_it_came(name: str | None) -> None:
    assert unpacked(TEXT, name, len(TEXT)) is TEXT
    with pytest.raises(BodyTooLargeError, match="more than 5 bytes; expected"):
        unpacked(TEXT, name, 5)


def test_another_encoding_is_named() -> None:
    with pytest.raises(InputError, match=r"Content-Encoding 'gzpi'.*gzip"):
        unpacked(TEXT, "gzpi", 9)


@pytest.mark.parametrize("name", PACK)
@given(st.data())
@settings(max_examples=40)
def test_whatever_comes_only_our_error_is_raised(name: str, data: st.DataObject) -> None:
    packed = bytearray(PACK[name](TEXT))
    for _ in range(data.draw(st.integers(0, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.integers(0, len(packed)))
    rest = data.draw(st.binary(max_size=9))
    with contextlib.suppress(InputError):
        assert len(unpacked(bytes(packed[:cut]) + rest, name, 1 << 16)) <= 1 << 16
