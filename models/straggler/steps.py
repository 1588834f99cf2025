"""What a progress line says of the pace: one reading of how long steps take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Printer(NamedTuple):
    """Who prints: the format of the lines, their file, and the rank where they name it."""

    format: str
    file: str = ""
    rank: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """How long steps took up to one progress line.

    Attributes
    ----------
    value
        Time of one step. Seconds, or any unit that doubles when steps take twice as long (the
        inverse of a printed rate): only ratios count.
    trust
        How much the measure tells: of several printers the one with more is judged.
    span_seconds
        How long the steps took of which this is the mean: from one reading to the next. Null when
        nothing tells.
    work
        What a step did, in any unit that doubles with the batch (rate times seconds); null when the
        line doesn't print both. Where it changes for good, the batch was changed: no slowdown.
    wait_seconds
        Part of the step that was spent waiting for input; null when it isn't printed.
    run
        How many times the steps began anew before it: restarts within the attempt.
    disturbed
        Whether an evaluation, a checkpoint or an epoch's start lies in between.
    step, line, file, time
        Where it was printed: number of the step, line (0-based) in its file, UTC microseconds; null
        time without a clock.
    """

    value: float
    trust: int = 0
    span_seconds: float | None = None
    work: float | None = None
    wait_seconds: float | None = None
    run: int = 0
    disturbed: bool = False
    step: int = 0
    line: int = 0
    file: str = ""
    time: int | None = None
