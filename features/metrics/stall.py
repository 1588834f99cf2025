"""The second signal of a hang: whether the GPUs of a job compute, and its nodes talk.

A job whose ranks wait in a collective shows full utilisation and a power near idle: the kernel that
waits spins. So utilisation alone says nothing, and power is compared with what the same GPU usually
draws in this job. A checkpoint and an evaluation on one rank look the same: this says that nothing
moves, never why. The kind of silence is the hang detector's business.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from relume.features.metrics.points import Answer, Points, Series, Window
from relume.verdict import Health

if TYPE_CHECKING:
    from typing import TypeAlias

MICROSECONDS = 1_000_000

GPU, NIC, CPU = "gpu", "nic", "cpu"
"""The signals, as `Answer.signals` names them."""
UTILISATION = "gpu_utilisation_ratio"
POWER = "gpu_power_watts"
POWER_LIMIT = "gpu_power_limit_watts"
TENSOR = "gpu_tensor_active_ratio"
RDMA = ("nic_sent_bytes_total", "nic_received_bytes_total")
NET = ("net_sent_bytes_total", "net_received_bytes_total")
CPU_TIME = "node_cpu_seconds_total"
METRICS = frozenset({UTILISATION, POWER, POWER_LIMIT, TENSOR, *RDMA, *NET, CPU_TIME})
"""What `stalled_signal` looks at; others may be left out of its window."""

Usual: TypeAlias = Mapping[Series, float]
"""What a series is while the job advances: the mean, of counters the mean rate per second."""


@dataclass(frozen=True, slots=True)
class StallSettings:
    """When a value means standing still.

    Attributes
    ----------
    min_points
        Values after the last progress that a series needs. The first may tell of the time before
        it, so it doesn't count where there are more.
    fresh_seconds
        How old the newest value may be.
    idle_power, moving_power
        Power as a share of what the GPU usually draws in this job: at most the first is standing
        still, at least the second is computing.
    idle_limit
        Power as a share of the GPU's limit that is standing still under full utilisation, where it
        isn't known what is usual.
    busy, idle
        Utilisation (0-1) that is full, and that is none.
    idle_tensor, moving_tensor
        Activity of the tensor cores as a share of the usual one, where there is no power.
    idle_traffic, moving_traffic
        Bytes over all NICs as a share of the usual ones.
    least_traffic
        Usual bytes per second below which traffic tells nothing: a job on one node.
    flat_cpu
        CPU time of the nodes as a share of the usual one that is standing still. More than that
        means nothing: waiting ranks spin.
    agreeing, moving
        Share of the GPUs with an answer that must stand still, or compute, for all of them to. In
        a hang the GPU to blame may compute on.
    """

    min_points: int = 2
    fresh_seconds: float = 120.0
    idle_power: float = 0.5
    moving_power: float = 0.8
    idle_limit: float = 0.25
    busy: float = 0.9
    idle: float = 0.05
    idle_tensor: float = 0.1
    moving_tensor: float = 0.5
    idle_traffic: float = 0.02
    moving_traffic: float = 0.2
    least_traffic: float = 100_000.0
    flat_cpu: float = 0.1
    agreeing: float = 0.8
    moving: float = 0.5


def stalled_signal(
    window: Window,
    usual: Usual,
    *,
    since: int,
    now: int,
    settings: StallSettings | None = None,
) -> Answer:
    """Say whether the metrics of a job's nodes agree that it stands still.

    Parameters
    ----------
    window
        What was measured, counters as rates. Points up to `since` and after `now` don't count, NaN
        neither. Nodes of other jobs don't belong in it.
    usual
        What is usual while this job advances; empty where nothing is known.
    since, now
        The last progress, and the time of the question. UTC microseconds.
    settings
        Thresholds; the defaults when null.

    Returns
    -------
    Answer
        *unhealthy*: GPUs stand still, and no traffic contradicts; or, where GPUs say nothing,
        traffic and CPU time have both stopped. *healthy*: GPUs compute, or where they say nothing,
        traffic goes on. *unknown*: too little was measured, or GPUs stand still while traffic goes
        on.

    Examples
    --------
    >>> second = 1_000_000
    >>> power = Series("gpu_power_watts", "n1", "0")
    >>> window = {power: [(10 * second, 101.0), (20 * second, 99.0)]}
    >>> answer = stalled_signal(window, {power: 610.0}, since=0, now=25 * second)
    >>> answer.health.value, answer.reason
    ('unhealthy', '1 of 1 GPUs stand still, at 16 % of their usual power')
    """
    s = settings or StallSettings()
    levels = _levels(window, since, now, s)
    if not levels:
        return Answer(Health.UNKNOWN, _nothing(window, since, now, s), {})
    judged = {
        GPU: _gpus(levels, usual, s),
        NIC: _traffic(levels, usual, s),
        CPU: _cpu(levels, usual, s),
    }
    said = {name: health for name, (health, words) in judged.items() if words}
    health = _combined(said)
    reason = "; ".join(words for _, words in judged.values() if words)
    return Answer(health, reason or "no metric that tells computing from waiting", said)


def _combined(said: Mapping[str, Health]) -> Health:
    gpu, nic = said.get(GPU, Health.UNKNOWN), said.get(NIC, Health.UNKNOWN)
    if gpu is Health.UNHEALTHY:
        return Health.UNKNOWN if nic is Health.HEALTHY else Health.UNHEALTHY
    if gpu is Health.HEALTHY or nic is Health.HEALTHY:
        return Health.HEALTHY
    both = nic is Health.UNHEALTHY and said.get(CPU) is Health.UNHEALTHY
    return Health.UNHEALTHY if both else Health.UNKNOWN


def _levels(window: Window, since: int, now: int, s: StallSettings) -> dict[Series, float]:
    """The median of each series since the last progress, of those that have enough of it."""
    fresh = now - int(s.fresh_seconds * MICROSECONDS)
    found = {}
    for series, points in window.items():
        if series.metric not in METRICS:
            continue
        values = [value for time, value in points if since < time <= now and value == value]  # noqa: PLR0124 - NaN
        if len(values) >= s.min_points and _last(points, now) >= fresh:
            found[series] = median(values[1:] if len(values) > s.min_points else values)
    return found


def _last(points: Points, now: int) -> int:
    return max((time for time, value in points if time <= now and value == value), default=0)  # noqa: PLR0124 - NaN


def _nothing(window: Window, since: int, now: int, s: StallSettings) -> str:
    known = [_last(points, now) for series, points in window.items() if series.metric in METRICS]
    if not known:
        return "no metrics of the job's nodes"
    age = (now - max(known)) / MICROSECONDS
    if age > s.fresh_seconds:
        return f"the newest metric is {age:.0f} s old"
    quiet = (now - since) / MICROSECONDS
    return f"no series has {s.min_points} values in the {quiet:.0f} s since the last progress"


def _gpus(
    levels: Mapping[Series, float], usual: Usual, s: StallSettings
) -> tuple[Health, str | None]:
    by_gpu: dict[tuple[str | None, str], dict[str, Series]] = defaultdict(dict)
    for series in levels:
        if series.gpu is not None and series.device is None:
            by_gpu[series.node, series.gpu][series.metric] = series
    if not by_gpu:
        return Health.UNKNOWN, None
    said = Counter(_gpu(series, levels, usual, s) for series in by_gpu.values())
    still, moving = said[Health.UNHEALTHY], said[Health.HEALTHY]
    answered, all_of_them = still + moving, len(by_gpu)
    if not answered or 2 * answered < all_of_them:
        return Health.UNKNOWN, f"{all_of_them - answered} of {all_of_them} GPUs tell nothing"
    share = _share((x for x in levels if x.metric == POWER), levels, usual)
    at = "" if share is None else f", at {share:.0%} of their usual power".replace("%", " %")
    if still >= s.agreeing * answered:
        return Health.UNHEALTHY, f"{still} of {all_of_them} GPUs stand still{at}"
    if moving >= s.moving * answered:
        return Health.HEALTHY, f"{moving} of {all_of_them} GPUs compute{at}"
    return Health.UNKNOWN, f"{still} of {all_of_them} GPUs stand still, {moving} compute"


def _gpu(
    metrics: Mapping[str, Series], levels: Mapping[Series, float], usual: Usual, s: StallSettings
) -> Health:
    """What one GPU says: by its usual power, its tensor cores, its power limit, its utilisation."""
    value = {metric: levels[series] for metric, series in metrics.items()}
    for metric, still, moving in (
        (POWER, s.idle_power, s.moving_power),
        (TENSOR, s.idle_tensor, s.moving_tensor),
    ):
        normal = usual.get(metrics[metric], 0.0) if metric in metrics else 0.0
        if normal > 0:
            return _by_share(value[metric] / normal, still, moving)
    busy = value.get(UTILISATION)
    if busy is not None and busy <= s.idle:
        return Health.UNHEALTHY
    limit = value.get(POWER_LIMIT, 0.0)
    if busy is not None and busy >= s.busy and POWER in value and limit > 0:
        return Health.UNHEALTHY if value[POWER] <= s.idle_limit * limit else Health.UNKNOWN
    return Health.UNKNOWN


def _by_share(share: float, still: float, moving: float) -> Health:
    if share <= still:
        return Health.UNHEALTHY
    return Health.HEALTHY if share >= moving else Health.UNKNOWN


def _traffic(
    levels: Mapping[Series, float], usual: Usual, s: StallSettings
) -> tuple[Health, str | None]:
    """RDMA where the nodes have it; else what went over their interfaces."""
    for names in (RDMA, NET):
        chosen = [x for x in levels if x.metric in names and x in usual]
        if sum(usual[x] for x in chosen) >= s.least_traffic:
            share = _share(chosen, levels, usual) or 0.0
            health = _by_share(share, s.idle_traffic, s.moving_traffic)
            return health, f"traffic is at {100 * share:.1f} % of the usual"
    return Health.UNKNOWN, None


def _cpu(
    levels: Mapping[Series, float], usual: Usual, s: StallSettings
) -> tuple[Health, str | None]:
    share = _share((x for x in levels if x.metric == CPU_TIME), levels, usual)
    if share is None:
        return Health.UNKNOWN, None
    health = Health.UNHEALTHY if share <= s.flat_cpu else Health.UNKNOWN
    return health, f"CPU time is at {100 * share:.0f} % of the usual"


def _share(chosen: Iterable[Series], levels: Mapping[Series, float], usual: Usual) -> float | None:
    """All of `chosen` together against their usual values; null where none of them has one."""
    known = [x for x in chosen if usual.get(x, 0.0) > 0]
    total = sum(usual[x] for x in known)
    return sum(levels[x] for x in known) / total if total > 0 else None
