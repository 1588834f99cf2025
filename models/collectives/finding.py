"""What the dumps of an attempt come to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Pattern(StrEnum):
    """How a collective came to stand still."""

    MISMATCH = "mismatch"
    """Ranks called different collectives at one place of a group's order."""
    LEFT_BEHIND = "left_behind"
    """It is over for its other ranks, and not for some that take part in it."""
    NEVER_JOINED = "never_joined"
    """Some did not come, and wait for nobody."""
    NOT_STARTED = "not_started"
    """All came; on some its kernel never started."""
    CYCLE = "cycle"
    """Ranks wait for each other in a circle."""
    ODD_ONE_OUT = "odd_one_out"
    """One has called more or less than all others in its place."""
    LATE = "late"
    """All came, some long after the others."""
    ALL_STARTED = "all_started"
    """All came and nobody is through: nothing tells one from another."""
    NO_DUMP = "no_dump"
    """Those that others wait for left no dump."""
    GAVE_UP = "gave_up"
    """Nothing is open any more; some never came to what the others are through with."""
    MANY_ABSENT = "many_absent"
    """Most did not come: what keeps them is nobody's own."""


@dataclass(frozen=True, slots=True)
class Waited:
    """The work that stands still: the group with its description, its number, what it is.

    `waiting` are the ranks in it, `absent` those of its group that are not, as far as known.
    """

    group: str
    sequence: int
    operation: str
    waiting: tuple[int, ...] = ()
    absent: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectiveFinding:
    """What the flight recorders show.

    `culprits` are ranks, the most suspicious first; empty when nobody can be named. `suspects` are
    ranks of which it can't be told which it is. `waits` says who waits for whom from the first
    waiter to the culprit, as words. `last_time` is the last time in any dump (UTC microseconds).
    `confidence` (0-1) is that of the culprit, or of the pattern when there is none.
    """

    pattern: Pattern
    confidence: float
    culprits: tuple[int, ...] = ()
    suspects: tuple[int, ...] = ()
    work: Waited | None = None
    waits: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    dumped: int = 0
    missing: tuple[int, ...] = ()
    last_time: int | None = None
