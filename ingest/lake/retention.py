"""How long a lake keeps what landed: whole segments go, oldest commits first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from relume.ingest.lake.journal import Commit, read_commits, read_positions

JUDGE = "judge"
"""Position of `relume serve`: what it needs to judge running attempts again lies after it."""
STATE = "state"
"""A third one: `relume serve` keeps two states of its own (`docs/formats/state.md`), the older one
as of this commit. Then it needs no more than what comes after that."""
BORN = "born"
"""Another one: when it was first started on this lake."""


def needed_after(positions: Mapping[str, str]) -> int | None:
    """Return the commit after which a live service needs everything; null where none uses it.

    >>> needed_after({}), needed_after({"judge": "7"}), needed_after({"judge": "7", "state": "9"})
    (None, 7, 9)
    """
    told = [int(positions[name]) for name in (JUDGE, STATE) if name in positions]
    return max(told) if JUDGE in positions else None


@dataclass(frozen=True, slots=True)
class Amount:
    """Some segments of a table: how many, their rows, their bytes on disk."""

    segments: int = 0
    rows: int = 0
    bytes: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.segments + other.segments, self.rows + other.rows, self.bytes + other.bytes
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunePlan:
    """What would go.

    Attributes
    ----------
    through
        Number of the last commit that goes, 0 when none does.
    tables
        How much of each table.
    is_held_back
        Whether more is old enough, and stays because a live service still needs it.
    """

    through: int = 0
    tables: dict[str, Amount]
    is_held_back: bool = False


def plan_pruning(lake: Path, before: int) -> PrunePlan:
    """Say what of a lake was committed before `before` (UTC microseconds) and can go.

    Commits go in their order, so the first one that stays keeps all later ones, also when the
    clock was put back meanwhile.

    Raises
    ------
    LakeError
        When there is no lake, or its journal is damaged.
    """
    limit = needed_after(read_positions(lake))
    through, tables, held = 0, dict[str, Amount](), False
    for commit in read_commits(lake):
        if commit.committed_at >= before:
            break
        if limit is not None and commit.sequence > limit:
            held = held or bool(commit.segments)
            continue
        through = commit.sequence
        _add(tables, commit)
    return PrunePlan(through=through if tables else 0, tables=tables, is_held_back=held)


def _add(tables: dict[str, Amount], commit: Commit) -> None:
    for segment in commit.segments:
        amount = Amount(1, segment.rows, segment.bytes)
        tables[segment.table] = tables.get(segment.table, Amount()) + amount
