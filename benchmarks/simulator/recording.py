"""What a simulated cluster leaves behind, in the form that goodput is computed from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from relume.benchmarks.simulator.runs import Failure, Pace, name_of
from relume.features.goodput.buckets import ATTEMPTS, INCIDENTS, SECOND, STEPS, spans_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GPUS_PER_NODE = 8


class Ended(StrEnum):
    """How an attempt ended; `RUNNING` for one that the end of the simulation cut off."""

    DONE = "done"
    FAILED = "failed"
    PREEMPTED = "preempted"
    REQUEUED = "requeued"
    RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """One attempt on its nodes: what telemetry of it has to tell. Seconds.

    Attributes
    ----------
    run, number
        Whose attempt it is, and which one.
    nodes
        That it held.
    submitted, eligible, started, first, end
        When the run came, when this attempt was put into the queue, when it got its nodes, when its
        work went on, and when it ended.
    saved
        Seconds of work that were done before.
    failure
        How it failed; null where it didn't.
    paces
        Where its pace changed.
    """

    run: str
    number: int
    nodes: NDArray[np.int64]
    submitted: float
    eligible: float
    started: float
    first: float
    end: float
    ended: Ended
    saved: float
    failure: Failure | None
    paces: tuple[Pace, ...]

    @property
    def attempt_name(self) -> str:
        """Name of the attempt, as its run has it."""
        return name_of(self.run, self.number)

    @property
    def failed(self) -> bool:
        """Whether it ended before its run was done, or stood still by a fault at the very end."""
        if self.ended is Ended.RUNNING:
            return self.failure is not None
        return self.ended is not Ended.DONE

    @property
    def stands_at(self) -> float:
        """When its work ended: by a failure, or by its end."""
        return self.end if self.failure is None else min(self.failure.at, self.end)

    def slow_times(self) -> Iterator[tuple[Pace, float]]:
        """Yield where it was slower than usual, and until when."""
        changes = [*self.paces, Pace(self.stands_at, 1.0, of_node=False)]
        for pace, following in pairwise(changes):
            if pace.factor > 1:
                yield pace, following.at


@dataclass(slots=True)
class Recording:
    """Attempts, their steps and incidents; times are seconds, a step is a second of work.

    `stays` are the attempts with all that telemetry of them shows, and `idle` the faults of nodes
    on which nobody ran.
    """

    steps: list[tuple[str, float, float]] = field(default_factory=list)
    incidents: list[tuple[str, float, float]] = field(default_factory=list)
    stays: list[Stay] = field(default_factory=list)
    idle: list[Failure] = field(default_factory=list)

    @property
    def attempts(self) -> list[tuple[str, str, int, float, float, float, bool]]:
        """Run, name, GPUs, times (eligible, started, end), and whether it failed, of each."""
        return [
            (
                stay.run,
                stay.attempt_name,
                GPUS_PER_NODE * len(stay.nodes),
                stay.eligible,
                stay.started,
                stay.end,
                stay.failed,
            )
            for stay in self.stays
        ]

    def spans(self) -> pl.DataFrame:
        """Cut the wall clock of every run into spans of one bucket each; see `spans_of`."""
        return spans_of(*self.frames())

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Return attempts, steps and incidents as goodput reads them, in microseconds."""
        attempts = pl.DataFrame(
            [
                (run, attempt, gpus, *map(_micros, times), failed)
                for run, attempt, gpus, *times, failed in self.attempts
            ],
            ATTEMPTS,
            orient="row",
        )
        steps = pl.DataFrame(
            [(attempt, _micros(at), _micros(work), 0) for attempt, at, work in self.steps],
            STEPS,
            orient="row",
        )
        incidents = pl.DataFrame(
            [(attempt, _micros(onset), _micros(alarm)) for attempt, onset, alarm in self.incidents],
            INCIDENTS,
            orient="row",
        )
        return attempts, steps, incidents


def _micros(seconds: float) -> int:
    return round(seconds * SECOND)
