"""What makes made-up jobs slow, in the mix of metrics section 13.4, and what that does to them.

Ranks work for some time before a collective, clocks of a throttled GPU are lower. Around it is what
misleads: clocks that differ a little, power caps, ranks that always were slower, uneven sequences,
errors of links that harm nobody. All sizes were chosen before a rule was tried on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.benchmarks.false_alarms.plans import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

GPUS: Final = 8
STEPS: Final = 24
COMM_SECONDS: Final = 0.6
_CAPPED: Final = 0.1
"""GPUs that stand at their power cap: that is how they are meant to run."""
_WITH_ERRORS: Final = 0.05
"""Nodes whose links have an error now and then."""
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


@dataclass(slots=True)
class Job:
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
        """How many it has."""
        return len(self.stages)


def healthy(draws: np.random.Generator, *, needs_stages: bool) -> Job:
    """Draw a job before anything happens to it."""
    nodes = int(draws.choice([4, 8, 16, 32]))
    depth = int(draws.choice([2, 4] if needs_stages else [1, 2, 4]))
    ranks = nodes * GPUS
    stages = np.arange(ranks) * depth // ranks
    always = draws.normal(1.0, 0.01, ranks) * (1.0 + draws.uniform(0.0, 0.06, depth))[stages]
    uneven = float(draws.choice([0.01, 0.02, 0.04]))

    def steps() -> NDArray[np.float64]:
        return 4.0 * always * np.exp(draws.normal(0.0, uneven, (STEPS, ranks)))

    job = Job(draws, tuple(f"n{k:03d}" for k in range(nodes)), stages, steps(), steps())
    job.clocks = draws.normal(1.98e9, 0.012e9, ranks)
    job.bits = np.where(draws.random(ranks) < _CAPPED, _POWER_CAP, 0)
    job.errors = np.where(draws.random(nodes) < _WITH_ERRORS, draws.uniform(0.0, 0.05, nodes), 0.0)
    return job


def happens(draws: np.random.Generator, share: float) -> bool:
    """Draw whether something happens that does so in a share of the cases."""
    return bool(draws.random() < share)


def _more(job: Job, low: float = 0.15, high: float = 0.6) -> float:
    return float(job.draws.uniform(low, high))


def _slow_worker(job: Job) -> str:
    rank = int(job.draws.integers(job.ranks))
    # 3.04 times slow on average where a worker is the most part; the least seen are near the gate.
    job.own[:, rank] *= 1.2 + float(job.draws.exponential(1.0))
    _throttle(job, np.array([rank]))
    return job.nodes[rank // GPUS]


def _slow_node(job: Job) -> str:
    node = int(job.draws.integers(len(job.nodes)))
    ranks = node * GPUS + np.arange(GPUS)
    job.own[:, ranks] *= 1.0 + _more(job, 0.2, 1.0)
    _throttle(job, ranks)
    return job.nodes[node]


def _throttle(job: Job, ranks: NDArray[np.int64]) -> None:
    """Six times in ten clocks and their reasons show it; else it is nothing that is measured."""
    if happens(job.draws, 0.6):
        job.clocks[ranks] *= job.draws.uniform(0.5, 0.85)
        job.bits[ranks] |= _HARDWARE_THERMAL if happens(job.draws, 0.6) else _POWER_BRAKE


def _bad_link(job: Job) -> str:
    node = int(job.draws.integers(len(job.nodes)))
    job.comm += _more(job) * 4.6
    if happens(job.draws, 0.8):
        job.errors[node] = job.draws.uniform(0.5, 50.0)
    return job.nodes[node]


def _stage(job: Job) -> None:
    slowest = int(job.draws.integers(job.stages.max() + 1))
    job.own[:, job.stages == slowest] *= 1.0 + _more(job, 0.2, 0.8)


def _sequences(job: Job) -> None:
    job.own *= np.exp(job.draws.normal(0.0, _more(job, 0.12, 0.35), job.own.shape))


def _data(job: Job) -> None:
    job.waits = 4.6 * _more(job)


def _storage(job: Job) -> None:
    job.waits = 4.6 * _more(job)
    job.beside = int(job.draws.integers(1, 12))


def _congestion(job: Job) -> None:
    job.comm += 4.6 * _more(job)
    if happens(job.draws, 0.4):
        job.beside = int(job.draws.integers(1, 8))


def _mixed_in(job: Job) -> None:
    job.slow_share = _more(job, 0.2, 0.6)
    slow = job.draws.random(STEPS) < job.slow_share
    job.own[slow] *= 1.0 + _more(job, 0.5, 2.0)


def _drift(job: Job) -> None:
    job.own *= 1.0 + _more(job) * np.linspace(0.4, 1.6, STEPS)[:, None]
    job.is_gradual = True


def _alike(job: Job) -> None:
    job.own *= 1.0 + _more(job)
    if happens(job.draws, 0.4):  # a hot room: all clocks are low, and many say why
        job.clocks *= job.draws.uniform(0.7, 0.9)
        job.bits[job.draws.random(job.ranks) < _HOT] |= _HARDWARE_THERMAL


CAUSES: Final[dict[Cause, Callable[[Job], str | None]]] = {
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


def draw_causes(count: int, mix: dict[Cause, float], *words: int) -> list[Cause]:
    """Draw the causes of `count` cases by their shares."""
    causes, shares = zip(*mix.items(), strict=True)
    chosen = generator(*words).choice(len(causes), count, p=np.array(shares) / sum(shares))
    return [causes[place] for place in chosen]
