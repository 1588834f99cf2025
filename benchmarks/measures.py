"""Measures as results hold them: shares and rates with their 95 % intervals, quantiles."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import chdtri

from relume.models.scoring.intervals import wilson


def share(right: int, total: int) -> dict[str, float]:
    """Return a share with its Wilson interval; 0 where nothing counted.

    >>> share(0, 0)
    {'value': 0.0, 'low': 0.0, 'high': 1.0}
    """
    low, high = wilson(right, total)
    return {"value": right / total if total else 0.0, "low": low, "high": high}


def rounded_share(right: int, total: int) -> dict[str, float]:
    """Return the same in four decimals.

    >>> rounded_share(9, 10)
    {'value': 0.9, 'low': 0.5958, 'high': 0.9821}
    """
    return {name: round(value, 4) for name, value in share(right, total).items()}


def rate(count: int, exposure: float) -> dict[str, float]:
    """Return events for each unit of exposure, with the upper end of the one-sided interval.

    >>> rate(4, 1000)
    {'value': 0.004, 'low': 0.0, 'high': 0.00915}
    """
    seen = max(1.0, exposure)
    upper = float(chdtri(2 * count + 2, 0.05)) / 2 / seen
    return {"value": round(count / seen, 5), "low": 0.0, "high": round(upper, 5)}


def quantile(values: Iterable[float], part: float) -> float:
    """Return the first value that a part of all doesn't exceed, in tenths.

    >>> quantile([1.0, 2.04, float("inf")], 0.5)
    2.0
    """
    return round(float(np.quantile(list(values), part, method="higher")), 1)
