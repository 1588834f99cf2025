"""What a simulated cluster leaves behind, in the form that goodput is computed from."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from relume.features.goodput.buckets import ATTEMPTS, INCIDENTS, SECOND, STEPS, spans_of


@dataclass(slots=True)
class Recording:
    """Attempts, their steps and incidents; times are seconds, a step is a second of work."""

    attempts: list[tuple[str, str, int, float, float, float, bool]] = field(default_factory=list)
    steps: list[tuple[str, float, float]] = field(default_factory=list)
    incidents: list[tuple[str, float, float]] = field(default_factory=list)

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
