"""Bench `scale-out`: bytes, CPU time and speed of a backtest by jobs of a real Slurm, over kills.

All of it is on one machine: daemons of Slurm, jobs, and who asks for them. CPU time of Dask is that
of this process, with the scheduler, and of each worker from its start to the end of the replay:
imports and the loading of rules count. Beside it stands one process that has these behind it. The
machine may be busy with other things, so one process and two workers take turns, the median of
these pairs counts, and walls are compared with walls of the same minute only.
"""

from __future__ import annotations

import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from relume import __version__
from relume.benchmarks.backtest.kills import Killed, compare
from relume.benchmarks.ingest.corpus import SEED, make_recording
from relume.benchmarks.machine import Usage, describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.scaleout.slow import READ_BYTES, ROUND_TRIP_SECONDS, SlowRecording
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.packages import install_slurm
from relume.benchmarks.slurm.settings import LabSettings
from relume.serve.backtest.engines.dasked import Dask
from relume.serve.backtest.engines.slurm import SlurmWorkers, dask_on_slurm
from relume.serve.backtest.engines.work import HERE, Engine
from relume.serve.backtest.results import RESULTS_FILE, Results, read_units
from relume.serve.backtest.run import Judging, Recording
from relume.serve.databases import DatabaseFolder
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

LINES, QUICK_LINES = 500_000, 40_000
LINES_AN_ATTEMPT = 5_000
SMALL_LINES, SMALL_LINES_AN_ATTEMPT = 20_000, 1_000
"""The recording that is replayed over a kill, and read slowly."""
PAIRS, QUICK_PAIRS = 3, 1
MEMORY_BYTES = 2 << 30
WAIT_SECONDS = 120
_BARS = {
    "results_that_differ": Bar("==", 0),
    "killed_results_that_differ": Bar("==", 0),
    "workers_killed": Bar(">=", 1),
    "cpu_overhead": Bar("<=", 0.15),
    "speedup_of_two_workers": Bar(">=", 1.6),
}


@dataclass(frozen=True, slots=True, order=True)
class _Pair:
    """One process beside two workers, by what the workers took more, as a share."""

    overhead: float
    alone: Usage = field(compare=False)
    cpu_seconds: float = field(compare=False)
    wall_seconds: float = field(compare=False)
    is_same: bool = field(compare=False)


@dataclass(slots=True)
class _Trial:
    """Replays into folders of their own below `folder`."""

    folder: Path
    judging: Judging
    _number: int = field(default=0)

    def replay(
        self,
        recording: Recording,
        engine: Engine,
        advance: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> tuple[Path, float]:
        """Replay everything; return where the results are, and how long it took."""
        self._number += 1
        out = self.folder / f"out-{self._number}"
        began = time.perf_counter()
        with Results(out, recording.about(self.judging)) as results:
            recording.replay(self.judging, results, advance, engine=engine)
            results.require_whole()
        return out / RESULTS_FILE, time.perf_counter() - began


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Replay here and there; `quick` a tenth of it, whose start takes too much of the CPU time."""
    del data
    install_slurm()
    lines = QUICK_LINES if quick else LINES
    with tempfile.TemporaryDirectory(prefix="relume-scale-") as name:
        folder = Path(name)
        analyzer = Analyzer(store=DatabaseFolder(folder / "rules"))
        trial = _Trial(folder, Judging(analyzer=analyzer, settings=WatchSettings()))
        large = _recording(folder / "large", lines, LINES_AN_ATTEMPT)
        _recording(folder / "small", SMALL_LINES, SMALL_LINES_AN_ATTEMPT)
        small, slow = Recording(folder / "small"), SlowRecording(folder / "small")
        trial.replay(small, HERE)  # what is compiled at the first use
        with _lab():
            pairs = [_pair(trial, large) for _ in range(QUICK_PAIRS if quick else PAIRS)]
            measures = _compared(pairs) | _disturbed(trial, small, slow)
    alone = statistics.median_low(pairs).alone
    return BenchResult(
        id="scale-out",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "generated runs; a real Slurm on one machine",
            "hash": f"seed {SEED}",
            "lines": lines,
            "attempts": lines // LINES_AN_ATTEMPT,
            "lines_read_slowly": SMALL_LINES,
        },
        measures=measures,
        bars=dict(_BARS) if not quick else {k: v for k, v in _BARS.items() if "cpu" not in k},
        cpu_seconds=alone.cpu_seconds,
        wall_seconds=alone.wall_seconds,
        peak_rss_bytes=alone.peak_rss_bytes,
        notes={
            "slow reads": f"each {READ_BYTES >> 10} KiB of a log comes {ROUND_TRIP_SECONDS:g} s "
            "after it was asked for: a pause in front of each block that is read, in every worker",
            "cpu_overhead": "scheduler, client and workers with their start, over one process "
            f"without its start; in the middle of {len(pairs)} pairs",
        },
    )


def _recording(folder: Path, lines: int, lines_an_attempt: int) -> Recording:
    make_recording(folder, lines=lines, attempts=lines // lines_an_attempt)
    return Recording(folder)


def _pair(trial: _Trial, large: Recording) -> _Pair:
    """Replay by this process, then by two jobs from their start."""
    (expected, _), alone = measured(lambda: trial.replay(large, HERE))
    with _workers(trial, 2) as engine:
        began = time.process_time()
        there, wall = trial.replay(large, engine)
        spent = time.process_time() - began + _cpu_seconds(engine)
    return _Pair(
        overhead=spent / alone.cpu_seconds - 1,
        alone=alone,
        cpu_seconds=spent,
        wall_seconds=wall,
        is_same=there.read_bytes() == expected.read_bytes(),
    )


def _compared(pairs: Sequence[_Pair]) -> dict[str, Measure]:
    """Tell whether the bytes are the same each time, and what the pair in the middle cost."""
    middle = statistics.median_low(pairs)
    overheads = [one.overhead for one in pairs]
    return {
        "results_that_differ": sum(not one.is_same for one in pairs),
        "cpu_overhead": round(middle.overhead, 4),
        "cpu_overhead_least": round(min(overheads), 4),
        "cpu_overhead_most": round(max(overheads), 4),
        "cpu_seconds_alone": round(middle.alone.cpu_seconds, 1),
        "cpu_seconds_of_two_workers": round(middle.cpu_seconds, 1),
        "wall_seconds_alone": round(middle.alone.wall_seconds, 1),
        "wall_seconds_of_two_workers": round(middle.wall_seconds, 1),
    }


def _disturbed(trial: _Trial, small: Recording, slow: Recording) -> dict[str, Measure]:
    """Kill a worker; then read slowly, with one worker and with two."""
    expected, _ = trial.replay(small, HERE)
    killed = Killed()
    walls = {}
    for workers in (2, 1):
        with _workers(trial, workers) as engine:
            trial.replay(small, engine)  # what a worker does once
            if workers == 2:  # noqa: PLR2004 - one is killed, one is left
                there, _ = trial.replay(small, engine, _killer(engine, killed))
                found, wanted = list(read_units(there)), list(read_units(expected))
                compare(found, wanted, killed)
                same = there.read_bytes() == expected.read_bytes()
                engine.client.wait_for_workers(workers, timeout=WAIT_SECONDS)
                trial.replay(small, engine)  # what the new worker does once
            slowly, walls[workers] = trial.replay(slow, engine)
            same = same and slowly.read_bytes() == expected.read_bytes()
    return {
        "workers_killed": killed.kills,
        "killed_results_lost": killed.lost,
        "killed_results_that_differ": killed.other + killed.lost + killed.doubled + (not same),
        "slow_wall_seconds_of_one_worker": round(walls[1], 1),
        "slow_wall_seconds_of_two_workers": round(walls[2], 1),
        "speedup_of_two_workers": round(walls[1] / walls[2], 2),
    }


def _killer(engine: Dask, killed: Killed) -> Callable[[int, int], None]:
    """Return what kills a worker when a third of the runs are done."""
    victim = min(engine.client.run(os.getpid).values())

    def advance(done: int, total: int) -> None:
        if not killed.kills and done >= total // 3:
            os.kill(victim, signal.SIGKILL)
            killed.kills += 1

    return advance


def _cpu_seconds(engine: Dask) -> float:
    """Return the CPU time of all workers since they were started."""
    workers: dict[str, float] = engine.client.run(time.process_time)
    return sum(workers.values())


@contextmanager
def _workers(trial: _Trial, number: int) -> Iterator[Dask]:
    """Submit workers, and wait until all of them are there."""
    asked = SlurmWorkers(folder=trial.folder / "workers", workers=number, memory_bytes=MEMORY_BYTES)
    with dask_on_slurm(asked) as engine:
        engine.client.wait_for_workers(number, timeout=WAIT_SECONDS)
        yield engine


@contextmanager
def _lab() -> Iterator[None]:
    """Run a Slurm, which the commands of this process talk to meanwhile."""
    before = dict(os.environ)
    settings = LabSettings(nodes=2, accounting=False)
    # A folder of its own, with a short name: unix sockets lie in it.
    with (
        tempfile.TemporaryDirectory(prefix="rs-") as name,
        SlurmLab(Path(name), settings) as lab,
    ):
        os.environ.update(lab.environment)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
