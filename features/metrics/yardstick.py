"""Is it worse than the others? A value against those of its peers, of whatever is measured.

The yardstick is their median, and a spread that outliers among them don't move.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from statistics import median
from typing import NamedTuple, TypeVar

from relume.features.metrics.points import Answer
from relume.verdict import Health

_TO_SIGMA = 1.4826
"""A median absolute deviation of normal noise times this is its standard deviation."""

Key = TypeVar("Key", bound=Hashable)


class Worse(StrEnum):
    """Which side of its peers is the bad one."""

    LOWER = "lower"
    HIGHER = "higher"


@dataclass(frozen=True, slots=True)
class PeerSettings:
    """When one is worse than its peers.

    Attributes
    ----------
    min_peers
        Fewer than these tell nothing.
    effect
        Share of the peers' median that a value must be worse by, however alike they are.
    spreads
        And how many of their standard deviations (by median absolute deviation).
    throttled
        Share of the time that a hardware throttle reason must stand; and the share of the peers
        that must not have one, else it isn't this node.
    min_points
        Values that a series needs.
    """

    min_peers: int = 3
    effect: float = 0.05
    spreads: float = 6.0
    throttled: float = 0.5
    min_points: int = 3


class Yardstick(NamedTuple):
    """What peers are like: how many, their median, and a spread that outliers don't move."""

    peers: int
    middle: float
    spread: float


def yardstick_of(peers: Iterable[float]) -> Yardstick:
    """Return what values are like; those that are no number don't count.

    >>> yardstick_of([1.0, 2.0, 3.0, float("nan")]).middle
    2.0
    """
    values = [value for value in peers if isfinite(value)]
    if not values:
        return Yardstick(0, 0.0, 0.0)
    middle = median(values)
    return Yardstick(len(values), middle, _TO_SIGMA * median(abs(x - middle) for x in values))


def compare(
    value: float,
    peers: Iterable[float],
    *,
    worse: Worse = Worse.LOWER,
    settings: PeerSettings | None = None,
) -> Answer:
    """Say whether a value is worse than those of its peers, which don't include it.

    Values that are no number don't count.

    Examples
    --------
    >>> compare(1.2, [1.98, 1.97, 1.98, 1.96]).health.value
    'unhealthy'
    >>> compare(1.95, [1.98, 1.97, 1.98, 1.96]).health.value
    'healthy'
    >>> compare(1.2, [1.98]).reason
    'too few peers: 1 of at least 3'
    """
    return measured(value, yardstick_of(peers), worse, settings or PeerSettings())


def outliers(
    values: Mapping[Key, float],
    *,
    worse: Worse = Worse.LOWER,
    settings: PeerSettings | None = None,
) -> dict[Key, Answer]:
    """Return what each value is against all of them, as `compare` says it.

    The yardstick is one for all, so that thousands take no longer than sorting them; a value that
    is part of it moves it little.

    >>> found = outliers({"a": 1.0, "b": 1.01, "c": 0.99, "d": 1.0, "e": 0.6})
    >>> [key for key, answer in found.items() if answer.health is Health.UNHEALTHY]
    ['e']
    """
    s = settings or PeerSettings()
    count, middle, spread = yardstick_of(values.values())
    yardstick = Yardstick(count - 1, middle, spread)
    return {key: measured(value, yardstick, worse, s) for key, value in values.items()}


def measured(value: float, yardstick: Yardstick, worse: Worse, s: PeerSettings) -> Answer:
    """Say whether a value is worse than a yardstick, as `compare` does.

    >>> measured(1.0, yardstick_of([2.0] * 4), Worse.LOWER, PeerSettings()).health.value
    'unhealthy'
    """
    count, middle, spread = yardstick
    if not isfinite(value):
        return Answer(Health.UNKNOWN, "no value", {})
    if count < s.min_peers:
        return Answer(Health.UNKNOWN, f"too few peers: {count} of at least {s.min_peers}", {})
    distance = middle - value if worse is Worse.LOWER else value - middle
    is_worse = distance > max(s.effect * abs(middle), s.spreads * spread)
    health = Health.UNHEALTHY if is_worse else Health.HEALTHY
    return Answer(health, f"{value:.4g} against {middle:.4g} of {count} peers", {})
