"""The lemon score of metrics section 11: who fails more often than chance and the fleet explain.

Faults of nodes cluster: a few have most of them. So what a node is compared with is a negative
binomial of the fleet's rate, whose size is fitted on the fleet, and of the many comparisons only
those count that Benjamini and Hochberg's procedure leaves.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scipy.special import betainc, pdtrc

from relume.errors import InputError
from relume.models.lemons.evidence import HARDWARE_GRADE
from relume.verdict import Domain

PUBLIC_SIZE = 0.93
"""Negative-binomial size of counts per node in a public trace (metrics section 13.5)."""
MIN_FAULTS = 20
"""Faults of a fleet from which on its own size is fitted."""


@dataclass(frozen=True, slots=True)
class Blame:
    """What one failure says of one node.

    Attributes
    ----------
    node
        Whose.
    attempt
        The attempt that failed, as text; failures of the same attempt are one.
    domain
        Of the failure; only those in `HARDWARE_GRADE` count.
    weight
        Share of the blame, 0 to 1; the shares of a failure add up to 1.
    """

    node: str
    attempt: str
    domain: Domain
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class LemonSettings:
    """When a node counts as a lemon.

    Attributes
    ----------
    prior_faults
        The shrinkage a: with how many faults at the fleet's rate a node is credited.
    min_excess
        How many times the fleet's rate.
    false_discovery
        Share of those that are called lemons which may be none: q.
    min_attempts
        Attempts that have to have failed on it.
    """

    prior_faults: float = 1.0
    min_excess: float = 3.0
    false_discovery: float = 0.05
    min_attempts: int = 2


@dataclass(frozen=True, slots=True)
class NodeScore:
    """What is known of one node. `p_value` is how often chance alone gives so many faults."""

    node: str
    faults: float
    attempts: int
    node_days: float
    excess: float
    p_value: float
    is_lemon: bool


def score_nodes(
    blames: Iterable[Blame], node_days: Mapping[str, float], settings: LemonSettings | None = None
) -> list[NodeScore]:
    """Score every node of a fleet over one window, the most suspicious first.

    Parameters
    ----------
    blames
        Of the window.
    node_days
        Days in which each node worked for jobs in that window; nodes without any aren't scored.

    Raises
    ------
    InputError
        For blame on a node that never worked, or shares out of 0 to 1.

    Examples
    --------
    >>> days = {f"n{i}": 28.0 for i in range(200)}
    >>> blames = [Blame("n7", f"job{i}", Domain.HARDWARE) for i in range(5)]
    >>> blames += [Blame(f"n{i}", f"other{i}", Domain.HARDWARE) for i in range(20, 100)]
    >>> [
    ...     (score.node, round(score.excess, 1), score.is_lemon)
    ...     for score in score_nodes(blames, days)[:2]
    ... ]
    [('n7', 4.2, True), ('n20', 1.4, False)]
    """
    settings = settings or LemonSettings()
    days = {node: spent for node, spent in node_days.items() if spent > 0}
    faults, attempts = _counts(blames, days)
    total = math.fsum(faults.values())
    if not total:
        return [NodeScore(node, 0.0, 0, days[node], 0.0, 1.0, is_lemon=False) for node in days]
    rate = total / math.fsum(days.values())
    size = fitted_size([(faults.get(node, 0.0), rate * spent) for node, spent in days.items()])
    p_values = {
        node: chance_of(faults.get(node, 0.0), rate * spent, size) for node, spent in days.items()
    }
    kept = discoveries(p_values, settings.false_discovery)
    prior = settings.prior_faults
    scores = []
    for node, spent in days.items():
        own = faults.get(node, 0.0)
        excess = (own + prior) / (spent + prior / rate) / rate
        count = len(attempts.get(node, ()))
        is_lemon = node in kept and excess >= settings.min_excess and count >= settings.min_attempts
        scores.append(NodeScore(node, own, count, spent, excess, p_values[node], is_lemon))
    return sorted(scores, key=lambda score: (-score.excess, score.node))


def _counts(
    blames: Iterable[Blame], days: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, set[str]]]:
    faults: dict[str, float] = defaultdict(float)
    attempts: dict[str, set[str]] = defaultdict(set)
    for blame in blames:
        if not 0 <= blame.weight <= 1:
            raise InputError(f"blame of {blame.node} = {blame.weight}", expected="0 to 1")
        if blame.domain not in HARDWARE_GRADE or not blame.weight:
            continue
        if blame.node not in days:
            raise InputError(
                f"blame on {blame.node}",
                found="no node-days of it",
                expected="days of every node that jobs failed on",
            )
        faults[blame.node] += blame.weight
        attempts[blame.node].add(blame.attempt)
    return faults, attempts


def fitted_size(counts: Sequence[tuple[float, float]]) -> float:
    """Return the size of the negative binomial by moments, from (count, expected count) pairs.

    Infinite where counts scatter no more than chance; a public trace's where they are too few.

    Examples
    --------
    >>> fitted_size([(1.0, 1.0)] * 40), fitted_size([(3.0, 1.0), (0.0, 1.0)])
    (inf, 0.93)
    """
    if math.fsum(count for count, _ in counts) < MIN_FAULTS:
        return PUBLIC_SIZE
    beyond = math.fsum((count - mean) ** 2 - mean for count, mean in counts)
    squares = math.fsum(mean * mean for _, mean in counts)
    return squares / beyond if beyond > 0 else math.inf


def chance_of(count: float, mean: float, size: float) -> float:
    """Return P[X >= count] of a negative binomial, of a Poisson where `size` is infinite.

    Between whole counts it goes on smoothly, since blame may be shared.

    Examples
    --------
    >>> round(chance_of(3, 0.12, 0.93), 5), chance_of(0, 0.12, 0.93)
    (0.00132, 1.0)
    """
    if count <= 0:
        return 1.0
    if math.isinf(size):
        return float(pdtrc(count - 1, mean)) if count >= 1 else 1.0
    return float(betainc(count, size, mean / (mean + size)))


def discoveries(p_values: Mapping[str, float], share: float) -> set[str]:
    """Return whom Benjamini and Hochberg's procedure leaves, at most `share` of them false.

    Examples
    --------
    >>> sorted(discoveries({"a": 0.001, "b": 0.02, "c": 0.5, "d": 0.9}, 0.05))
    ['a', 'b']
    """
    ordered = sorted(p_values, key=lambda name: (p_values[name], name))
    last = 0
    for place, name in enumerate(ordered, start=1):
        if p_values[name] <= share * place / len(ordered):
            last = place
    return set(ordered[:last])
