"""Lines that can't be the cause: words of victims, and what a process got past."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from relume.models.diagnosis.consequences import (
    CAUSES,
    PEER_CATEGORIES,
    is_generic,
    is_system_log,
)
from relume.models.diagnosis.episode import number_of
from relume.models.diagnosis.locating import words_of
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Role, Tier
from relume.verdict import Domain

MIN_OTHERS = 3
"""So many other processes that fail alike show that this is no effect of what one said before."""


def without_words_of_victims(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out unspecific exceptions in the very words in which others say that they lost a peer.

    Of a wave of thousands, only some lines are kept of each rule, and not the same of all rules.
    """
    count = Counter(words_of(h) for h in hits if h.signature.role is Role.CASCADE)
    return [h for h in hits if not (is_generic(h) and count[words_of(h)] >= MIN_OTHERS)]


def without_outlived(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out what one process alone said before it failed as several others did by themselves.

    It had got past that: the others failed without it. An exception of a known cause is nobody's
    consequence; words of victims are, and so are unspecific ones.
    """
    shared = _failed_alike(hits)
    alone = {rule for rule, last in _by_rule(hits).items() if len(last) == 1}
    return [h for h in hits if not (h.signature.id in alone and _is_outlived(h, shared))]


def _is_outlived(hit: Hit, shared: dict[str, dict[int, Hit]]) -> bool:
    number = number_of(hit.line)
    if number is None or is_system_log(hit) or hit.signature.domain is Domain.SCHEDULER:
        return False
    for rule, last in shared.items():
        later = last.get(number)
        others = len(last) - 1
        if rule != hit.signature.id and later is not None and others >= MIN_OTHERS:
            same_file = later.line.file == hit.line.file
            if same_file and later.line.line > hit.line.line:
                return True
    return False


def _failed_alike(hits: Sequence[Hit]) -> dict[str, dict[int, Hit]]:
    known = (
        h
        for h in hits
        if h.signature.role in CAUSES
        and h.signature.tier is Tier.EXCEPTION
        and h.signature.domain is not Domain.SCHEDULER
        and h.signature.category not in PEER_CATEGORIES  # who talks to others fails with them
        and not is_generic(h)
        and not is_system_log(h)
    )
    return _by_rule(list(known))


def _by_rule(hits: Sequence[Hit]) -> dict[str, dict[int, Hit]]:
    """The last line of each rule and process."""
    found: defaultdict[str, dict[int, Hit]] = defaultdict(dict)
    for hit in hits:
        number = number_of(hit.line)
        if number is not None:
            found[hit.signature.id][number] = hit
    return dict(found)
