"""Latencies of what was found, and of what was not: percentiles and Kaplan-Meier (metrics 5)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """How a latency is spread. Seconds; all null when there is none.

    Attributes
    ----------
    n
        How many were found with both times known.
    missed
        How many were not found: they stand beside every percentile, which are of those found.
    median_with_missed
        Kaplan-Meier median, in which a miss is one that would have taken longer than it lasted;
        null when half of all were not found within the time that they can be compared in.
    """

    n: int
    missed: int
    p50: float | None
    p90: float | None
    p99: float | None
    mean: float | None
    largest: float | None
    median_with_missed: float | None


def spread(
    found: Sequence[float], *, censored: Sequence[float] = (), missed: int | None = None
) -> Spread:
    """Return the spread of the latencies `found`.

    Parameters
    ----------
    found
        Seconds, one for each that was found.
    censored
        Seconds up to the end of each that was missed.
    missed
        How many were missed, when for some of them it isn't known how long they lasted.
    """
    ordered = sorted(found)
    return Spread(
        n=len(ordered),
        missed=len(censored) if missed is None else missed,
        p50=percentile(ordered, 0.5),
        p90=percentile(ordered, 0.9),
        p99=percentile(ordered, 0.99),
        mean=math.fsum(ordered) / len(ordered) if ordered else None,
        largest=ordered[-1] if ordered else None,
        median_with_missed=kaplan_meier_median(ordered, censored),
    )


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest of the `ordered` values that at least `share` of them don't exceed.

    It is always one that was measured: between two latencies of a small sample lies nothing.

    Examples
    --------
    >>> percentile([1.0, 2.0, 3.0, 40.0], 0.5), percentile([1.0, 2.0, 3.0, 40.0], 0.9)
    (2.0, 40.0)
    """
    if not ordered:
        return None
    # 0.9 * 10 must be the ninth of ten, whatever its last bit says.
    return ordered[max(math.ceil(share * len(ordered) - 1e-9), 1) - 1]


def kaplan_meier_median(events: Sequence[float], censored: Sequence[float]) -> float | None:
    """Return the first time at which the survival curve is at one half or below.

    `events` are the times at which something was found, `censored` those up to which the rest was
    not. Who is censored at the time of an event was still at risk. Null when the curve never gets
    there: then more than half might have taken for ever.

    Examples
    --------
    >>> kaplan_meier_median([10.0, 20.0, 30.0], [])
    20.0
    >>> kaplan_meier_median([10.0], [50.0, 60.0]) is None
    True
    """
    found = Counter(events)
    leaving = found + Counter(censored)
    at_risk, surviving = leaving.total(), 1.0
    for time in sorted(leaving):
        surviving *= 1 - found[time] / at_risk
        if found[time] and surviving <= 0.5 + 1e-12:
            return time
        at_risk -= leaving[time]
    return None
