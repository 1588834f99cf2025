"""torchelastic's failure reports: who failed first, by the launcher's own books.

Two forms are read: the agent's line ``failed (exitcode: -9) local_rank: 4 (pid: …)`` and the
ChildFailedError block, whose *Root Cause (first observed failure)* part names host, rank and exit
code. "First observed" is the agent's order of noticing, a pointer and not a proof.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.models.diagnosis.episode import Episode
from relume.models.signatures.hit import Hit
from relume.models.signatures.rule import Tier

BLOCK_RULES = frozenset(
    {
        "elastic_block_host",
        "elastic_block_rank",
        "elastic_block_time",
        "elastic_block_exitcode",
        "elastic_block_error",
        "elastic_block_traceback",
    }
)
"""Rules of the lines inside a ChildFailedError block."""
ROOT_CAUSE_RULE = "elastic_root_cause"
MAX_BLOCK_LINES = 12
"""A report of one process spans fewer lines; a larger gap begins another report."""


@dataclass(slots=True)
class Failure:
    """One reported process failure; null where the report doesn't say."""

    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    exit_code: int | None = None
    hit: Hit | None = None
    is_root_cause: bool = False
    is_block: bool = False
    last_line: int = -1


def first_failure(episode: Episode) -> Failure | None:
    """Return the failure that the launcher saw first, null when no report is there.

    A block's *Root Cause* part wins; else the first agent line or report in reading order.
    """
    failures = failures_of(sorted(episode.all_hits(), key=episode.position))
    marked = [f for f in failures if f.is_root_cause]
    chosen = (marked or failures)[:1]
    return chosen[0] if chosen and chosen[0].hit is not None else None


def failures_of(hits: Iterable[Hit]) -> list[Failure]:
    """Return what the launcher reports of its processes; `hits` in reading order."""
    failures: list[Failure] = []
    after_mark: int | None = None
    for hit in hits:
        signature = hit.signature
        if signature.category != "rendezvous" or signature.tier is not Tier.POINTER:
            continue
        if signature.id == ROOT_CAUSE_RULE:
            after_mark = hit.line.line
            continue
        if not failures or _begins_another(failures[-1], hit, after_mark):
            is_root = after_mark is not None and hit.line.line - after_mark < MAX_BLOCK_LINES
            failures.append(Failure(is_root_cause=is_root))
            after_mark = None
        _add(failures[-1], hit)
    return failures


def _begins_another(failure: Failure, hit: Hit, after_mark: int | None) -> bool:
    if after_mark is not None or hit.signature.id not in BLOCK_RULES or not failure.is_block:
        return True
    if hit.line.line - failure.last_line > MAX_BLOCK_LINES:
        return True
    captures = hit.captures
    return (failure.rank is not None and "rank" in captures) or (
        failure.node is not None and "node" in captures
    )


def _add(failure: Failure, hit: Hit) -> None:
    captures = hit.captures
    failure.last_line = hit.line.line
    failure.is_block = hit.signature.id in BLOCK_RULES
    failure.node = failure.node or captures.get("node")
    failure.rank = _kept(failure.rank, captures.get("rank"))
    failure.local_rank = _kept(failure.local_rank, captures.get("local_rank"))
    failure.exit_code = _kept(failure.exit_code, captures.get("exit_code"))
    says_how = "exit_code" in captures or "signal" in captures
    if says_how or failure.hit is None:
        failure.hit = hit


def _kept(held: int | None, text: str | None) -> int | None:
    return int(text) if held is None and text is not None else held
