"""Bodies of requests as they were before they were compressed, bounded whatever they unpack to."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import cramjam

from relume.errors import InputError, did_you_mean, shown
from relume.ingest.compression import DAMAGE, gunzip, unzstd

MAX_PIECE_BYTES = 1 << 20
"""What is fed to a decompressor at once."""


class BodyTooLargeError(InputError):
    """A body is, or unpacks to, more than is taken; a route answers 413."""

    error_type = "body_too_large"


def unpacked(data: bytes, encoding: str | None, limit: int) -> bytes:
    """Return a body without its compression; no more than about `limit` bytes are ever made.

    Parameters
    ----------
    data
        As it came.
    encoding
        The header Content-Encoding: gzip, zstd, deflate, snappy (the block format of Loki and
        remote-write); null, empty and identity for none. Case doesn't count.
    limit
        Bytes that it may unpack to.

    Raises
    ------
    BodyTooLargeError
        When it is more, told as soon as that is known.
    InputError
        For an unknown encoding, and for a body that is cut or damaged.

    Examples
    --------
    >>> unpacked(zlib.compress(b"hello"), "deflate", 5)
    b'hello'
    >>> unpacked(zlib.compress(bytes(1 << 20)), "deflate", 1 << 10)
    Traceback (most recent call last):
    relume.ingest.push.bodies.BodyTooLargeError: body; found more than 1,024 bytes unpacked; \
expected at most that; send it in parts
    """
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        if len(data) > limit:
            raise too_large(limit, "")
        return data
    if name not in _UNPACK:
        raise InputError(
            "body",
            found=f"Content-Encoding {shown(name)}",
            expected=f"none or one of {', '.join(_UNPACK)}",
            hint=did_you_mean(name, _UNPACK),
        )
    try:
        return _UNPACK[name](data, limit)
    except (*DAMAGE, cramjam.DecompressionError) as error:
        raise InputError(
            "body",
            found=str(error)[:200] or type(error).__name__,
            expected=f"a whole body of {name}",
            hint="was it cut, or is it of another Content-Encoding?",
        ) from error


def too_large(limit: int, what: str = " unpacked") -> BodyTooLargeError:
    """Return the error of a body of more than `limit` bytes."""
    return BodyTooLargeError(
        "body",
        found=f"more than {limit:,} bytes{what}",
        expected="at most that",
        hint="send it in parts",
    )


def _snappy(data: bytes, limit: int) -> bytes:
    size = cramjam.snappy.decompress_raw_len(data)  # its head says it, so nothing is made yet
    if size > limit:
        raise too_large(limit)
    return bytes(cramjam.snappy.decompress_raw(data))


def _joined(pieces: Callable[[Iterable[bytes]], Iterator[bytes]]) -> Callable[[bytes, int], bytes]:
    def unpack(data: bytes, limit: int) -> bytes:
        made, size = [], 0
        for piece in pieces(_cut(data)):
            size += len(piece)
            if size > limit:
                raise too_large(limit)
            made.append(piece)
        return b"".join(made)

    return unpack


def _deflated(data: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj()
    made = stream.decompress(data, limit + 1)
    if len(made) > limit:
        raise too_large(limit)
    if not stream.eof or stream.unused_data:
        raise EOFError("its end isn't that of the stream")
    return made


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[at : at + MAX_PIECE_BYTES] for at in range(0, len(data), MAX_PIECE_BYTES))


_UNPACK: Mapping[str, Callable[[bytes, int], bytes]] = MappingProxyType(
    {
        "gzip": _joined(gunzip),
        "zstd": _joined(unzstd),
        "deflate": _deflated,
        "snappy": _snappy,
    }
)
