"""Small simulated clusters with many faults, and their telemetry."""

from __future__ import annotations

from pathlib import Path

from recording import judging
from relume.benchmarks.simulator.operators import BASELINE
from relume.benchmarks.simulator.parameters import load
from relume.benchmarks.simulator.simulate import Living, Setting, live
from relume.models.scoring.score import ScoreReport, score
from relume.serve.backtest.outcome import Outcome
from relume.serve.backtest.results import Results
from relume.serve.backtest.run import Recording


def small_cluster(
    seed: int = 21,
    *,
    nodes: int = 12,
    days: float = 0.06,
    jobs: int | None = 16,
    faults: float = 5_000,
) -> Living:
    """An hour and a half of a cluster in which much goes wrong."""
    setting = Setting(nodes=nodes, days=days, jobs=jobs, seed=seed)
    return live(load().with_faults(faults), setting, BASELINE)


def scored(folder: Path, out: Path) -> ScoreReport:
    """Return the score of a backtest of a data set; results go to `out`."""
    recording = Recording(folder)
    with Results(out, recording.about(judging())) as results:
        recording.replay(judging(), results)
        return score(Outcome(recording, results).attempts())
