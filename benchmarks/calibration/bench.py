"""Bench `calibration`: whether confidence is what it says, by tables that had not seen the case."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from relume import __version__
from relume.benchmarks.calibration.fitting import Observation, cross_fitted, fit
from relume.benchmarks.calibration.observing import Observed, observe_cases, observe_episodes
from relume.benchmarks.corpora import failure_cases
from relume.benchmarks.episodes.generate import episodes
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.models.diagnosis.confidence import Table, packaged
from relume.models.scoring.answers import expected_calibration_error
from relume.models.scoring.document import calibration

SEEDS = (20261130, 20261201)
"""Other episodes than those that bench `episodes` is measured on."""
PER_STORY = 6
QUICK_PER_STORY = 2
_BARS = {
    "recorded_error": Bar("<=", 0.07),
    "recorded_cross_fitted_error": Bar("<=", 0.07),
    "packaged_is_refitted": Bar("==", 1),
}


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Fit the table anew and measure it on what it had not seen; recorded and simulated apart.

    `quick` takes a third of the episodes, and then the packaged table can't come out again.
    """
    per_story = QUICK_PER_STORY if quick else PER_STORY
    folder = data_folder(data, "calibration", "the folder that holds failure-cases/")
    corpus = failure_cases.load(folder)
    (recorded, simulated), usage = measured(
        lambda: (observe_cases(corpus.cases), observe_simulated(per_story))
    )
    table = fit(simulated.observations, recorded)
    bars = {name: bar for name, bar in _BARS.items() if not quick or name != "packaged_is_refitted"}
    return BenchResult(
        id="calibration",
        version=__version__,
        machine=describe(),
        corpus={
            "name": f"{corpus.name}; episodes (simulated)",
            "hash": f"{corpus.hash} {simulated.hash}",
            "cases": len(recorded),
            "episodes": len(simulated.observations),
        },
        measures=_measures(table, recorded, simulated.observations),
        bars=bars,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "recorded": calibration(_answers(packaged(), recorded)),
            "simulated": calibration(_answers(packaged(), simulated.observations)),
            "table": document(table, corpus.hash, len(recorded), simulated),
        },
    )


def observe_simulated(per_story: int = PER_STORY) -> Observed:
    """Judge the episodes of all seeds."""
    return observe_episodes(chain.from_iterable(episodes(seed, per_story) for seed in SEEDS))


def document(table: Table, corpus: str, cases: int, simulated: Observed) -> dict[str, Any]:
    """Return the content of `confidence.toml`, and what it was fitted on."""
    return {
        "base": table.base,
        "most": table.most,
        "marks": dict(table.marks),
        "seen": dict(table.seen),
        "made": {
            "version": __version__,
            "episode_seeds": list(SEEDS),
            "episodes": len(simulated.observations),
            "episodes_hash": simulated.hash,
            "cases": cases,
            "cases_hash": corpus,
        },
    }


def _measures(
    table: Table, recorded: Sequence[Observation], simulated: Sequence[Observation]
) -> dict[str, Measure]:
    """Errors of the packaged table, and of tables fitted without the case they are asked of."""
    errors = {
        "recorded_error": _answers(packaged(), recorded),
        "recorded_cross_fitted_error": cross_fitted(recorded, simulated, recorded=True),
        "simulated_error": _answers(packaged(), simulated),
        "simulated_cross_fitted_error": cross_fitted(simulated, recorded, recorded=False),
    }
    measures: dict[str, Measure] = {
        name: round(expected_calibration_error(answers), 4) for name, answers in errors.items()
    }
    measures["packaged_is_refitted"] = int(table == packaged())
    return measures


def _answers(table: Table, asked: Sequence[Observation]) -> list[tuple[float, bool]]:
    return [(one.confidence(table), one.right) for one in asked]
