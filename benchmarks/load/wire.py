"""Protobuf by hand, with the places of what changes: a body is made once and written over.

A generator on the two cores that it loads must not cost more than what it measures, so each body is
a template in which numbers of a fixed width are replaced. Field numbers: Prometheus' remote.proto
and types.proto, Loki's push.proto.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
_LENGTH_DELIMITED, _FIXED64, _VARINT = 2, 1, 0


def varint(value: int) -> bytes:
    """Return `value` as protobuf writes it.

    >>> varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while value >= 0x80:  # noqa: PLR2004 - seven bits a byte
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def message(number: int, content: bytes) -> bytes:
    """Return a field that holds a message, a string or bytes."""
    return varint(number << 3 | _LENGTH_DELIMITED) + varint(len(content)) + content


def double(number: int, value: float) -> bytes:
    """Return a field that holds a double."""
    return varint(number << 3 | _FIXED64) + struct.pack("<d", value)


def integer(number: int, value: int) -> bytes:
    """Return a field that holds an int64."""
    return varint(number << 3 | _VARINT) + varint(value)


@dataclass(frozen=True, slots=True)
class Places:
    """Where something of a fixed width stands in a template: `starts`, and how many bytes."""

    starts: NDArray[np.int64]
    width: int

    @property
    def columns(self) -> NDArray[np.int64]:
        """All byte positions, one row a place."""
        return self.starts[:, None] + np.arange(self.width)


def places(template: bytes, mark: bytes) -> Places:
    """Return where `mark` stands in a template.

    >>> places(b"a##b##", b"##").starts.tolist()
    [1, 4]
    """
    found, start = [], template.find(mark)
    while start >= 0:
        found.append(start)
        start = template.find(mark, start + len(mark))
    return Places(np.array(found, dtype=np.int64), len(mark))


def copies(template: bytes, count: int) -> Bytes:
    """Return `count` copies of a template, a row each, to be written over."""
    return np.tile(np.frombuffer(template, dtype=np.uint8), (count, 1))


def digits(numbers: NDArray[np.int64], width: int) -> Bytes:
    """Return numbers as ASCII digits of a fixed width, a row each.

    >>> digits(np.array([7, 42]), 3).tobytes()
    b'007042'
    """
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (numbers[:, None] // powers % 10 + ord("0")).astype(np.uint8)
