"""How unlike the healthy fleet a node's metrics are, taken together: half-space trees."""

from __future__ import annotations

import math
from collections.abc import Mapping

from river import anomaly, preprocessing

from relume.models.streaming.kept import dump, load

WINDOW = 512
"""Vectors of which each generation of trees is made."""
_REACH = 3.0
"""Standard deviations at which a metric is three quarters of the way to its edge."""


class NodeHealth:
    """Scores vectors of node metrics by how rare they are among those that it learned.

    A metric alone may look usual and yet be wrong beside the others: no power at full utilisation.
    Only vectors of nodes that are taken for healthy should be learned. Memory is that of its trees.

    Parameters
    ----------
    trees, height
        More trees give steadier scores, higher ones tell finer.
    seed
        Of the cuts of the trees.

    Examples
    --------
    >>> health = NodeHealth(seed=1)
    >>> for number in range(2000):
    ...     busy = number % 97 / 97
    ...     health.learn({"utilisation": busy, "power": 100 + 500 * busy + number % 7})
    >>> usual = health.score({"utilisation": 0.9, "power": 550.0})
    >>> health.score({"utilisation": 0.9, "power": 110.0}) > usual
    True
    """

    def __init__(self, *, trees: int = 25, height: int = 8, seed: int = 0) -> None:
        self._scaler = preprocessing.StandardScaler()
        self._trees = anomaly.HalfSpaceTrees(
            n_trees=trees, height=height, window_size=WINDOW, seed=seed
        )
        self.learned = 0

    def learn(self, vector: Mapping[str, float]) -> None:
        """Take the metrics of a healthy node; those that aren't numbers are left out."""
        known = _numbers(vector)
        self._scaler.learn_one(known)
        self._trees.learn_one(self._placed(known))
        self.learned += 1

    def score(self, vector: Mapping[str, float]) -> float | None:
        """Return how rare a vector is, from 0 to 1; null before enough was learned to say."""
        if self.learned < 2 * WINDOW:
            return None
        return float(self._trees.score_one(self._placed(_numbers(vector))))

    def save(self) -> bytes:
        """Return everything that is known, for `restore`."""
        return dump(self._scaler, self._trees, self.learned)

    def restore(self, saved: bytes) -> None:
        """Go on from what was saved.

        Raises
        ------
        InputError
            When it can't be read.
        """
        self._scaler, self._trees, self.learned = load(
            saved, preprocessing.StandardScaler, anomaly.HalfSpaceTrees, int
        )

    def _placed(self, known: dict[str, float]) -> dict[str, float]:
        """Each metric from 0 to 1, the usual ones around the middle: what the trees cut."""
        scaled = self._scaler.transform_one(known)
        return {name: 0.5 + math.atan(value / _REACH) / math.pi for name, value in scaled.items()}


def _numbers(vector: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in vector.items() if math.isfinite(value)}
