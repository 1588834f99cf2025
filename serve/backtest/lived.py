"""What the attempts of a backtest did with their time, and what of it nobody can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from relume.features.goodput.buckets import ATTEMPTS, INCIDENTS, STEPS
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.serve.backtest.results import AdviceResult, AttemptResult
from relume.verdict import Domain, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

GPUS_PER_NODE = 8
"""Where accounting counts none: what the published rates assume (metrics section 13.1)."""
ENDING_KINDS = frozenset({Kind.CRASH, Kind.HANG})
"""Kinds of failures that end an attempt, or would have."""

NO_TIME = "no clock says when it ran"
NO_GPU = "it had no GPU"
WRONG_CLOCK = "its clocks say that it ran for more than ten years"
GUESSED_NODES = "neither GPUs nor nodes are known: counted as one node"
GUESSED_GPUS = "GPUs are not known: counted by its nodes"
NO_QUEUE = "nobody knows since when it waited: counted from its start"
NO_STEPS = "no step with a time: half a checkpoint interval is taken as lost by a failure"
COUNTED_LINES = (
    "its step numbers start over: nobody can tell which were done before, nor which were slow"
)
BESIDE = "it ran beside another attempt of its run: counted as a run of its own"


def no_steps() -> NDArray[np.int64]:
    """Return the rows of an attempt whose steps tell no pace."""
    return np.empty((0, 3), dtype=np.int64)


@dataclass(slots=True, kw_only=True)
class Lived:
    """One attempt: what it held, when, and how it ended. Times are UTC microseconds.

    Attributes
    ----------
    run
        Whose attempt it is; `nodes` of it, at least one.
    eligible
        Since when it waited; null where nobody knows.
    failed, interrupted
        Whether it failed; whether the scheduler ended it, and what wasn't saved was lost.
    onset, alarm
        When its failure began, by its label; when somebody noticed. Null: not known; not before
        its end.
    repeats
        Whether it failed as the one before it in its run, and got no further.
    passed
        Whether it got further than all before it in its run.
    steps
        Rows of `StepRow` within its time, empty where they tell no pace: ``(n, 3) int64``.
    """

    result: AttemptResult
    run: str
    gpus: int
    nodes: int
    start: int
    end: int
    eligible: int | None = None
    failed: bool = False
    interrupted: bool = False
    onset: int | None = None
    alarm: int | None = None
    repeats: bool = False
    passed: bool = False
    steps: NDArray[np.int64] = field(default_factory=no_steps)
    notes: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Its identity."""
        return self.result.attempt

    @property
    def has_steps(self) -> bool:
        """Whether steps tell what it did with its time."""
        return len(self.steps) > 0

    @property
    def first_step_at(self) -> int:
        """When its first step was done; its end where none is known."""
        return int(self.steps[0, 0]) if self.has_steps else self.end

    @property
    def last_step_at(self) -> int:
        """When its last step was done; its end where none is known."""
        return int(self.steps[-1, 0]) if self.has_steps else self.end

    @property
    def domain(self) -> Domain:
        """Who is to blame for how it ended."""
        found = found_failure(self.result)
        if found is not None:
            return found.advice.domain
        return Domain((self.result.verdict or {}).get("domain") or Domain.UNKNOWN)

    @property
    def decisions(self) -> list[AdviceResult]:
        """What was advised, without what only asks for a closer look."""
        return decisions_of(self.result)


@dataclass(frozen=True, slots=True)
class Lives:
    """All attempts of which the time is known, by run and start, and what is not known of others.

    `left_out` counts attempts that are not among them, by reason; `notes` what was assumed of those
    that are.
    """

    attempts: Sequence[Lived]
    left_out: Mapping[str, int]
    notes: Mapping[str, int]

    def frames(self) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
        """Return attempts, steps and incidents as `relume.features.goodput` reads them."""
        rows = [
            (
                one.run,
                one.name,
                one.gpus,
                one.eligible,
                one.start,
                one.end,
                one.failed or (one.interrupted and not one.has_steps),
            )
            for one in self.attempts
        ]
        stepped = [one for one in self.attempts if one.has_steps]
        steps = pl.concat(
            [
                STEPS.to_frame(),
                *(
                    pl.DataFrame(one.steps, ["at", "step", "pause"], orient="row").select(
                        pl.lit(one.name).alias("attempt"), "at", "step", "pause"
                    )
                    for one in stepped
                ),
            ]
        )
        known = (one for one in self.attempts if one.onset is not None or one.alarm is not None)
        incidents = [(one.name, one.onset, one.alarm) for one in known]
        return (
            pl.DataFrame(rows, ATTEMPTS, orient="row"),
            steps,
            pl.DataFrame(incidents, INCIDENTS, orient="row"),
        )


def found_failure(result: AttemptResult) -> AdviceResult | None:
    """Return the last Advice about a failure, null when it was taken back or steps came again."""
    last = next(iter(reversed(decisions_of(result))), None)
    if last is None or last.advice.kind not in ENDING_KINDS or last.resumed_at is not None:
        return None
    return None if last.advice.domain is Domain.SCHEDULER else last


def decisions_of(result: AttemptResult) -> list[AdviceResult]:
    """Return what was advised, without what only asks for a closer look."""
    return [one for one in result.advice if one.advice.rule != SUSPECTED_HANG_RULE]
