"""The lines that a verdict shows, and every locator they mention."""

from __future__ import annotations

from collections.abc import Iterator

from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.locating import named, named_nodes, printer
from relume.models.diagnosis.order import Root, one_per_line
from relume.models.ranks.mapping import RankMap
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import TIER_ORDER, Role
from relume.verdict import Evidence, Locator, Mention

MAX_TEXT = 500
"""Characters of a line shown: enough for a whole NCCL message, not for a 10 MB line."""


def evidence_lines(
    episode: Episode, root: Root | None, proof: Hit | None, limit: int
) -> tuple[Evidence, ...]:
    """Return the proving line first, then the root, then the strongest others, at most `limit`."""
    if root is None:
        return ()
    hits = [root.hit, *one_per_line(root.contenders), *_supporting(episode, root)]
    hits.sort(key=lambda h: (h is not root.hit, _weight(h)))
    hits = [proof, *hits] if proof is not None else hits
    seen: set[tuple[str, int]] = set()
    shown: list[Evidence] = []
    for hit in hits:
        key = (hit.line.file, hit.line.line)
        if key not in seen and len(shown) < limit:
            seen.add(key)
            shown.append(_evidence(hit))
    return tuple(shown)


def mentions(episode: Episode, limit: int) -> tuple[Mention, ...]:
    """Every locator read in the lines that any rule knows, in reading order, without blame."""
    found: dict[Mention, None] = {}
    for hit in sorted(episode.all_hits(), key=episode.position):
        for where in _locators(hit, episode.ranks):
            if len(found) >= limit:
                return tuple(found)
            found.setdefault(Mention(where, hit.line.line, hit.line.file))
    return tuple(found)


def _locators(hit: Hit, ranks: RankMap) -> Iterator[Locator]:
    own = printer(hit, ranks)
    if own:
        yield own
    told = named(hit, ranks)
    if told and told != own:
        yield told
    for node in named_nodes(hit):
        if node not in {own.node, told.node}:
            yield Locator(node=node)


def _supporting(episode: Episode, root: Root) -> list[Hit]:
    """Warnings and confirmations that are no contenders but belong beside the root."""
    wanted = {Role.WARNING, Role.CONFIRMATION}
    return [h for h in episode.all_hits() if h.signature.role in wanted and h is not root.hit]


def _weight(hit: Hit) -> tuple[int, int]:
    warning = hit.signature.role is Role.WARNING
    return (int(warning), TIER_ORDER[hit.signature.tier])


def _evidence(hit: Hit) -> Evidence:
    line = hit.line
    return Evidence(
        rule=hit.signature.id,
        role=hit.signature.role.value,
        file=line.file,
        line=line.line,
        text=line.text[:MAX_TEXT],
        event_time=line.event_time,
        stream=line.stream,
    )
