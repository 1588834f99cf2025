"""The recorded corpora, replayed and scored."""

from __future__ import annotations

from pathlib import Path

from relume.benchmarks.corpora.registry import find
from relume.models.scoring.score import ScoreReport, score
from relume.serve.backtest.outcome import Outcome
from relume.serve.backtest.results import Results
from relume.serve.backtest.run import Judging, Recording

HEALTHY = ("mlperf", "bigscience", "m4")
"""Corpora whose healthy attempts, and healthy stretches of others, must raise no alarm."""
SPLICED = "spliced"


def scored(name: str, data: Path, folder: Path, judging: Judging) -> tuple[Recording, ScoreReport]:
    """Make a corpus a data set below `folder`, replay it and return its score."""
    find(name).write(data, folder / name)
    recording = Recording(folder / name)
    with Results(folder / f"{name}-results", recording.about(judging)) as results:
        recording.replay(judging, results)
        return recording, score(Outcome(recording, results).attempts())
