"""How good bodies become bad ones; all by chance that a seed gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from relume.benchmarks.fuzz.bodies import ARROW, JSON, PACKINGS, PROTOBUF, Push

Change = Callable[[Random, bytes], bytes]
MAX_STRETCH = 1 << 20
_LENGTHS = (
    b"\xff\xff\xff\xff\x0f",  # a varint of 4 GiB
    b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",  # a varint without an end
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"\xff" * 8,
)
_WORDS = (
    b"null",
    b"NaN",
    b"-0",
    b"1e999",
    b"-9223372036854775809",
    b"18446744073709551616",
    b"9" * 400,
    b'"\\ud800"',
    b'"\\u0000"',
    b"\xed\xa0\x80",
    b"\xc3\x28",
    b"\xe2\x80\xae",
    b"true",
    b"{}",
    b"[]",
    b'""',
    b'{"__proto__": 1}',
    b"../../etc/passwd",
    b"\r\n\r\n",
    b"\x00",
)
_TYPES = (
    JSON,
    PROTOBUF,
    ARROW,
    "text/plain",
    "application/json; charset=utf-16",
    "multipart/form-data",
    "/",
    "",
    "application/x-protobuf;proto=io.prometheus.write.v2.Request",
    None,
)
_ENCODINGS = (*PACKINGS, "deflate", "identity", "br", "gzip, gzip", "", "x" * 300, None)


def flipped(dice: Random, data: bytes) -> bytes:
    """Return it with some bits flipped."""
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 2, 8, 64)) if out else 0):
        out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    return bytes(out)


def cut(dice: Random, data: bytes) -> bytes:
    """Return its beginning, or its end."""
    at = dice.randrange(len(data) + 1)
    return dice.choice((data[:at], data[:at], data[at:]))


def repeated(dice: Random, data: bytes) -> bytes:
    """Return it with a stretch of it many times."""
    begin, end = _stretch(dice, data)
    times = min(dice.choice((2, 3, 50, 10_000)), MAX_STRETCH // max(1, end - begin))
    return data[:begin] + data[begin:end] * times + data[end:]


def absurd(dice: Random, data: bytes) -> bytes:
    """Return it with a length in it that nothing has."""
    at, length = dice.randrange(len(data) + 1), dice.choice(_LENGTHS)
    return data[:at] + length + data[at + dice.choice((0, 1, len(length))) :]


def worded(dice: Random, data: bytes) -> bytes:
    """Return it with a stretch replaced by what decoders stumble over."""
    begin, end = _stretch(dice, data)
    return data[:begin] + dice.choice(_WORDS) + data[end:]


def renamed(dice: Random, data: bytes) -> bytes:
    """Return a JSON document with one of its values replaced; others as `worded`."""
    try:
        document = json.loads(data.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return worded(dice, data)
    _replace_one(dice, document)
    return json.dumps(document).encode("utf-8", "surrogatepass")


def nested(dice: Random, data: bytes) -> bytes:
    """Return it with a great many brackets in it."""
    at, depth = dice.randrange(len(data) + 1), dice.choice((10, 1000, 200_000))
    opening, closing = dice.choice(((b"[", b"]"), (b'{"a":', b"}")))
    return data[:at] + opening * depth + closing * dice.choice((0, depth)) + data[at:]


def noise(dice: Random, data: bytes) -> bytes:
    """Return bytes of no form at all."""
    return dice.randbytes(dice.randrange(max(2, len(data))))


def recoded(dice: Random, data: bytes) -> bytes:
    """Return it in another encoding of texts, or behind a mark of one."""
    text = data.decode("latin-1")
    form = dice.choice(("utf-16", "utf-32", "utf-8-sig", "utf-7"))
    return text.encode(form, "replace")


CHANGES: tuple[Change, ...] = (
    flipped,
    flipped,
    cut,
    repeated,
    absurd,
    worded,
    worded,
    renamed,
    renamed,
    nested,
    noise,
    recoded,
)
"""What is done to bytes; some are likelier."""


def mutated(dice: Random, good: Sequence[Push]) -> Push:
    """Return one of the pushes with something wrong.

    That is its bytes, before or after they are compressed, its headers, or all of these.
    """
    push = dice.choice(good)
    kind = dice.random()
    if kind < 0.6:  # noqa: PLR2004 - shares of kinds
        push = replace(push, data=_changed(dice, push.data))
    elif kind < 0.8:  # noqa: PLR2004
        push = replace(push, data=_changed(dice, push.packed()), packing=None)
    elif kind < 0.9:  # noqa: PLR2004
        push = _with_other_headers(dice, push)
    else:
        push = _with_other_headers(dice, replace(push, data=_changed(dice, push.data)))
    return push


def _changed(dice: Random, data: bytes) -> bytes:
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        data = dice.choice(CHANGES)(dice, data)[: 4 * MAX_STRETCH]
    return data


def _with_other_headers(dice: Random, push: Push) -> Push:
    which = dice.randrange(3)
    if which == 0:
        return replace(push, content_type=dice.choice(_TYPES))
    if which == 1:
        return replace(push, encoding=dice.choice(_ENCODINGS))
    return replace(push, packing=dice.choice((None, *PACKINGS)))


def _stretch(dice: Random, data: bytes) -> tuple[int, int]:
    begin = dice.randrange(len(data) + 1)
    return begin, min(len(data), begin + dice.choice((0, 1, 2, 4, 8, 16, 64)))


def _replace_one(dice: Random, document: object) -> None:
    """Replace a value somewhere in a document."""
    value: object = dice.choice(
        (None, True, -1, 2**63, 2**64, 1e308, 0.5, "", "x" * 70_000, "\ud800", "\0", [], {}, [[]])
    )
    while isinstance(document, dict | list) and document:
        keys = list(document) if isinstance(document, dict) else range(len(document))
        key = dice.choice(list(keys))
        inner = document[key]
        if not (isinstance(inner, dict | list) and inner) or not dice.randrange(5):
            document[key] = value
            return
        document = inner
