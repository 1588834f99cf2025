"""Physical lines of a decoded stream, for formats that hold one record a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from relume.errors import InputError

MAX_RECORD_BYTES = 256 << 20
"""A longer line is no record: a stream without line breaks must not fill the memory."""


def raw_lines(
    chunks: Iterable[bytes],
    too_long: Callable[[int], InputError],
    *,
    limit: int = MAX_RECORD_BYTES,
) -> Iterator[bytes]:
    r"""Yield the lines with their LF; the last one has none, and is empty after a whole line.

    Parameters
    ----------
    chunks
        The bytes, cut anywhere.
    too_long
        What to raise for a line (its number, from 1) of more than `limit` bytes.

    Raises
    ------
    InputError
        For such a line.

    Examples
    --------
    >>> list(raw_lines([b"a\nb", b"c\r\n"], lambda number: InputError(f"line {number}")))
    [b'a\n', b'bc\r\n', b'']
    """
    held: list[bytes] = []
    size, number = 0, 1
    for piece in chain.from_iterable(_pieces(chunk) for chunk in chunks):
        held.append(piece)
        size += len(piece)
        if size > limit:
            raise too_long(number)
        if piece.endswith(b"\n"):
            yield b"".join(held)
            held, size, number = [], 0, number + 1
    yield b"".join(held)


def _pieces(chunk: bytes) -> list[bytes]:
    """Cut behind each LF, which stays: other line breaks may be part of a text."""
    *whole, last = chunk.split(b"\n")
    return [*(line + b"\n" for line in whole), last]
