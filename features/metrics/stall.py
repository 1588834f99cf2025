"""The second signal of a hang: whether the GPUs of a job compute, and its nodes talk.

A job whose ranks wait in a collective shows full utilisation and a power near idle: the kernel that
waits spins. So utilisation alone says nothing, and power is compared with what the same GPU usually
draws in this job. While one rank writes a checkpoint the others wait in the same way: so what goes
to disks and over the network contradicts. What is left says that nothing moves, never why.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from relume.features.metrics.points import Answer, Points, Series, Window, is_counter
from relume.verdict import Health

if TYPE_CHECKING:
    from typing import TypeAlias

MICROSECONDS = 1_000_000

GPU, NIC, CPU, IO = "gpu", "nic", "cpu", "io"
"""The signals, as `Answer.signals` names them."""
UTILISATION = "gpu_utilisation_ratio"
POWER = "gpu_power_watts"
POWER_LIMIT = "gpu_power_limit_watts"
TENSOR = "gpu_tensor_active_ratio"
RDMA = ("nic_sent_bytes_total", "nic_received_bytes_total")
NET = ("net_sent_bytes_total", "net_received_bytes_total")
DISK = ("node_disk_read_bytes_total", "node_disk_written_bytes_total")
CPU_TIME = "node_cpu_seconds_total"
METRICS = frozenset({UTILISATION, POWER, POWER_LIMIT, TENSOR, *RDMA, *NET, *DISK, CPU_TIME})
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
        it, so it doesn't count where there are more; that of a counter does, so it never counts
        beside another one.
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
    busy_io, more_io
        Bytes per second of one node, to and from its disks or over its interfaces, that something
        is written or loaded with; over interfaces also so many times the usual.
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
    busy_io: float = 10_000_000.0
    more_io: float = 3.0
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
        *unhealthy*: GPUs stand still, and so do traffic and disks as far as they are measured; or,
        where GPUs say nothing, traffic and CPU time have both stopped. *healthy*: GPUs compute, or
        where they say nothing, traffic goes on. *unknown*: too little was measured, or GPUs stand
        still while something is sent, written or loaded.

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
    used = _used(window, since, now, s)
    if not used:
        return Answer(Health.UNKNOWN, _nothing(window, since, now, s), {})
    levels = {series: median(value for _, value in points) for series, points in used.items()}
    judged = {
        GPU: _gpus(levels, usual, s),
        NIC: _traffic(levels, usual, s),
        CPU: _cpu(levels, usual, s),
        IO: _io(levels, usual, s),
    }
    said = {name: health for name, (health, words) in judged.items() if words}
    health = _combined(said)
    reason = "; ".join(words for _, words in judged.values() if words)
    return Answer(
        health,
        reason or "no metric that tells computing from waiting",
        said,
        since=min(points[0][0] for points in used.values()),
        until=max(points[-1][0] for points in used.values()),
        seen=min(points[-1][0] for points in used.values()),
    )


def _combined(said: Mapping[str, Health]) -> Health:
    gpu, nic = said.get(GPU, Health.UNKNOWN), said.get(NIC)
    is_quiet = IO not in said and nic in (None, Health.UNHEALTHY)
    if gpu is Health.UNHEALTHY:
        return Health.UNHEALTHY if is_quiet else Health.UNKNOWN
    if gpu is Health.HEALTHY or nic is Health.HEALTHY:
        return Health.HEALTHY
    is_flat = nic is not None and said.get(CPU) is Health.UNHEALTHY
    return Health.UNHEALTHY if is_quiet and is_flat else Health.UNKNOWN


def _used(window: Window, since: int, now: int, s: StallSettings) -> dict[Series, Points]:
    """What counts of each series: enough values since the last progress, and a fresh one."""
    fresh = now - int(s.fresh_seconds * MICROSECONDS)
    found: dict[Series, Points] = {}
    for series, points in window.items():
        if series.metric not in METRICS:
            continue
        known = [point for point in points if since < point[0] <= now and point[1] == point[1]]
        if len(known) >= s.min_points and known[-1][0] >= fresh:
            # The first rate of a counter always tells of the time before, too.
            is_mixed = len(known) > s.min_points or (is_counter(series.metric) and len(known) > 1)
            found[series] = known[1:] if is_mixed else known
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


def _io(
    levels: Mapping[Series, float], usual: Usual, s: StallSettings
) -> tuple[Health, str | None]:
    """Whether a node writes or loads something, such as a checkpoint; if not, it says nothing."""
    moved: dict[tuple[str | None, bool], float] = defaultdict(float)
    normal: dict[tuple[str | None, bool], float] = defaultdict(float)
    for series, value in levels.items():
        if series.metric in (*NET, *DISK):
            place = (series.node, series.metric in DISK)
            moved[place] += value
            normal[place] += 0.0 if place[1] else usual.get(series, 0.0)
    busy = {
        place: x for place, x in moved.items() if x >= max(s.busy_io, s.more_io * normal[place])
    }
    if not busy:
        return Health.UNKNOWN, None
    (node, is_disk), most = max(busy.items(), key=lambda item: item[1])
    where = "disks" if is_disk else "interfaces"
    return Health.HEALTHY, f"the {where} of {node} move {most / 1e6:.0f} MB/s"


def _share(chosen: Iterable[Series], levels: Mapping[Series, float], usual: Usual) -> float | None:
    """All of `chosen` together against their usual values; null where none of them has one."""
    known = [x for x in chosen if usual.get(x, 0.0) > 0]
    total = sum(usual[x] for x in known)
    return sum(levels[x] for x in known) / total if total > 0 else None
