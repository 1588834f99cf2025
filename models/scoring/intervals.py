"""Proportions and rates with 95 % intervals (metrics sections 3 and 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import chdtri

Z = 1.96
"""Of the 95 % interval, as metrics section 3 writes it."""
TAIL = 0.025
"""What a two-sided 95 % interval leaves out at either end."""
NO_EVENT = -math.log(0.05)
"""One-sided 95 % upper bound of a count of which none was seen, about 3."""


def wilson(right: int, total: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a proportion; of nothing at all, it is 0 to 1.

    Examples
    --------
    >>> tuple(round(bound, 3) for bound in wilson(9, 10))
    (0.596, 0.982)
    """
    if total == 0:
        return 0.0, 1.0
    p, z2 = right / total, Z * Z
    centre = (p + z2 / (2 * total)) / (1 + z2 / total)
    half = Z / (1 + z2 / total) * math.sqrt(p * (1 - p) / total + z2 / (4 * total * total))
    # Rounding must not put the value itself outside of its interval.
    return max(0.0, min(p, centre - half)), min(1.0, max(p, centre + half))


def poisson(count: int) -> tuple[float, float]:
    """Return the exact 95 % interval of the mean of a Poisson count; the lower end of 0 is 0.

    Divide both by the exposure to have that of the rate.

    Examples
    --------
    >>> tuple(round(bound, 3) for bound in poisson(5))
    (1.623, 11.668)
    """
    # `chdtri` inverts the upper tail: chi2inv(q, v) = chdtri(v, 1 - q).
    low = float(chdtri(2 * count, 1 - TAIL)) / 2 if count else 0.0
    return low, float(chdtri(2 * count + 2, TAIL)) / 2


@dataclass(frozen=True, slots=True)
class Proportion:
    """`right` out of `total`. Of nothing at all there is no value, and the interval is 0 to 1.

    Examples
    --------
    >>> Proportion(9, 10).value, Proportion(9, 10).holds(0.6), Proportion(9, 10).holds(0.59)
    (0.9, False, True)
    """

    right: int
    total: int

    @property
    def value(self) -> float | None:
        """The share; null when nothing counts."""
        return self.right / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % Wilson interval."""
        return wilson(self.right, self.total)

    def holds(self, bound: float) -> bool:
        """Whether one may claim that the proportion is `bound` or more: by the lower end alone."""
        return self.interval[0] >= bound


@dataclass(frozen=True, slots=True)
class Rate:
    """`count` events in `exposure` (job-days, node-days). Without exposure there is no value.

    Examples
    --------
    >>> Rate(0, 300.0).holds(0.01), Rate(0, 200.0).holds(0.01)
    (True, False)
    """

    count: int
    exposure: float

    @property
    def value(self) -> float | None:
        """Events for each unit of exposure; null without any."""
        return self.count / self.exposure if self.exposure > 0 else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its exact 95 % interval; null without exposure."""
        if self.exposure <= 0:
            return None
        low, high = poisson(self.count)
        return low / self.exposure, high / self.exposure

    @property
    def upper(self) -> float | None:
        """What one may claim that it is below: one-sided with no event, else the interval's end."""
        interval = self.interval
        if interval is None:
            return None
        return interval[1] if self.count else NO_EVENT / self.exposure

    def holds(self, bound: float) -> bool:
        """Whether one may claim that the rate is below `bound`."""
        upper = self.upper
        return upper is not None and upper <= bound * (1 + 1e-9)
