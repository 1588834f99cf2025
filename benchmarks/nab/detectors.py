"""Detectors of any series, all with the settings that they come with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from river import anomaly, drift, preprocessing

from relume.models.baselines.baselines import Baselines
from relume.models.baselines.series import BaselineSettings

Detect = Callable[[NDArray[np.float64]], list[int]]
SECOND = 1_000_000
SETTINGS = BaselineSettings(calibrate_again=True)
"""A level that stays becomes the usual one: these series aren't times of steps."""
_SIGMAS = 4.0
_RARE = 0.999


def fast(values: NDArray[np.float64]) -> list[int]:
    """Our baselines, looking for more and for less."""
    baselines = Baselines(SETTINGS)
    baselines.watch(0, worse=1)
    baselines.watch(1, worse=-1)
    times = np.arange(len(values)) * SECOND
    found: set[int] = set()
    for number in (0, 1):
        alarms = baselines.update(np.full(len(values), number), times, values)
        found.update(int(time) // SECOND for time in alarms.times)
    return sorted(found)


def four_sigmas(values: NDArray[np.float64]) -> list[int]:
    """Further from the running mean than four running standard deviations: the naive peer."""
    found, mean, variance = [], float(values[0]), 0.0
    for place, value in enumerate(values.tolist()):
        if place > 100 and abs(value - mean) > _SIGMAS * variance**0.5:  # noqa: PLR2004
            found.append(place)
        away = value - mean
        mean += 0.01 * away
        variance = 0.99 * (variance + 0.01 * away * away)
    return found


def adwin(values: NDArray[np.float64]) -> list[int]:
    """ADWIN of river."""
    detector = drift.ADWIN()
    return [n for n, value in enumerate(values.tolist()) if _drifts(detector, value)]


def page_hinkley(values: NDArray[np.float64]) -> list[int]:
    """Page-Hinkley of river, on standardised samples: its thresholds are absolute."""
    detector, scaler = drift.PageHinkley(), preprocessing.StandardScaler()
    found = []
    for place, value in enumerate(values.tolist()):
        scaler.learn_one({"x": value})
        if _drifts(detector, scaler.transform_one({"x": value})["x"]):
            found.append(place)
    return found


def half_space_trees(values: NDArray[np.float64]) -> list[int]:
    """Half-space trees of river, one in a thousand scores being rare enough."""
    scaler = preprocessing.MinMaxScaler()
    trees = anomaly.HalfSpaceTrees(seed=0)
    rare = anomaly.QuantileFilter(trees, q=_RARE)
    found = []
    for place, value in enumerate(values.tolist()):
        scaler.learn_one({"x": value})
        sample = scaler.transform_one({"x": value})
        score = rare.score_one(sample)
        if place > 2 * trees.window_size and rare.classify(score):
            found.append(place)
        rare.learn_one(sample)
    return found


def _drifts(detector: drift.ADWIN | drift.PageHinkley, value: float) -> bool:
    detector.update(value)  # type: ignore[no-untyped-call]
    return bool(detector.drift_detected)


DETECTORS: dict[str, Detect] = {
    "fast": fast,
    "four_sigmas": four_sigmas,
    "river_adwin": adwin,
    "river_page_hinkley": page_hinkley,
    "river_half_space_trees": half_space_trees,
}
