"""Node health: half-space trees on whole vectors, beside one numba baseline a metric.

All are judged alike: the threshold is what one healthy vector in two hundred exceeds, by vectors
that are neither learned from nor counted.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np
from sklearn.ensemble import IsolationForest

from relume.models.baselines.baselines import Baselines
from relume.models.streaming.health import NodeHealth

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRICS: Final = ("utilisation", "power", "clock", "temperature", "sent")
FALSE_SHARE: Final = 0.005
"""Share of healthy vectors above a threshold, by the vectors that it is made with."""
_SECOND = 1_000_000
_IDLE = 0.2
"""Share of the time in which a healthy node works little: saves, evaluations, the next batch."""

Scorer = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]


class Fault(StrEnum):
    """What is wrong with a node; each leaves every metric within what it is at some time."""

    SPINS = "spins"
    """It waits at full utilisation: hardly any power, nothing sent."""
    THROTTLED = "throttled"
    """A low clock and little power under load."""
    HOT = "hot"
    """Much warmer than its load makes it."""
    HALF_LINK = "half_link"
    """It sends half of what its load sends."""


def healthy(count: int, seed: int) -> NDArray[np.float64]:
    """Draw vectors of healthy nodes, ``(count, metrics)``: all metrics follow the load."""
    draws = np.random.default_rng((seed, count))
    load = draws.normal(0.95, 0.03, count)
    idle = draws.random(count) < _IDLE
    load[idle] = draws.uniform(0.0, 0.9, int(idle.sum()))
    return _measured(draws, np.clip(load, 0.0, 1.0))


def faulty(fault: Fault, count: int, seed: int) -> NDArray[np.float64]:
    """Draw vectors of nodes under load with one fault."""
    draws = np.random.default_rng((seed, count, list(Fault).index(fault)))
    vectors = _measured(draws, np.clip(draws.normal(0.95, 0.03, count), 0.0, 1.0))
    columns = dict(zip(METRICS, vectors.T, strict=True))
    if fault is Fault.SPINS:
        columns["power"] *= 0.3
        columns["sent"] *= 0.0
        columns["temperature"] -= 20.0
    elif fault is Fault.THROTTLED:
        columns["clock"] -= draws.uniform(60.0, 500.0, count)
        columns["power"] *= draws.uniform(0.6, 0.9, count)
    elif fault is Fault.HOT:
        columns["temperature"] += draws.uniform(10.0, 20.0, count)
    else:
        columns["sent"] *= 0.5
    return vectors


def _measured(draws: np.random.Generator, load: NDArray[np.float64]) -> NDArray[np.float64]:
    noise = draws.standard_normal((len(METRICS), len(load)))
    return np.stack(
        (
            load,
            100.0 + 550.0 * load + 12.0 * noise[1],
            1980.0 - 80.0 * load + 8.0 * noise[2],
            32.0 + 36.0 * load + 3.0 * noise[3],
            np.maximum(0.0, 200.0 * load + 12.0 * noise[4]),
        ),
        axis=1,
    )


def trees(learned: NDArray[np.float64]) -> Scorer:
    """Half-space trees."""
    model = NodeHealth(seed=1)
    for row in learned.tolist():
        model.learn(dict(zip(METRICS, row, strict=True)))

    def score(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        named = (dict(zip(METRICS, row, strict=True)) for row in vectors.tolist())
        return np.array([model.score(one) or 0.0 for one in named])

    return score


def baseline(learned: NDArray[np.float64]) -> Scorer:
    """One numba baseline a metric: the metric that is furthest from its median, in spreads."""
    baselines, rows = Baselines(), len(learned)
    ids = np.tile(np.arange(len(METRICS)), rows)
    times = np.repeat(np.arange(rows) * _SECOND, len(METRICS))
    baselines.update(ids, times, learned.ravel())
    middle, spread = (baselines.series[name].astype(float) for name in ("quantile", "spread"))

    def score(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        away = np.abs(vectors - middle) / np.maximum(spread, 1e-9)
        return np.asarray(away.max(axis=1), np.float64)

    return score


def forest(learned: NDArray[np.float64]) -> Scorer:
    """scikit-learn's isolation forest: what a batch model does with the same vectors."""
    model = IsolationForest(random_state=1).fit(learned)
    return lambda vectors: -np.asarray(model.score_samples(vectors), np.float64)


MODELS: Final[dict[str, Callable[[NDArray[np.float64]], Scorer]]] = {
    "half_space_trees": trees,
    "baselines": baseline,
    "isolation_forest": forest,
}


def table(count: int) -> dict[str, dict[str, float]]:
    """Return, for each model, its recall of each fault and its false share, of `count` vectors."""
    learned, limits, quiet = (healthy(count, seed) for seed in range(3))
    rows = {}
    for name, make in MODELS.items():
        score = make(learned)
        limit = float(np.quantile(score(limits), 1.0 - FALSE_SHARE, method="higher"))
        found = {
            str(fault): float((score(faulty(fault, count // 4, 3)) > limit).mean())
            for fault in Fault
        }
        rows[name] = {
            "recall": float(np.mean(list(found.values()))),
            **{f"recall_{fault}": share for fault, share in found.items()},
            "false_share": float((score(quiet) > limit).mean()),
        }
    return rows
