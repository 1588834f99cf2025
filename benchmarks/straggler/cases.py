"""Made-up slow jobs whose cause is known: what happens to them, and what is seen of it.

Seen is not all: many jobs print no times of ranks, or times that hold the waiting for others;
metrics are missing, or some nodes' are. All sizes were chosen before a rule was tried on them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from relume.benchmarks.false_alarms.plans import generator
from relume.benchmarks.straggler.causes import (
    CAUSES,
    COMM_SECONDS,
    GPUS,
    NODE_CAUSES,
    Cause,
    Job,
    happens,
    healthy,
)
from relume.features.metrics.peers import CLOCK, POWER, THROTTLE
from relume.features.metrics.points import Series
from relume.models.straggler.conditions import conditions_of
from relume.models.straggler.evidence import Evidence
from relume.models.straggler.ranks import RankTimes

if TYPE_CHECKING:
    from numpy.typing import NDArray

POINTS: Final = 5
_LOST: Final = 0.02


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


def case(number: int, cause: Cause) -> Case:
    """Make a slow job up.

    Examples
    --------
    >>> made = case(3, Cause.SLOW_WORKER)
    >>> made.is_node, made.evidence.ratio > 1.1
    (True, True)
    """
    draws = generator(number, list(Cause).index(cause) + 1)
    job = healthy(draws, needs_stages=cause is Cause.STAGE)
    node = CAUSES[cause](job)
    usual = float(np.median(_step_seconds(job.before, COMM_SECONDS, 0.0)))
    slow = _step_seconds(job.own, job.comm, job.waits)
    ratio = (
        float(np.median(slow)) / usual if job.slow_share == 1.0 else float(np.mean(slow)) / usual
    )
    own_shown = happens(draws, 0.6)
    is_shown = own_shown or happens(draws, 0.4)
    ranks = _rank_times(job, slow, own=own_shown) if is_shown else None
    is_measured, some = happens(draws, 0.8), draws.random(len(job.nodes))
    share = 1.0 if happens(draws, 0.85) else 0.5
    measured = tuple(n for n, draw in zip(job.nodes, some, strict=True) if draw < share)
    measured = measured if is_measured else ()
    evidence = Evidence(
        ratio=ratio,
        waits=_seen_waits(job, usual, slow) if happens(draws, 0.5) else None,
        slow_share=job.slow_share,
        is_gradual=job.is_gradual,
        ranks=ranks,
        conditions=conditions_of(_window(job, measured), measured),
        slow_elsewhere={n: 1 for n in job.nodes if happens(draws, 0.01)},
        slow_beside=job.beside if happens(draws, 0.8) else 0,
    )
    return Case(
        number=number,
        cause=cause,
        node=node,
        evidence=evidence,
        shows_ranks=own_shown,
        shows_metrics=len(measured) == len(job.nodes),
    )


def _step_seconds(own: NDArray[np.float64], comm: float, waits: float) -> NDArray[np.float64]:
    return np.asarray(own.max(axis=1) + comm + waits, np.float64)


def _seen_waits(job: Job, usual: float, slow: NDArray[np.float64]) -> float:
    """Share of the slow time that the job says it waited for input."""
    longer = float(np.mean(slow)) - usual
    noise = 0.02 * usual * float(job.draws.standard_normal())
    return float(np.clip((job.waits + noise) / longer, 0.0, 1.0)) if longer > 0 else 0.0


def _rank_times(job: Job, slow: NDArray[np.float64], *, own: bool) -> RankTimes:
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
    return known if happens(job.draws, 0.5) else replace(known, before=None, changed_before=0.0)


def _window(job: Job, nodes: tuple[str, ...]) -> dict[Series, list[tuple[int, float]]]:
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
