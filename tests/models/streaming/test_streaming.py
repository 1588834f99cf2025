"""Streaming models: what they learn, what they say before they know, and what they are made of."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from relume.errors import InputError
from relume.models.streaming.alarms import ENOUGH, AlarmJudge
from relume.models.streaming.health import WINDOW, NodeHealth
from relume.models.streaming.stale import StaleCalibration


def vectors(count: int, seed: int = 0) -> list[dict[str, float]]:
    """Nodes whose power follows their utilisation."""
    rng = np.random.default_rng(seed)
    return [
        {"utilisation": load, "power": 100 + 500 * load + noise, "clock": 1400 + 5 * noise}
        for load, noise in zip(rng.random(count), rng.normal(0, 5, count), strict=True)
    ]


@pytest.fixture(scope="module")
def health() -> NodeHealth:
    model = NodeHealth(seed=3)
    for vector in vectors(4000):
        model.learn(vector)
    return model


def test_power_that_is_missing_at_full_utilisation_is_rare(health: NodeHealth) -> None:
    scores = [health.score(vector) or 0.0 for vector in vectors(300, seed=1)]
    strange = health.score({"utilisation": 0.98, "power": 110.0, "clock": 1400.0})
    assert strange is not None
    assert strange > np.quantile(scores, 0.95)


def test_a_metric_that_is_missing_or_no_number_is_left_out(health: NodeHealth) -> None:
    assert health.score({"utilisation": 0.5}) is not None
    assert health.score({"utilisation": 0.5, "power": float("nan")}) == health.score(
        {"utilisation": 0.5}
    )


def test_health_says_nothing_before_it_learned_enough() -> None:
    model = NodeHealth()
    for vector in vectors(2 * WINDOW - 1):
        model.learn(vector)
    assert model.score(vectors(1)[0]) is None


def test_restored_health_goes_on(health: NodeHealth) -> None:
    model = NodeHealth()
    model.restore(health.save())
    for vector in vectors(600, seed=5):
        assert model.score(vector) == health.score(vector)
        model.learn(vector)
        health.learn(vector)


def test_alarms_that_were_right_raise_the_estimate_of_their_like() -> None:
    judge, rng = AlarmJudge(), np.random.default_rng(1)
    for ratio in rng.uniform(1, 5, 400):
        judge.learn({"gap_ratio": ratio, "steps": rng.uniform(0, 9)}, was_right=bool(ratio > 3))
    low, high = (judge.probability({"gap_ratio": one, "steps": 4.0}) for one in (1.5, 4.5))
    assert low is not None
    assert high is not None
    assert low < 0.2
    assert high > 0.8
    other = AlarmJudge()
    other.restore(judge.save())
    assert other.probability({"gap_ratio": 2.5}) == judge.probability({"gap_ratio": 2.5})


def test_no_estimate_is_made_from_one_kind_of_outcome() -> None:
    judge = AlarmJudge()
    for _ in range(ENOUGH):
        judge.learn({"gap_ratio": 2.0}, was_right=True)
    assert judge.probability({"gap_ratio": 2.0}) is None
    judge.learn({"gap_ratio": 1.0}, was_right=False)
    assert judge.probability({"gap_ratio": 2.0}) is not None


def test_a_calibration_is_stale_when_the_usual_moved() -> None:
    rng = np.random.default_rng(1)
    stale = StaleCalibration(5.0)
    for value in rng.normal(5.0, 0.1, 5000):
        stale.take(value)
    assert not stale.is_stale
    for value in rng.normal(5.5, 0.1, 1000):
        stale.take(value)
    assert stale.is_stale
    assert stale.ratio == pytest.approx(1.1, rel=0.02)


class Hostile:
    """A pickle that would run a program."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("true",)


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        (pickle.dumps(Hostile()), "system"),
        (pickle.dumps(("a", "b")), "str str"),
        (pickle.dumps(7), "int"),
        (b"", "EOFError"),
        (b"\x80\x04garbage", "can't be restored"),
    ],
)
def test_what_is_no_model_of_ours_is_refused(saved: bytes, said: str) -> None:
    for model in (NodeHealth(), AlarmJudge(), StaleCalibration(5.0)):
        with pytest.raises(InputError, match=said):
            model.restore(saved)
