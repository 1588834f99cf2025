"""Which combinations of settings are tried: round by round, from the best one so far. Pure.

A round changes one setting, or two of which one makes alarms sooner and the other later: neither of
them may be worth it alone. Two that pull the same way are found one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from math import prod
from typing import NamedTuple, TypeAlias

from relume.models.tuning.choice import Tally, Trial, best

MAX_ROUNDS = 4
Point: TypeAlias = tuple[float, ...]
"""A value of each setting, in the order of the knobs."""


class Knob(NamedTuple):
    """A setting that is tried, at which values, and whether a larger one alarms sooner."""

    name: str
    values: tuple[float, ...]
    larger_is_sooner: bool

    def sooner(self, was: float) -> list[float]:
        """Return the values that alarm sooner than `was`.

        >>> Knob("hang.actionable_seconds", (60.0, 90.0, 180.0), larger_is_sooner=False).sooner(90)
        [60.0]
        """
        return [value for value in self.values if self.is_sooner(value, was)]

    def later(self, was: float) -> list[float]:
        """Return the values that alarm later than `was`."""
        return [value for value in self.values if self.is_sooner(was, value)]

    def is_sooner(self, value: float, was: float) -> bool:
        """Whether a value alarms sooner than another one."""
        return value > was if self.larger_is_sooner else value < was


def most_trials(knobs: Sequence[Knob]) -> int:
    """Return how many combinations there are: each is tried at most once."""
    return prod(len(knob.values) for knob in knobs) + 1


def around(point: Point, knobs: Sequence[Knob]) -> Iterator[Point]:
    """Yield what a round tries from a point: simple changes before those of two settings.

    Examples
    --------
    >>> knobs = (Knob("a", (1.0, 2.0, 3.0), True), Knob("b", (5.0, 9.0), True))
    >>> list(around((2.0, 9.0), knobs))
    [(1.0, 9.0), (3.0, 9.0), (2.0, 5.0), (3.0, 5.0)]
    """
    for place, knob in enumerate(knobs):
        for value in knob.values:
            if value != point[place]:
                yield _replaced(point, {place: value})
    for one, other in permutations(range(len(knobs)), 2):
        for sooner in knobs[one].sooner(point[one]):
            for later in knobs[other].later(point[other]):
                yield _replaced(point, {one: sooner, other: later})


def search(
    knobs: Sequence[Knob], present: Point, evaluate: Callable[[Point], Tally], budget: float
) -> tuple[Trial, Trial]:
    """Return the present settings and the best found, which may be these, with what they did.

    Parameters
    ----------
    evaluate
        Says what settings do; asked once for each, and only where the present ones show anything of
        the kind: else nothing tells one value from another.
    budget
        False alarms a job-day; see `best`.
    """
    first = chosen = Trial(present, evaluate(present), is_present=True)
    if not (first.tally.false_alarms or first.tally.found or first.tally.missed):
        return first, first
    trials = {present: first}
    for _ in range(MAX_ROUNDS):
        for point in around(chosen.values, knobs):
            if point not in trials:
                trials[point] = Trial(point, evaluate(point), _is_eager(point, present, knobs))
        before, chosen = chosen, best(list(trials.values()), budget)
        if chosen is before:
            break
    return first, chosen


def _is_eager(point: Point, present: Point, knobs: Sequence[Knob]) -> bool:
    """Whether any setting alarms sooner than it does now."""
    return any(knob.is_sooner(*both) for knob, *both in zip(knobs, point, present, strict=True))


def _replaced(point: Point, values: dict[int, float]) -> Point:
    return tuple(values.get(place, value) for place, value in enumerate(point))
