"""The lines that a reason cites."""

from __future__ import annotations

from collections.abc import Iterable

from relume.models.signatures.hit import Hit
from relume.reasons import MAX_LINES, Cited


def cited(hits: Iterable[Hit]) -> tuple[Cited, ...]:
    """Cite the first line of each rule, at most `MAX_LINES`."""
    return ruled_out((hit, None) for hit in hits)


def ruled_out(pairs: Iterable[tuple[Hit, Hit | None]]) -> tuple[Cited, ...]:
    """Cite the first line of each rule with the line that explains it, at most `MAX_LINES`."""
    first: dict[tuple[str, str | None], tuple[Hit, Hit | None]] = {}
    for hit, by in pairs:
        key = hit.signature.id, None if by is None else by.signature.id
        held = first.get(key)
        if held is None or _place(hit) < _place(held[0]):
            first[key] = hit, by
    ordered = sorted(first.values(), key=lambda pair: _place(pair[0]))
    return tuple(_cited(hit, by) for hit, by in ordered[:MAX_LINES])


def _cited(hit: Hit, by: Hit | None) -> Cited:
    explained = None if by is None else _cited(by, None)
    return Cited(hit.signature.id, hit.line.file, hit.line.line, explained)


def _place(hit: Hit) -> tuple[str, int]:
    return hit.line.file, hit.line.line
