"""Learns from outcomes and labels which alarms were right: online logistic regression."""

from __future__ import annotations

import math
from collections.abc import Mapping

from river import linear_model, optim, preprocessing

from relume.models.streaming.kept import dump, load

ENOUGH = 30
"""Labelled alarms before it says anything; of both kinds there must be some."""


class AlarmJudge:
    """Estimates how likely an alarm is right, from what is known when it is raised.

    It never silences an alarm by itself: the estimate stands beside it. Memory is that of one
    weight a feature.

    Examples
    --------
    >>> judge = AlarmJudge()
    >>> for number in range(200):
    ...     ratio = 1.0 + number % 5
    ...     judge.learn({"gap_ratio": ratio, "second_signal": ratio > 3}, was_right=ratio > 3)
    >>> judge.probability({"gap_ratio": 5.0, "second_signal": 1.0}) > 0.8
    True
    """

    def __init__(self) -> None:
        self._scaler = preprocessing.StandardScaler()
        self._model = linear_model.LogisticRegression(optim.SGD(0.1), l2=1e-4)
        self.right = self.wrong = 0

    def learn(self, features: Mapping[str, float], *, was_right: bool) -> None:
        """Take an alarm and whether it was right."""
        known = _numbers(features)
        self._scaler.learn_one(known)
        self._model.learn_one(self._scaler.transform_one(known), was_right)
        if was_right:
            self.right += 1
        else:
            self.wrong += 1

    def probability(self, features: Mapping[str, float]) -> float | None:
        """Return how likely an alarm is right (0-1); null before enough was learned to say."""
        if self.right + self.wrong < ENOUGH or not self.right or not self.wrong:
            return None
        scaled = self._scaler.transform_one(_numbers(features))
        return float(self._model.predict_proba_one(scaled).get(True, 0.0))

    def save(self) -> bytes:
        """Return everything that is known, for `restore`."""
        return dump(self._scaler, self._model, self.right, self.wrong)

    def restore(self, saved: bytes) -> None:
        """Go on from what was saved.

        Raises
        ------
        InputError
            When it can't be read.
        """
        self._scaler, self._model, self.right, self.wrong = load(
            saved, preprocessing.StandardScaler, linear_model.LogisticRegression, int, int
        )


def _numbers(features: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in features.items() if math.isfinite(value)}
