"""Pickle as PyTorch's own writer does: protocol 2, only strings remembered, tuples not."""

from __future__ import annotations

import struct

MAX_BYTE = 0xFF


def pickle_as_torch(document: object) -> bytes:
    """Return the pickle of plain data.

    >>> import pickle
    >>> pickle.loads(pickle_as_torch({"a": [1, -1, None, True, ("b", "b"), 1 << 40]}))
    {'a': [1, -1, None, True, ('b', 'b'), 1099511627776]}
    """
    out = bytearray(b"\x80\x02")
    _write(document, out, {})
    return bytes(out + b".")


def _write(value: object, out: bytearray, memo: dict[str, int]) -> None:
    if isinstance(value, str):
        _string(value, out, memo)
    elif value is None or isinstance(value, bool):
        out += {None: b"N", True: b"\x88", False: b"\x89"}[value]
    elif isinstance(value, int):
        out += _integer(value)
    elif isinstance(value, tuple):
        for item in value:
            _write(item, out, memo)
        out += {1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(value)]
    elif isinstance(value, list):
        out += b"]("
        for item in value:
            _write(item, out, memo)
        out += b"e"
    elif isinstance(value, dict):
        out += b"}("
        for key, item in value.items():
            _write(key, out, memo)
            _write(item, out, memo)
        out += b"u"
    else:
        raise TypeError(type(value))


def _string(value: str, out: bytearray, memo: dict[str, int]) -> None:
    if value in memo:
        out += _indexed(b"h", b"j", memo[value])
        return
    text = value.encode()
    memo[value] = len(memo)
    out += b"X" + struct.pack("<I", len(text)) + text + _indexed(b"q", b"r", memo[value])


def _indexed(short: bytes, long: bytes, index: int) -> bytes:
    return short + bytes([index]) if index <= MAX_BYTE else long + struct.pack("<I", index)


def _integer(value: int) -> bytes:
    if 0 <= value < 1 << 8:
        return b"K" + bytes([value])
    if 0 <= value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a\x08" + struct.pack("<q", value)
