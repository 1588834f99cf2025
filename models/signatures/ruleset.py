"""A checked set of signatures and the flat pattern list that an engine compiles."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from relume.models.signatures.rule import Signature

_NOT_HASHED = frozenset(
    {"summary", "advice", "positive", "negative", "source", "refines", "override", "origin"}
)
"""Words for people, samples and where a rule comes from: changing them changes no verdict."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Rules that passed the loader, in the order of their files.

    Make one with `Catalogue.of`; `patterns[i]` belongs to `signatures[owners[i]]`.
    """

    signatures: tuple[Signature, ...]
    by_id: Mapping[str, Signature] = field(repr=False)
    patterns: tuple[str, ...] = field(repr=False)
    """The patterns of all signatures one after the other, as written."""
    owners: tuple[int, ...] = field(repr=False)
    """For each pattern, the position of its signature in `signatures`."""
    content_hash: str
    """SHA-256 over everything that can change a verdict; file names, order and wording don't."""

    @classmethod
    def of(cls, signatures: Iterable[Signature]) -> Catalogue:
        """Flatten the patterns and hash the content. Ids must be unique."""
        rules = tuple(signatures)
        owned = [(rule, pattern) for rule in enumerate(rules) for pattern in rule[1].patterns]
        return cls(
            signatures=rules,
            by_id={rule.id: rule for rule in rules},
            patterns=tuple(pattern for _, pattern in owned),
            owners=tuple(position for (position, _), _ in owned),
            content_hash=_content_hash(rules),
        )


def _content_hash(rules: tuple[Signature, ...]) -> str:
    digest = hashlib.sha256()
    for rule in sorted(rules, key=lambda rule: rule.id):
        for item in fields(rule):
            if item.name not in _NOT_HASHED:
                digest.update(f"{item.name}={_canonical(getattr(rule, item.name))}\n".encode())
    return digest.hexdigest()


def _canonical(value: object) -> str:
    """Spell `value` in the same way on every Python: patterns by their text, enums by value."""
    if isinstance(value, tuple):
        return repr([_canonical(item) for item in value])
    return repr(str(getattr(value, "pattern", value)))
