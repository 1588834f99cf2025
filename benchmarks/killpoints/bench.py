"""Bench `kill-points`: whatever a death leaves, nothing acknowledged is lost, or said twice.

Two parts, side by side. In processes of this program stories are told to a live run while the disk
is kept as it is before and after every write, fsync, rename and unlink, after every page of
SQLite's log, and as a power failure then would leave it; a new run goes on from each such disk. And
a real `relume serve` is killed again and again under snapshots, logs and pushes.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from pathlib import Path

from relume import __version__
from relume.benchmarks.killing import forkserver
from relume.benchmarks.killpoints.deaths import Stage, Told, deadline, die_everywhere
from relume.benchmarks.killpoints.sigkills import Survived, survive
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.serve.offline import Analyzer

DEATHS, KILLS = 9_700, 300
LIMIT: int | None = None
"""Deaths of one story at most; null for all of its points."""
WORKERS = max(1, min(2, os.cpu_count() or 1))
"""Processes that tell stories beside the service that is killed."""
TORN = 2
"""Disks without power that are drawn at each call, beside the one with the least on it."""
SEED = 20261201
MEMORY = Path("/dev/shm")  # noqa: S108 - only which disk it is: what dies here is made up


def run(data: Path | None = None, *, minutes: float | None = None) -> BenchResult:
    """Run it; `data` is not used, `minutes` ends it sooner."""
    del data
    folder = Path(tempfile.mkdtemp(prefix="relume-kill-points-"))
    until = deadline(1e9 if minutes is None else minutes)
    (told, survived), usage = measured(lambda: _both(folder, until))
    result = BenchResult(
        id="kill-points",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "made-up jobs that fail and come back, drawn",
            "hash": f"seed {SEED}",
            "calls_of_a_story": told.calls,
        },
        measures=measures(told, survived),
        bars=bars(is_whole=minutes is None),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={
            "deaths": dict(sorted(told.deaths.items())),
            "in_process": {k: v for k, v in asdict(told).items() if k not in {"deaths", "calls"}},
            "sigkills": asdict(survived),
        },
    )
    if result.passed:
        shutil.rmtree(folder)
    else:
        sys.stderr.write(f"relume: what the service said is in {folder}\n")
    return result


def measures(told: Told, survived: Survived) -> dict[str, Measure]:
    """Return what is measured, of both parts together where they show the same."""
    return {
        "deaths": sum(told.deaths.values()),
        "kills": survived.kills,
        "pushes_acknowledged": survived.pushes,
        "advice_in_kills": survived.advice,
        "lost_acknowledged": told.lost_commits + told.lost_lines + survived.lost_lines,
        "doubled_events": told.doubled_lines + survived.doubled_lines,
        "lost_advice": told.lost_advice + survived.lost_advice,
        "doubled_advice": told.doubled_advice + survived.doubled_advice,
        "unlike_a_replay": told.unlike + survived.unlike,
    }


def bars(*, is_whole: bool) -> dict[str, Bar]:
    """Return what must be reached; a run that is ended sooner has no number of deaths to reach."""
    names = ("lost_acknowledged", "doubled_events", "lost_advice", "doubled_advice")
    found = dict.fromkeys((*names, "unlike_a_replay"), Bar("==", 0))
    if is_whole:
        found |= {"deaths": Bar(">=", DEATHS), "kills": Bar(">=", KILLS)}
    return found


def _both(folder: Path, until: Callable[[], bool]) -> tuple[Told, Survived]:
    told = Told()
    context = forkserver(__name__)
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        rounds = _Rounds(pool, folder, WORKERS)
        survived = survive(folder / "service", KILLS, SEED, lambda: until() or rounds.look(told))
        while sum(told.deaths.values()) < DEATHS and not until():
            rounds.wait(told)
        rounds.stop(told)
    return told, survived


class _Rounds:
    """Stories in other processes, one after the other, until there are deaths enough."""

    def __init__(self, pool: ProcessPoolExecutor, folder: Path, workers: int) -> None:
        self._pool, self._folder = pool, folder
        self._running: set[Future[Told]] = set()
        self._seed = SEED
        self._stop = folder / "enough"
        for _ in range(workers):
            self._begin()

    def _begin(self) -> None:
        self._seed += 1
        work = self._pool.submit(tell_a_story, self._seed, self._stop, LIMIT)
        self._running.add(work)

    def look(self, told: Told, seconds: float = 0.0) -> bool:
        """Take what is finished, and begin the next; always false."""
        done, _ = wait(self._running, seconds, FIRST_COMPLETED)
        for one in done:
            self._running.remove(one)
            told.add(one.result())
            if sum(told.deaths.values()) < DEATHS:
                self._begin()
        return False

    def wait(self, told: Told) -> None:
        """Wait for a while for what is running."""
        self.look(told, 1.0)

    def stop(self, told: Told) -> None:
        """Let those that are running come to an end, and take what they have."""
        self._stop.touch()
        for one in self._running:
            told.add(one.result())


def tell_a_story(seed: int, stop: Path, limit: int | None = None) -> Told:
    """Tell the story of a seed and die at all of its points, `limit` of them at most."""
    logging.getLogger("relume").setLevel(logging.CRITICAL)
    where = MEMORY if MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="relume-story-", dir=where))
    try:
        stage = Stage(folder, Analyzer(), torn=TORN, seed=seed)
        stage.record()
        return die_everywhere(stage, stage.drawn(limit), stop.exists)
    finally:
        shutil.rmtree(folder)
