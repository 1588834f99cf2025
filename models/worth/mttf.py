"""How often attempts fail by what they run on, and how sure that is (metrics section 9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from relume.features.goodput.formulas import mttf_seconds
from relume.models.scoring.intervals import TAIL, Rate

DAY = 86_400_000_000
"""In microseconds."""
RESAMPLES = 1_000
MIN_DAYS = 10
"""Days that a bootstrap over days takes: fewer say nothing of how they vary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """One attempt: its nodes, when it ran (UTC microseconds), and whether it failed."""

    nodes: int
    start: int
    end: int
    failed: bool = False


@dataclass(frozen=True, slots=True)
class FailureRate:
    """Failures per node-day.

    Attributes
    ----------
    rate
        Failures over node-days, with the exact Poisson interval.
    days
        Calendar days (UTC) on which anything ran.
    dispersion
        Variance over mean of the failures a day: 1 where they come independently, more where they
        cluster. Null with fewer than two days, or without a failure.
    size
        Of the negative binomial that has that mean and variance: the smaller, the more they
        cluster. Null where they don't.
    bootstrap
        95 % interval of the rate over resampled days, which need not be independent inside; null
        with fewer than `MIN_DAYS` days.
    """

    rate: Rate
    days: int
    dispersion: float | None
    size: float | None
    bootstrap: tuple[float, float] | None

    def mttf_seconds(self, nodes: int) -> tuple[float | None, float, float | None]:
        """Return the mean time to failure of a job on `nodes` nodes, and its 95 % interval.

        Value and upper end are null where no failure was seen, all three without exposure (the
        lower end is then 0). The lower end then is that of the one-sided bound.
        """
        value, interval = self.rate.value, self.rate.interval
        upper = self.rate.upper
        if value is None or interval is None or upper is None:
            return None, 0.0, None
        return (
            mttf_seconds(nodes, value) if value else None,
            mttf_seconds(nodes, upper),
            mttf_seconds(nodes, interval[0]) if interval[0] else None,
        )


def failure_rate(attempts: Iterable[Exposure], *, seed: int = 0) -> FailureRate:
    """Estimate the rate of failures from attempts.

    A failure counts on the day on which its attempt ended; node-days are those of the attempts
    that are given, so leave out what is below the size of interest.

    Examples
    --------
    >>> month = [Exposure(nodes=10, start=n * DAY, end=(n + 1) * DAY - 1) for n in range(30)]
    >>> lost = Exposure(nodes=10, start=30 * DAY, end=31 * DAY - 1, failed=True)
    >>> found = failure_rate([*month, lost])
    >>> round(1000 * found.rate.value, 1), found.days
    (3.2, 31)
    """
    node_days, failures = _by_day(attempts)
    total = float(node_days.sum())
    count = int(failures.sum())
    return FailureRate(
        rate=Rate(count, total),
        days=len(node_days),
        dispersion=_dispersion(failures),
        size=_size(failures),
        bootstrap=_bootstrap(node_days, failures, seed),
    )


def _by_day(attempts: Iterable[Exposure]) -> tuple[np.ndarray, np.ndarray]:
    """Node-days and failures of each day on which anything ran."""
    exposed: dict[int, float] = {}
    failed: dict[int, int] = {}
    for one in attempts:
        for day in range(one.start // DAY, one.end // DAY + 1):
            long = min(one.end, (day + 1) * DAY) - max(one.start, day * DAY)
            exposed[day] = exposed.get(day, 0.0) + one.nodes * long / DAY
        if one.failed:
            failed[one.end // DAY] = failed.get(one.end // DAY, 0) + 1
    days: Sequence[int] = sorted(exposed)
    return (
        np.array([exposed[day] for day in days], dtype=np.float64),
        np.array([failed.get(day, 0) for day in days], dtype=np.int64),
    )


def _dispersion(failures: np.ndarray) -> float | None:
    if len(failures) < 2 or not failures.any():  # noqa: PLR2004 - one day has no variance
        return None
    return float(failures.var(ddof=1) / failures.mean())


def _size(failures: np.ndarray) -> float | None:
    """By the moments: variance = mean + mean^2 / size."""
    dispersion = _dispersion(failures)
    if dispersion is None or dispersion <= 1:
        return None
    return float(failures.mean() / (dispersion - 1))


def _bootstrap(
    node_days: np.ndarray, failures: np.ndarray, seed: int
) -> tuple[float, float] | None:
    if len(node_days) < MIN_DAYS:
        return None
    picked = np.random.default_rng(seed).integers(0, len(node_days), (RESAMPLES, len(node_days)))
    exposed = node_days[picked].sum(axis=1)
    rates = failures[picked].sum(axis=1)[exposed > 0] / exposed[exposed > 0]
    low, high = np.quantile(rates, [TAIL, 1 - TAIL])
    return float(low), float(high)
