"""Made-up slow jobs whose cause is known, in the mix of metrics section 13.4.

A case is made from what happens, and what is seen of it follows from that: ranks work for some time
before a collective, the slowest makes the step, clocks of a throttled GPU are lower. Seen is not
all of it: many jobs print no times of ranks, or times that hold the waiting for others; metrics are
missing, or some nodes' are. Around it is what misleads: clocks that differ a little, power caps,
ranks that always were slower, uneven sequences, errors of links that harm nobody.

All sizes below were chosen before a rule was tried on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.benchmarks.false_alarms.plans import generator
from relume.features.metrics.peers import CLOCK, POWER, THROTTLE
from relume.features.metrics.points import Series
from relume.models.straggler.conditions import conditions_of
from relume.models.straggler.evidence import Evidence
from relume.models.straggler.ranks import RankTimes

if TYPE_CHECKING:
    from numpy.typing import NDArray

GPUS: Final = 8
STEPS: Final = 24
POINTS: Final = 5
COMM_SECONDS: Final = 0.6
_CAPPED: Final = 0.1
"""GPUs that stand at their power cap: that is how they are meant to run."""
_WITH_ERRORS: Final = 0.05
"""Nodes whose links have an error now and then."""
_LOST: Final = 0.02
_HOT: Final = 0.8
_HARDWARE_THERMAL, _POWER_BRAKE, _POWER_CAP = 0x48, 0x80, 0x04


class Cause(StrEnum):
    """What makes the job slow."""

    SLOW_WORKER = "slow_worker"
    """One GPU: its clocks are low, or nothing shows but its time."""
    SLOW_NODE = "slow_node"
    """All GPUs of a node: its power, its fans, its PCIe, its processors."""
    BAD_LINK = "bad_link"
    """One node's link: the collectives take longer."""
    STAGE = "stage_imbalance"
    SEQUENCES = "sequence_imbalance"
    DATA = "data_loading"
    STORAGE = "storage"
    CONGESTION = "congestion"
    MIXED_IN = "mixed_in"
    DRIFT = "gradual_drift"
    ALIKE = "all_ranks_alike"
    """Every rank works longer: another input, another library, a room that is hot."""


NODE_CAUSES: Final = frozenset({Cause.SLOW_WORKER, Cause.SLOW_NODE, Cause.BAD_LINK})
AS_PUBLISHED: Final = {
    Cause.SLOW_WORKER: 0.011,
    Cause.SLOW_NODE: 0.006,
    Cause.BAD_LINK: 0.005,
    Cause.STAGE: 0.33,
    Cause.SEQUENCES: 0.25,
    Cause.DATA: 0.10,
    Cause.STORAGE: 0.04,
    Cause.CONGESTION: 0.13,
    Cause.MIXED_IN: 0.04,
    Cause.DRIFT: 0.04,
    Cause.ALIKE: 0.048,
}
"""Shares of slow jobs: a bad worker explains most of it in 1.7 %, stages and sequences are the
common causes (arXiv:2505.05713); of networks 40 % of large jobs meet a slow one (arXiv:2410.12588),
which seldom is one node's link."""
HALF_NODES: Final = {cause: (1 / 6 if cause in NODE_CAUSES else 1 / 16) for cause in Cause}
"""The same causes where every other case is a node's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A slow job: what caused it, which node if any, and what is seen of it.

    `shows_ranks` and `shows_metrics` say whether the ranks' own work, and every node's metrics, can
    be seen.
    """

    number: int
    cause: Cause
    node: str | None
    evidence: Evidence
    shows_ranks: bool
    shows_metrics: bool

    @property
    def is_node(self) -> bool:
        """Whether a node is to blame."""
        return self.cause in NODE_CAUSES


@dataclass(slots=True)
class _Job:
    """A job on its way to being slow."""

    draws: np.random.Generator
    nodes: tuple[str, ...]
    stages: NDArray[np.int64]
    own: NDArray[np.float64]
    """(steps, ranks): seconds of work before the collective."""
    before: NDArray[np.float64]
    """(steps, ranks): the same before it was slow."""
    waits: float = 0.0
    comm: float = COMM_SECONDS
    slow_share: float = 1.0
    is_gradual: bool = False
    beside: int = 0
    clocks: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    bits: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    errors: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def ranks(self) -> int:
        return len(self.stages)


def case(number: int, cause: Cause) -> Case:
    """Make a slow job up.

    Examples
    --------
    >>> made = case(3, Cause.SLOW_WORKER)
    >>> made.is_node, made.evidence.ratio > 1.1
    (True, True)
    """
    draws = generator(number, list(Cause).index(cause) + 1)
    job = _healthy(draws, needs_stages=cause is Cause.STAGE)
    node = _CAUSES[cause](job)
    usual = float(np.median(_step_seconds(job.before, COMM_SECONDS, 0.0)))
    slow = _step_seconds(job.own, job.comm, job.waits)
    ratio = (
        float(np.median(slow)) / usual if job.slow_share == 1.0 else float(np.mean(slow)) / usual
    )
    own_shown = _happens(draws, 0.6)
    is_shown = own_shown or _happens(draws, 0.4)
    ranks = _rank_times(job, slow, own=own_shown) if is_shown else None
    is_measured, some = _happens(draws, 0.8), draws.random(len(job.nodes))
    share = 1.0 if _happens(draws, 0.85) else 0.5
    measured = tuple(n for n, draw in zip(job.nodes, some, strict=True) if draw < share)
    measured = measured if is_measured else ()
    evidence = Evidence(
        ratio=ratio,
        waits=_seen_waits(job, usual, slow) if _happens(draws, 0.5) else None,
        slow_share=job.slow_share,
        is_gradual=job.is_gradual,
        ranks=ranks,
        conditions=conditions_of(_window(job, measured), measured),
        slow_elsewhere={n: 1 for n in job.nodes if _happens(draws, 0.01)},
        slow_beside=job.beside if _happens(draws, 0.8) else 0,
    )
    return Case(
        number=number,
        cause=cause,
        node=node,
        evidence=evidence,
        shows_ranks=own_shown,
        shows_metrics=len(measured) == len(job.nodes),
    )


def draw_causes(count: int, mix: dict[Cause, float], *words: int) -> list[Cause]:
    """Draw the causes of `count` cases by their shares."""
    causes, shares = zip(*mix.items(), strict=True)
    chosen = generator(*words).choice(len(causes), count, p=np.array(shares) / sum(shares))
    return [causes[place] for place in chosen]


def _healthy(draws: np.random.Generator, *, needs_stages: bool) -> _Job:
    nodes = int(draws.choice([4, 8, 16, 32]))
    depth = int(draws.choice([2, 4] if needs_stages else [1, 2, 4]))
    ranks = nodes * GPUS
    stages = np.arange(ranks) * depth // ranks
    always = draws.normal(1.0, 0.01, ranks) * (1.0 + draws.uniform(0.0, 0.06, depth))[stages]
    uneven = float(draws.choice([0.01, 0.02, 0.04]))

    def steps() -> NDArray[np.float64]:
        return 4.0 * always * np.exp(draws.normal(0.0, uneven, (STEPS, ranks)))

    job = _Job(draws, tuple(f"n{k:03d}" for k in range(nodes)), stages, steps(), steps())
    job.clocks = draws.normal(1.98e9, 0.012e9, ranks)
    job.bits = np.where(draws.random(ranks) < _CAPPED, _POWER_CAP, 0)
    job.errors = np.where(draws.random(nodes) < _WITH_ERRORS, draws.uniform(0.0, 0.05, nodes), 0.0)
    return job


def _happens(draws: np.random.Generator, share: float) -> bool:
    return bool(draws.random() < share)


def _more(job: _Job, low: float = 0.15, high: float = 0.6) -> float:
    return float(job.draws.uniform(low, high))


def _slow_worker(job: _Job) -> str:
    rank = int(job.draws.integers(job.ranks))
    # 3.04 times slow on average where a worker is the most part; the least seen are near the gate.
    job.own[:, rank] *= 1.2 + float(job.draws.exponential(1.0))
    _throttle(job, np.array([rank]))
    return job.nodes[rank // GPUS]


def _slow_node(job: _Job) -> str:
    node = int(job.draws.integers(len(job.nodes)))
    ranks = node * GPUS + np.arange(GPUS)
    job.own[:, ranks] *= 1.0 + _more(job, 0.2, 1.0)
    _throttle(job, ranks)
    return job.nodes[node]


def _throttle(job: _Job, ranks: NDArray[np.int64]) -> None:
    """Six times in ten clocks and their reasons show it; else it is nothing that is measured."""
    if _happens(job.draws, 0.6):
        job.clocks[ranks] *= job.draws.uniform(0.5, 0.85)
        job.bits[ranks] |= _HARDWARE_THERMAL if _happens(job.draws, 0.6) else _POWER_BRAKE


def _bad_link(job: _Job) -> str:
    node = int(job.draws.integers(len(job.nodes)))
    job.comm += _more(job) * 4.6
    if _happens(job.draws, 0.8):
        job.errors[node] = job.draws.uniform(0.5, 50.0)
    return job.nodes[node]


def _stage(job: _Job) -> None:
    slowest = int(job.draws.integers(job.stages.max() + 1))
    job.own[:, job.stages == slowest] *= 1.0 + _more(job, 0.2, 0.8)


def _sequences(job: _Job) -> None:
    job.own *= np.exp(job.draws.normal(0.0, _more(job, 0.12, 0.35), job.own.shape))


def _data(job: _Job) -> None:
    job.waits = 4.6 * _more(job)


def _storage(job: _Job) -> None:
    job.waits = 4.6 * _more(job)
    job.beside = int(job.draws.integers(1, 12))


def _congestion(job: _Job) -> None:
    job.comm += 4.6 * _more(job)
    if _happens(job.draws, 0.4):
        job.beside = int(job.draws.integers(1, 8))


def _mixed_in(job: _Job) -> None:
    job.slow_share = _more(job, 0.2, 0.6)
    slow = job.draws.random(STEPS) < job.slow_share
    job.own[slow] *= 1.0 + _more(job, 0.5, 2.0)


def _drift(job: _Job) -> None:
    job.own *= 1.0 + _more(job) * np.linspace(0.4, 1.6, STEPS)[:, None]
    job.is_gradual = True


def _alike(job: _Job) -> None:
    job.own *= 1.0 + _more(job)
    if _happens(job.draws, 0.4):  # a hot room: all clocks are low, and many say why
        job.clocks *= job.draws.uniform(0.7, 0.9)
        job.bits[job.draws.random(job.ranks) < _HOT] |= _HARDWARE_THERMAL


_CAUSES = {
    Cause.SLOW_WORKER: _slow_worker,
    Cause.SLOW_NODE: _slow_node,
    Cause.BAD_LINK: _bad_link,
    Cause.STAGE: _stage,
    Cause.SEQUENCES: _sequences,
    Cause.DATA: _data,
    Cause.STORAGE: _storage,
    Cause.CONGESTION: _congestion,
    Cause.MIXED_IN: _mixed_in,
    Cause.DRIFT: _drift,
    Cause.ALIKE: _alike,
}


def _step_seconds(own: NDArray[np.float64], comm: float, waits: float) -> NDArray[np.float64]:
    return np.asarray(own.max(axis=1) + comm + waits, np.float64)


def _seen_waits(job: _Job, usual: float, slow: NDArray[np.float64]) -> float:
    """Share of the slow time that the job says it waited for input."""
    longer = float(np.mean(slow)) - usual
    noise = 0.02 * usual * float(job.draws.standard_normal())
    return float(np.clip((job.waits + noise) / longer, 0.0, 1.0)) if longer > 0 else 0.0


def _rank_times(job: _Job, slow: NDArray[np.float64], *, own: bool) -> RankTimes:
    """What ranks print: their own work, or times of steps that hold the waiting for the others."""
    shape = job.own.shape
    noise = job.draws.normal(1.0, 0.01, shape)
    times = job.own if own else np.repeat(slow[:, None], shape[1], axis=1)
    lost = job.draws.random(shape) < _LOST
    before = np.median(job.before, axis=0) if own else np.full(shape[1], np.median(job.before))
    changed = RankTimes(job.before * noise, tuple(range(shape[1]))).decompose()
    known = RankTimes(
        np.where(lost, np.nan, times * noise),
        tuple(range(shape[1])),
        nodes=tuple(job.nodes[rank // GPUS] for rank in range(shape[1])),
        stages=tuple(job.stages.tolist()) if job.stages.max() else None,
        before=before,
        changed_before=changed.changing if changed is not None else 0.0,
        own_work=own,
    )
    # Half of the time nothing is known of before: the run was slow from its first step on.
    return known if _happens(job.draws, 0.5) else replace(known, before=None, changed_before=0.0)


def _window(job: _Job, nodes: tuple[str, ...]) -> dict[Series, list[tuple[int, float]]]:
    """What was measured of these nodes while the job was slow."""
    window: dict[Series, list[tuple[int, float]]] = {}
    times = [15_000_000 * k for k in range(POINTS)]
    draws = job.draws
    for number, node in enumerate(job.nodes):
        if node not in nodes:
            continue
        for gpu in range(GPUS):
            rank = number * GPUS + gpu
            clocks = job.clocks[rank] * draws.normal(1.0, 0.004, POINTS)
            watts = 650.0 * clocks / 1.98e9 * draws.normal(1.0, 0.02, POINTS)
            bits = float(job.bits[rank])
            for metric, values in ((CLOCK, clocks), (POWER, watts), (THROTTLE, [bits] * POINTS)):
                window[Series(metric, node, str(gpu))] = list(
                    zip(times, map(float, values), strict=True)
                )
        link = Series("nic_symbol_errors_count_total", node, device="mlx5_0")
        window[link] = [(time, float(job.errors[number])) for time in times]
    return window
