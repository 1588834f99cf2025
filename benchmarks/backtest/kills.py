"""A backtest that is killed at random moments, and what its results are in the end."""

from __future__ import annotations

import multiprocessing
import random
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from relume.benchmarks.killing import forkserver, run_over_kills
from relume.serve.backtest.results import RESULTS_FILE, Results, UnitResult
from relume.serve.backtest.run import Judging, Recording
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer


@dataclass(slots=True)
class Killed:
    """What became of it.

    Attributes
    ----------
    kills, rounds
        Backtests that were killed; results that were brought to their end over kills.
    lost, doubled, other
        Units that are missing in the end, that are there twice, and whose result differs from that
        of an undisturbed backtest.
    """

    kills: int = 0
    rounds: int = 0
    lost: int = 0
    doubled: int = 0
    other: int = 0


def backtest(path: Path, out: Path) -> None:
    """Replay a data set or lake into `out`, or go on with it."""
    judging = Judging(analyzer=Analyzer(), settings=WatchSettings())
    recording = Recording(path)
    with Results(out, recording.about(judging)) as results:
        recording.replay(judging, results)


def kill_backtests(path: Path, folder: Path, *, kills: int, seed: int) -> Killed:
    """Backtest `path` again and again, killed `kills` times; compare each result in the end.

    `folder` gets the results. The processes begin with everything imported, and share nothing.
    """
    context, draw, found = forkserver(__name__), random.Random(seed), Killed()

    def start(out: Path) -> multiprocessing.process.BaseProcess:
        return context.Process(target=backtest, args=(path, out))

    began = time.perf_counter()
    run_over_kills(partial(start, folder / "whole"), at_most=0, seconds=lambda: 0.0)
    seconds = time.perf_counter() - began
    expected = _results(folder / "whole")
    while found.kills < kills:
        out = folder / str(found.rounds)
        found.kills += run_over_kills(
            partial(start, out),
            at_most=kills - found.kills,
            seconds=lambda: draw.uniform(0, seconds),
        )
        found.rounds += 1
        compare(_results(out), expected, found)
    return found


def _results(out: Path) -> list[UnitResult]:
    with (out / RESULTS_FILE).open("rb") as stream:
        return [msgspec.json.decode(line, type=UnitResult) for line in stream]


def compare(there: list[UnitResult], wanted: list[UnitResult], found: Killed) -> None:
    """Add to `found` what is other in `there` than in an undisturbed backtest, in any order."""
    ours = {one.unit: one for one in there}
    theirs = {one.unit: one for one in wanted}
    found.lost += len(theirs.keys() - ours.keys())
    found.doubled += len(there) - len(ours)
    found.other += sum(ours[name] != theirs.get(name) for name in ours)
