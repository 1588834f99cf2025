"""Made-up jobs: their pace, and the pauses that are a part of them.

How long pauses are, and how often they come, is our choice, made before any detector ran on them:
saves of half a minute in the middle and a few minutes at most, evaluations of some steps. Half of
the jobs don't say that they save, a third that they evaluate: then a pause is only a silence.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

SEED = 20261101
PACES = 0.5, 150.0
"""Seconds from one progress line to the next: between these every ratio is as likely."""
PAUSE_NOISE = 0.10
"""Spread of the length of one pause, as the standard deviation of its logarithm."""
_SAVE_SECONDS = 30.0
_EVALUATION_LINES = 3.0
_LENGTH_SPREAD = 0.8
"""The middle of the lengths, and the standard deviation of their logarithms."""
_EVERY_SAVE = 600.0, 4 * 3600.0
_EVERY_EVALUATION = 1800.0, 8 * 3600.0
_STARTUP = 30.0, 900.0
_SHARE_EVALUATING, _SHARE_SILENT_SAVE, _SHARE_SILENT_EVALUATION = 0.7, 0.5, 1 / 3
_LEAST_PAUSE = 2.0


class Pause(IntEnum):
    """What lies between a progress line and the next one beside the step itself."""

    NONE = 0
    EVALUATION = 1
    CHECKPOINT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One kind of pause.

    Attributes
    ----------
    every
        Progress lines from one to the next.
    seconds
        How long one usually takes.
    is_announced
        Whether the job says that it begins.
    """

    pause: Pause
    every: int
    seconds: float
    is_announced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """What is the same for all attempts of a job.

    Attributes
    ----------
    number
        Which made-up job it is.
    pace_seconds
        From one progress line to the next, without pauses.
    startup_seconds
        From the start to the first progress line.
    """

    number: int
    pace_seconds: float
    startup_seconds: float
    schedules: tuple[Schedule, ...]


def generator(*words: int) -> np.random.Generator:
    """Return draws that depend on `words` only: counter-based, so no draw moves another.

    >>> float(generator(1, 2).random()) == float(generator(1, 2).random())
    True
    """
    key = np.random.SeedSequence(words).generate_state(2, np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def job_plan(
    number: int,
    *,
    pace_seconds: float | None = None,
    pause_ratio: float = 1.0,
    seed: int = SEED,
) -> JobPlan:
    """Make a job up, with a pace of its own where none is given.

    Pauses take `pause_ratio` times as long as they usually do: a slow filesystem.

    >>> job_plan(3) == job_plan(3)
    True
    """
    draws = generator(seed, number)
    drawn = _between(draws, PACES)
    pace = drawn if pace_seconds is None else pace_seconds
    save = Schedule(
        pause=Pause.CHECKPOINT,
        every=_lines(_between(draws, _EVERY_SAVE), pace),
        seconds=max(_LEAST_PAUSE, pause_ratio * _SAVE_SECONDS * _spread(draws)),
        is_announced=draws.random() >= _SHARE_SILENT_SAVE,
    )
    evaluation = Schedule(
        pause=Pause.EVALUATION,
        every=_lines(_between(draws, _EVERY_EVALUATION), pace),
        seconds=max(_LEAST_PAUSE, pause_ratio * _EVALUATION_LINES * pace * _spread(draws)),
        is_announced=draws.random() >= _SHARE_SILENT_EVALUATION,
    )
    evaluates = draws.random() < _SHARE_EVALUATING
    return JobPlan(
        number=number,
        pace_seconds=pace,
        startup_seconds=_between(draws, _STARTUP),
        schedules=(save, evaluation) if evaluates else (save,),
    )


def _lines(seconds: float, pace: float) -> int:
    return max(2, round(seconds / pace))


def _between(draws: np.random.Generator, bounds: tuple[float, float]) -> float:
    low, high = np.log(bounds)
    return float(np.exp(draws.uniform(low, high)))


def _spread(draws: np.random.Generator) -> float:
    return float(np.exp(_LENGTH_SPREAD * draws.standard_normal()))
