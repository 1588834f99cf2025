"""One run of a simulated cluster: its work, what of it is saved, and how fast it goes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_FAULT = -1


@dataclass(frozen=True, slots=True)
class Failure:
    """How an attempt failed: by which fault, of which node (-1: of none), and when."""

    fault: int
    node: int
    at: float


@dataclass(frozen=True, slots=True)
class Pace:
    """From `at` on, steps take `factor` times as long as usual; `of_node` is why."""

    at: float
    factor: float
    of_node: bool


@dataclass(frozen=True, slots=True)
class RunPlan:
    """A run to be done: `work` seconds on `nodes` nodes, wanted from `arrival` on."""

    name: str
    nodes: int
    arrival: float = 0.0
    work: float = math.inf


@dataclass(slots=True)
class Run:
    """Where a run is.

    Attributes
    ----------
    attempt
        Number of the attempt; -1 before the first.
    nodes
        That it holds; null while it waits.
    eligible, started, first
        When it was put into the queue, when it got its nodes, and when its work went on.
    saved, work
        Seconds of work: at the last checkpoint of its attempt before this one, and by `since`.
    factor
        How many times longer a step takes than usual.
    failure, paces
        Of this attempt: how it failed, and where its pace changed.
    last_fault, repeats, repeats_at, mended_at
        The fault by which it failed last; how often in a row; and, for one that comes back, at
        which work and until when.
    """

    plan: RunPlan
    eligible: float
    attempt: int = -1
    nodes: NDArray[np.int64] | None = None
    started: float = 0.0
    first: float = 0.0
    since: float = 0.0
    saved: float = 0.0
    work: float = 0.0
    factor: float = 1.0
    failure: Failure | None = None
    paces: list[Pace] = field(default_factory=list)
    last_fault: int = NO_FAULT
    repeats: int = 0
    repeats_at: float | None = None
    mended_at: float = -math.inf

    @property
    def is_failing(self) -> bool:
        """Whether it stands still by a fault."""
        return self.failure is not None

    @property
    def is_running(self) -> bool:
        """Whether it holds nodes."""
        return self.nodes is not None

    @property
    def is_working(self) -> bool:
        """Whether it holds nodes and doesn't stand still."""
        return self.is_running and not self.is_failing

    def is_in(self, attempt: int) -> bool:
        """Whether it holds the nodes of its attempt of that number."""
        return self.attempt == attempt and self.is_running

    @property
    def attempt_name(self) -> str:
        """Name of its attempt."""
        return name_of(self.plan.name, self.attempt)

    def start(self, nodes: NDArray[np.int64], now: float, restart_seconds: float) -> None:
        """Begin an attempt; work goes on after `restart_seconds`."""
        self.attempt += 1
        self.nodes, self.started = nodes, now
        self.first = self.since = now + restart_seconds
        self.work, self.factor, self.failure, self.paces = self.saved, 1.0, None, []

    def work_at(self, now: float) -> float:
        """Return the work that is done at `now`."""
        if self.is_failing:
            return self.work
        return self.work + max(0.0, now - self.since) / self.factor

    def when(self, work: float) -> float:
        """Return when so much work is done at the pace of today; not before work goes on."""
        return self.since + max(0.0, work - self.work) * self.factor

    def advance(self, now: float) -> None:
        """Do the work up to `now`, if the run doesn't stand still."""
        if not self.is_failing:
            self.work, self.since = self.work_at(now), max(self.since, now)

    def fail(self, failure: Failure) -> None:
        """Stand still by a fault."""
        self.failure = failure
        self.repeats = self.repeats + 1 if failure.fault == self.last_fault else 1
        self.last_fault = failure.fault

    def end(self, checkpoint_seconds: float) -> NDArray[np.int64]:
        """End the attempt and return its nodes: what was worked since the last save is lost."""
        if self.nodes is None:
            raise ValueError(f"{self.attempt_name} holds no nodes")
        whole = math.floor((self.work - self.saved) / checkpoint_seconds)
        self.saved += whole * checkpoint_seconds
        nodes, self.nodes, self.failure = self.nodes, None, None
        return nodes


def name_of(run: str, attempt: int) -> str:
    """Return the name of an attempt.

    >>> name_of("run", 2)
    'run.2'
    """
    return f"{run}.{attempt}"
