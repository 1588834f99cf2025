"""What metrics say of the nodes of a slow job, each against the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from relume.features.metrics.edges import LINK_COUNTERS
from relume.features.metrics.peers import THROTTLE, all_against_peers
from relume.features.metrics.points import has_bits
from relume.features.metrics.yardstick import Worse, outliers
from relume.models.straggler.evidence import Condition
from relume.verdict import Health

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from relume.features.metrics.points import Points, Window

LEAST_ERRORS: Final = 0.1
"""Errors a second below which links are healthy: all have some now and then."""
_THERMAL, _POWER = 0x40, 0x80
"""Bits of NVML's clock event reasons: HW thermal slowdown, HW power brake."""
_MOST: Final = 0.5


def conditions_of(window: Window, nodes: Collection[str]) -> dict[str, Condition]:
    """Return the condition of each node over a stretch of time in which its job was slow.

    Those of which nothing is measured are left out.

    Parameters
    ----------
    window
        What was measured; counters stand in it as rates.
    nodes
        Those of the job.

    Examples
    --------
    >>> from relume.features.metrics.points import Series
    >>> errors = Series("nic_symbol_errors_count_total", "n2", device="mlx5_0")
    >>> window = {errors: [(0, 40.0), (15, 55.0)]} | {
    ...     errors._replace(node=node): [(0, 0.0), (15, 0.0)] for node in ("n1", "n3", "n4", "n5")
    ... }
    >>> found = conditions_of(window, ("n1", "n2", "n3", "n4", "n5"))
    >>> found["n2"].health.value, found["n2"].cause, found["n1"].health.value
    ('unhealthy', 'network', 'healthy')
    """
    links, throttles = _links(window, nodes), _throttles(window)
    found = {}
    for node, of_gpus in all_against_peers(window, nodes).items():
        if of_gpus.health is Health.UNHEALTHY:
            cause = _reason(throttles.get(node, ()))
            found[node] = Condition(Health.UNHEALTHY, cause, of_gpus.reason)
            continue
        link = links.get(node)
        if link is not None and link.health is Health.UNHEALTHY:
            found[node] = link
        elif Health.HEALTHY in {of_gpus.health, link.health if link else None}:
            found[node] = Condition(Health.HEALTHY, reason=of_gpus.reason)
    return found


def _links(window: Window, nodes: Collection[str]) -> dict[str, Condition]:
    rates: dict[str, float] = {}
    for series, points in window.items():
        node = series.node
        if node is not None and node in nodes and series.metric in LINK_COUNTERS and points:
            mean = sum(value for _, value in points) / len(points)
            rates[node] = max(rates.get(node, 0.0), mean)
    return {
        node: Condition(
            answer.health if rates[node] >= LEAST_ERRORS else Health.HEALTHY,
            "network",
            f"errors of links a second: {answer.reason}",
        )
        for node, answer in outliers(rates, worse=Worse.HIGHER).items()
        if answer.health is not Health.UNKNOWN
    }


def _throttles(window: Window) -> dict[str | None, list[Points]]:
    """The throttle reasons of the GPUs of each node."""
    found: dict[str | None, list[Points]] = {}
    for series, points in window.items():
        if series.metric == THROTTLE and points:
            found.setdefault(series.node, []).append(points)
    return found


def _reason(throttles: Iterable[Points]) -> str:
    """Return what holds the clocks of a node down: `thermal`, `power`, or that nothing says."""
    known = list(throttles)
    for cause, bit in (("thermal", _THERMAL), ("power", _POWER)):
        for points in known:
            stands = sum(has_bits(value, bit) for _, value in points)
            if stands >= _MOST * len(points):
                return cause
    return "clocks"
