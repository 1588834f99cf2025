"""How sure a stream of step times is that it is slow, and when that changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
    """How sure it is."""

    NONE = 0
    SUSPICION = 1
    """The fast mode says so: observe."""
    ACTIONABLE = 2
    """The guaranteed mode says so, within the budget of false alarms."""


@dataclass(frozen=True, slots=True)
class Change:
    """A level that a stream reached, or (`Level.NONE`) a slowdown that is over.

    Attributes
    ----------
    place
        Index among the values of this call that showed it.
    back
        How many readings before that one the slowdown began, by the best estimate.
    usual, ratio
        What a step took before, and how many times as long it takes since; both 0 when it is over.
    """

    place: int
    level: Level
    back: int = 0
    usual: float = 0.0
    ratio: float = 0.0
