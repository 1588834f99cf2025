"""Is it this node? Clocks, throttle reasons and power of its GPUs against those of its peers.

All ranks of a job do the same work, so its other GPUs are the best yardstick there is. What all of
them show is no fault of one node. Power says nothing alone: GPUs that wait for a slow one draw less
than it does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from math import isfinite
from statistics import median

from relume.features.metrics.points import Answer, Window, has_bits
from relume.features.metrics.yardstick import (
    PeerSettings,
    Worse,
    Yardstick,
    measured,
    yardstick_of,
)
from relume.verdict import Health

CLOCK = "gpu_sm_clock_hertz"
THROTTLE = "gpu_throttle_reasons_bits"
POWER = "gpu_power_watts"
METRICS = frozenset({CLOCK, THROTTLE, POWER})
HARDWARE_THROTTLE = 0x08 | 0x40 | 0x80
"""Bits of NVML's clock event reasons that are a fault: HW slowdown, HW thermal, HW power brake."""
MAX_PEERS = 64
"""Nodes that a node is compared with where very many are looked at."""

Gpu = tuple[str | None, str]


def against_peers(
    window: Window,
    node: str,
    *,
    peers: Collection[str] | None = None,
    settings: PeerSettings | None = None,
) -> Answer:
    """Say whether GPUs of a node run worse than those of its peers, over the same stretch of time.

    Parameters
    ----------
    window
        Clocks, throttle reasons and power (`METRICS`) of the GPUs; others are ignored. Cut it to
        the stretch that is asked about.
    node
        Whose GPUs.
    peers
        Nodes to compare with; all others when null. Where there is none, each GPU of the node is
        compared with the other ones.
    settings
        Thresholds; the defaults when null.

    Returns
    -------
    Answer
        *unhealthy*: a GPU has a lower clock than its peers, or is throttled by hardware while they
        are not. *healthy*: its clocks, or throttle reasons, are like theirs. *unknown*: else. The
        signals are ``clock``, ``throttle`` and ``power``; the last is for people, it decides
        nothing.

    Examples
    --------
    >>> from relume.features.metrics.points import Series
    >>> clocks = {"n1": 1.98e9, "n2": 1.98e9, "n3": 1.1e9, "n4": 1.97e9}
    >>> window = {
    ...     Series(CLOCK, node, "0"): [(t, hertz) for t in range(3)]
    ...     for node, hertz in clocks.items()
    ... }
    >>> against_peers(window, "n3").health.value, against_peers(window, "n1").health.value
    ('unhealthy', 'healthy')
    """
    s = settings or PeerSettings()
    return _against(_numbers(window, s), node, peers, s)


def all_against_peers(
    window: Window, nodes: Collection[str], *, settings: PeerSettings | None = None
) -> dict[str, Answer]:
    """Return what `against_peers` says of each of `nodes`, which are all peers.

    Of more than `MAX_PEERS` nodes each is compared with so many, evenly chosen among their names:
    thousands then take a second.

    >>> from relume.features.metrics.points import Series
    >>> clocks = {f"n{k}": 1.98e9 for k in range(100)} | {"n7": 1.2e9}
    >>> window = {Series(CLOCK, n, "0"): [(t, hz) for t in range(3)] for n, hz in clocks.items()}
    >>> found = all_against_peers(window, clocks)
    >>> [node for node, answer in found.items() if answer.health is Health.UNHEALTHY]
    ['n7']
    """
    s, ordered = settings or PeerSettings(), sorted(set(nodes))
    some = min(MAX_PEERS, len(ordered))
    peers = {ordered[k * len(ordered) // some] for k in range(some)}
    by_node: dict[str, dict[str | None, dict[Gpu, float]]] = {}
    for name, of_gpus in _numbers(window, s).items():
        places = by_node.setdefault(name, {})
        for gpu, number in of_gpus.items():
            places.setdefault(gpu[0], {})[gpu] = number
    found = {}
    for node in nodes:
        near = {
            name: {gpu: x for one in {node, *peers} for gpu, x in places.get(one, {}).items()}
            for name, places in by_node.items()
        }
        found[node] = _against(near, node, peers, s)
    return found


def _numbers(window: Window, s: PeerSettings) -> dict[str, dict[Gpu, float]]:
    """What is compared of each GPU, by the name of the signal."""
    return {
        "clock": _each(window, CLOCK, median, s),
        "power": _each(window, POWER, median, s),
        "throttle": _each(window, THROTTLE, _throttled_share, s),
    }


def _against(
    numbers: Mapping[str, Mapping[Gpu, float]],
    node: str,
    peers: Collection[str] | None,
    s: PeerSettings,
) -> Answer:
    judged = {}
    for name in ("clock", "power"):
        judged[name] = _worst(
            measured(value, yardstick, Worse.LOWER, s)
            for value, yardstick in _yardsticks(numbers[name], node, peers)
        )
    judged["throttle"] = _worst(
        _throttled(share, others, s) for share, others in _split(numbers["throttle"], node, peers)
    )
    said = {name: answer.health for name, answer in judged.items()}
    deciding = (said["clock"], said["throttle"])
    health = next((x for x in (Health.UNHEALTHY, Health.HEALTHY) if x in deciding), Health.UNKNOWN)
    reason = "; ".join(f"{name}: {answer.reason}" for name, answer in judged.items())
    return Answer(health, reason, said)


def _yardsticks(
    numbers: Mapping[Gpu, float], node: str, peers: Collection[str] | None
) -> Iterator[tuple[float, Yardstick]]:
    """Yield the number of each GPU of the node with its yardstick, which is mostly one for all."""
    known: list[float] | None = None
    yardstick = yardstick_of(())
    for number, others in _split(numbers, node, peers):
        if others is not known:
            known, yardstick = others, yardstick_of(others)
        yield number, yardstick


def _throttled(share: float, others: Collection[float], s: PeerSettings) -> Answer:
    alike = sum(other >= s.throttled for other in others)
    words = f"by hardware {share:.0%} of the time, as are {alike} of {len(others)} peers"
    if share < s.throttled:
        health = Health.HEALTHY
    elif len(others) < s.min_peers:
        health = Health.UNKNOWN
    else:
        health = Health.UNHEALTHY if alike < s.throttled * len(others) else Health.HEALTHY
    return Answer(health, words.replace("%", " %"), {})


def _throttled_share(values: Collection[float]) -> float:
    """The share of the values with a hardware reason."""
    return sum(has_bits(value, HARDWARE_THROTTLE) for value in values) / len(values)


def _each(
    window: Window, metric: str, of: Callable[[list[float]], float], s: PeerSettings
) -> dict[Gpu, float]:
    """One number for each whole GPU that has enough values of a metric."""
    found: dict[Gpu, float] = {}
    for series, points in window.items():
        if series.metric == metric and series.gpu is not None and series.device is None:
            values = [value for _, value in points if isfinite(value)]
            if len(values) >= s.min_points:
                found[series.node, series.gpu] = of(values)
    return found


def _split(
    numbers: Mapping[Gpu, float], node: str, peers: Collection[str] | None
) -> Iterator[tuple[float, list[float]]]:
    """Yield the number of each GPU of the node, with those of its peers."""
    own = {gpu: number for gpu, number in numbers.items() if gpu[0] == node}
    others = [
        number
        for (other, _), number in numbers.items()
        if other != node and (peers is None or other in peers)
    ]
    for gpu, number in own.items():
        yield number, others or [x for other, x in own.items() if other != gpu]


def _worst(answers: Iterable[Answer]) -> Answer:
    """The first GPU that is unhealthy; else one that says least."""
    found = list(answers)
    for health in (Health.UNHEALTHY, Health.UNKNOWN, Health.HEALTHY):
        for answer in found:
            if answer.health is health:
                return answer
    return Answer(Health.UNKNOWN, "not measured", {})
