"""Closed forms of metrics sections 7, 9, 10 and 12: what failures cost a run, by its size.

Times are seconds; rates are failures per node-day, so that 6.5 per 1,000 node-days is 0.0065.
Sources: arXiv:2410.21680 (ETTR, MTTF); the intervals of Young and of Daly (checkpoints), as
in HAL hal-02514107. The detection latency in the expected ETTR is this project's own extension.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from relume.errors import InputError

DAY_SECONDS = 86_400.0
MAX_LOST_SHARE = 0.5
"""Share of the time lost to failures from which on the closed form of the ETTR is off."""


def mttf_seconds(nodes: int, failures_per_node_day: float) -> float:
    """Return the mean time to failure of a job on `nodes` nodes; infinite where nothing fails.

    Raises
    ------
    InputError
        For less than one node or a rate below zero.

    Examples
    --------
    >>> round(mttf_seconds(2048, 6.5e-3) / 3600, 2)
    1.8
    """
    if nodes < 1:
        raise InputError(f"nodes = {nodes}", expected="one node or more")
    _at_least_zero(failures_per_node_day=failures_per_node_day)
    failures_per_day = nodes * failures_per_node_day
    return DAY_SECONDS / failures_per_day if failures_per_day else math.inf


@dataclass(frozen=True, slots=True)
class RunModel:
    """A long run that is restarted after each failure (metrics section 7).

    Attributes
    ----------
    nodes
        Nodes of the run.
    failures_per_node_day
        Failures that end an attempt.
    restart_seconds
        From the start of an attempt to its first new step: u0.
    checkpoint_interval_seconds
        Between two checkpoints: dt.
    detection_seconds
        From a failure to the decision about it: d.
    queue_seconds
        Wait in the queue for each attempt: q.
    productive_seconds
        Work to be done: R. Infinite for a run of which the end doesn't matter.
    checkpoint_stall_seconds
        How long a checkpoint stops the training: c. Zero where it is written beside it.

    Raises
    ------
    InputError
        For less than one node, a time below zero, or no work at all.

    Examples
    --------
    >>> hour = RunModel(2000, 6.5e-3, restart_seconds=300, checkpoint_interval_seconds=3600)
    >>> round(hour.expected_ettr(), 3)
    0.684
    """

    nodes: int
    failures_per_node_day: float
    restart_seconds: float
    checkpoint_interval_seconds: float
    detection_seconds: float = 0.0
    queue_seconds: float = 0.0
    productive_seconds: float = math.inf
    checkpoint_stall_seconds: float = 0.0

    def __post_init__(self) -> None:
        mttf_seconds(self.nodes, self.failures_per_node_day)  # the same bounds
        _at_least_zero(
            restart_seconds=self.restart_seconds,
            detection_seconds=self.detection_seconds,
            queue_seconds=self.queue_seconds,
            checkpoint_stall_seconds=self.checkpoint_stall_seconds,
        )
        for name in ("productive_seconds", "checkpoint_interval_seconds"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} = {getattr(self, name)}", expected="more than zero")

    @property
    def lost_share(self) -> float:
        """Share of the time in which the run redoes, restarts or stands still unnoticed."""
        lost = self.restart_seconds + self.checkpoint_interval_seconds / 2 + self.detection_seconds
        return lost / mttf_seconds(self.nodes, self.failures_per_node_day)

    def expected_ettr(self) -> float:
        """Return the expected share of the run's wall clock that brings it forward.

        Raises
        ------
        InputError
            When half of the time is lost, or more: there the closed form is no approximation any
            more, and only a simulation tells.
        """
        if self.lost_share >= MAX_LOST_SHARE:
            raise InputError(
                f"ETTR of {self.nodes} nodes",
                found=f"{self.lost_share:.0%} of the time lost to failures",
                expected=f"less than {MAX_LOST_SHARE:.0%}, where the closed form holds",
                hint="simulate such a run: relume simulate",
            )
        waiting = self.queue_seconds / mttf_seconds(self.nodes, self.failures_per_node_day)
        first = (self.restart_seconds + self.queue_seconds) / self.productive_seconds
        between = self.checkpoint_interval_seconds
        writing = between / (between + self.checkpoint_stall_seconds)
        return (1 - self.lost_share) / (1 + first + waiting) * writing


def speed_factor(slowdowns: Iterable[tuple[float, float]]) -> float:
    """Return what stragglers leave of an ETTR; reported beside it, as ETTR_speed.

    Parameters
    ----------
    slowdowns
        For each slowdown the share of the time, and the factor (1.25: a step takes a quarter
        longer).

    Raises
    ------
    InputError
        For shares that aren't shares of one time, or factors below one.

    Examples
    --------
    >>> speed_factor([(0.1, 1.25)])
    0.98
    """
    parts = list(slowdowns)
    if any(not 0 <= share <= 1 or factor < 1 for share, factor in parts) or (
        math.fsum(share for share, _ in parts) > 1 + 1e-9
    ):
        raise InputError(
            f"slowdowns {parts}", expected="shares that add up to 1 at most, factors from 1 on"
        )
    return 1 - math.fsum(share * (1 - 1 / factor) for share, factor in parts)


def young_interval(stall_seconds: float, mttf: float) -> float:
    """Return Young's time between checkpoints: first order, for stalls far below the `mttf`.

    Examples
    --------
    >>> round(young_interval(60, 28.85 * 3600) / 60, 1)
    58.8
    """
    _at_least_zero(stall_seconds=stall_seconds, mttf=mttf)
    return math.sqrt(2 * stall_seconds * mttf)


def daly_interval(stall_seconds: float, mttf: float) -> float:
    """Return Daly's time between checkpoints, of higher order; the `mttf` for longer stalls.

    Examples
    --------
    >>> round(daly_interval(60, 28.85 * 3600) / 60, 1)
    58.2
    """
    _at_least_zero(stall_seconds=stall_seconds, mttf=mttf)
    if stall_seconds >= 2 * mttf:
        return mttf
    ratio = stall_seconds / (2 * mttf)
    return math.sqrt(2 * stall_seconds * mttf) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - (
        stall_seconds
    )


def checkpoint_waste(
    interval_seconds: float,
    stall_seconds: float,
    mttf: float,
    *,
    restart_seconds: float = 0.0,
    detection_seconds: float = 0.0,
) -> float:
    """Return the share of the time that checkpoints and failures cost, at a given interval.

    Examples
    --------
    >>> round(checkpoint_waste(58.8 * 60, 60, 28.85 * 3600), 3)
    0.034
    """
    _at_least_zero(
        stall_seconds=stall_seconds,
        restart_seconds=restart_seconds,
        detection_seconds=detection_seconds,
    )
    if not (interval_seconds > 0 and mttf > 0):
        raise InputError(
            f"interval {interval_seconds} s, MTTF {mttf} s", expected="more than zero each"
        )
    lost = interval_seconds / 2 + restart_seconds + detection_seconds
    return stall_seconds / interval_seconds + lost / mttf


def earlier_detection_gain(gpus: int, before_seconds: float, after_seconds: float) -> float:
    """Return the GPU-seconds of one failure that is known after `after_seconds` instead.

    Examples
    --------
    >>> earlier_detection_gain(1024, before_seconds=600, after_seconds=60)
    552960
    """
    return gpus * (before_seconds - after_seconds)


def straggler_gain(gpus: int, *, slowdown: float, left_seconds: float, fix_seconds: float) -> float:
    """Return the GPU-seconds that ending a slowdown at its alarm gives back; may be below zero.

    Parameters
    ----------
    slowdown
        How much longer a step takes: 1.25 for a quarter.
    left_seconds
        From the alarm to where the slowdown would have ended by itself.
    fix_seconds
        What the mending takes.

    Examples
    --------
    >>> straggler_gain(8, slowdown=2.0, left_seconds=3600, fix_seconds=600)
    12000.0
    """
    _at_least_one(slowdown)
    return gpus * (left_seconds - fix_seconds) * (1 - 1 / slowdown)


def restart_pays(*, slowdown: float, left_seconds: float, restart_seconds: float) -> bool:
    """Whether a slow job is done sooner when it is restarted.

    Parameters
    ----------
    slowdown, left_seconds
        As for `straggler_gain`.
    restart_seconds
        What a restart costs: u0, the work since the last checkpoint (half an interval on average),
        and the wait in the queue.

    Examples
    --------
    >>> restart_pays(slowdown=1.1, left_seconds=3 * 3600, restart_seconds=1200)
    False
    >>> restart_pays(slowdown=1.1, left_seconds=6 * 3600, restart_seconds=1200)
    True
    """
    _at_least_one(slowdown)
    return left_seconds * (1 - 1 / slowdown) > restart_seconds


def _at_least_one(slowdown: float) -> None:
    if not slowdown >= 1:
        raise InputError(f"slowdown = {slowdown}", expected="1 or more")


def _at_least_zero(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0:
            raise InputError(f"{name} = {value}", expected="zero or more")
