"""One digest for equal objects, whatever process made them and however they share their parts."""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final

import numpy as np

_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))


def digest_of(value: object, known: Mapping[int, str] = MappingProxyType({})) -> str:
    """Return a SHA-256 in hex of everything that an object holds.

    Sets count without their order, dicts with it. Of what `known` names by its `id` only the name
    counts.

    Raises
    ------
    TypeError
        For an object that says nothing of what it holds, such as an open file.

    Examples
    --------
    >>> digest_of([{"a", "b"}, 1.0]) == digest_of([{"b", "a"}, 1.0])
    True
    >>> digest_of([1]) == digest_of((1,)), digest_of(1) == digest_of(1.0)
    (False, False)
    """
    return _Digester(known).of(value).hex()


class _Digester:
    def __init__(self, known: Mapping[int, str]) -> None:
        self._known = known
        self._seen: dict[int, bytes] = {}
        self._alive: list[object] = []

    def of(self, value: object) -> bytes:
        """Return the digest of a value; one that holds itself counts as its place there."""
        if isinstance(value, _PLAIN) and type(value) in _PLAIN:
            return _hashed(type(value).__name__, repr(value).encode("utf-8", "surrogatepass"))
        number = id(value)
        if number in self._known:
            return _hashed("known", self._known[number].encode())
        found = self._seen.get(number)
        if found is None:
            self._alive.append(value)  # else its id may be given to another
            self._seen[number] = b"again"
            found = self._seen[number] = self._of_parts(value)
        return found

    def _of_parts(self, value: object) -> bytes:
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        if isinstance(value, type):
            return _hashed("class", f"{value.__module__}.{value.__qualname__}".encode())
        if isinstance(value, np.ndarray | np.generic):
            return _hashed(name, repr((value.dtype.descr, value.shape)).encode(), value.tobytes())
        if isinstance(value, set | frozenset) and type(value) in {set, frozenset}:
            return _hashed(name, *sorted(map(self.of, value)))
        if isinstance(value, list | tuple) and type(value) in {list, tuple}:
            return _hashed(name, *map(self.of, value))
        if isinstance(value, dict) and type(value) is dict:
            return _hashed(name, *(self.of(part) for item in value.items() for part in item))
        return self._of_object(name, value)

    def _of_object(self, name: str, value: object) -> bytes:
        reduce = copyreg.dispatch_table.get(type(value))
        made = value.__reduce_ex__(4) if reduce is None else reduce(value)
        if isinstance(made, str):
            return _hashed("global", made.encode())
        parts: list[Any] = [*made, None, None, None][:5]  # what makes it, of what, its state, ...
        items, pairs = list(parts[3] or ()), [list(pair) for pair in parts[4] or ()]
        return _hashed(name, *map(self.of, (parts[1], parts[2], items, pairs)))


def _hashed(kind: str, *parts: bytes) -> bytes:
    digest = sha256(kind.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
