"""Runs to be replayed by engines, and a recording whose runs kill whoever replays them."""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path

from recording import SECOND, START, TRACEBACK, entry, logged, recorded, steps
from relume.benchmarks.slurm.processes import wait_until
from relume.models.templates.history import TemplateHistory
from relume.serve.backtest.engines.work import Engine
from relume.serve.backtest.replay import Note
from relume.serve.backtest.results import RESULTS_FILE, Results, UnitResult
from relume.serve.backtest.run import Judging, Recording
from relume.serve.databases import DatabaseFolder, cache_folder
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

RUNS = 4
AHEAD, PATIENCE = 6, 60
"""Units that a process signs for before another one did, and the seconds it waits for that then."""
HUNGRY_BYTES = 768 << 20
DEADLY, SHOT = "deadly", "shot"
"""Files beside a data set: a run that kills each process, and one that kills the first."""


@cache
def judged() -> Judging:
    """Return how runs are judged, by rules that are compiled once for all processes."""
    folder = cache_folder()
    store = None if folder is None else DatabaseFolder(folder)
    return Judging(analyzer=Analyzer(store=store), settings=WatchSettings())


def make_runs(folder: Path) -> Path:
    """Write runs of which every other one fails; each says where its log is, wherever copied."""
    entries = []
    for number in range(RUNS):
        start = START + number * 1000 * SECOND
        fails = number % 2
        lines = [*steps(20, start=start), *(TRACEBACK if fails else ("training is done",))]
        log = logged(folder, f"{number}.out", lines)
        ended = {} if fails else {"state": "COMPLETED", "exit_code": 0}
        end = start + 25 * SECOND
        log = type(log)(path=str(folder / log.path))
        entries.append(entry(number, files=(log,), start=start, end=end, **ended))
    recorded(folder, *entries)
    return folder


def copied(data: Path, folder: Path, deadly: str, shot: str) -> Path:
    """Return a copy of a data set over the same logs, in which two runs kill."""
    folder.mkdir()
    for path in data.iterdir():
        if path.suffix != ".out":
            (folder / path.name).write_bytes(path.read_bytes())
    (folder / DEADLY).write_text(deadly)
    (folder / SHOT).write_text(shot)
    return folder


def replayed(recording: Recording, out: Path, engine: Engine) -> bytes:
    """Replay what isn't there yet, and return all results as they are on disk."""
    with Results(out, recording.about(judged())) as results:
        recording.replay(judged(), results, engine=engine)
    return (out / RESULTS_FILE).read_bytes()


def units(results: bytes) -> list[str]:
    """Return the names of the units of results."""
    return [line.split(b'"')[3].decode() for line in results.splitlines()]


class Dying(Recording):
    """A recording whose units die as files beside it say."""

    def replay_one(
        self,
        unit: str,
        judging: Judging,
        *,
        teaches: TemplateHistory | None = None,
        note: Note | None = None,
    ) -> UnitResult:
        """Replay a unit, or kill this process."""
        folder, _ = self._from
        if _names(folder / DEADLY, unit) or (
            _names(folder / SHOT, unit) and _is_first(folder / "fired")
        ):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().replay_one(unit, judging, teaches=teaches, note=note)


class Signing(Recording):
    """A recording whose units are signed by the process that replays them, in turns with others."""

    def replay_one(
        self,
        unit: str,
        judging: Judging,
        *,
        teaches: TemplateHistory | None = None,
        note: Note | None = None,
    ) -> UnitResult:
        """Replay a unit once no other process is far behind."""
        folder, _ = self._from
        wait_until(lambda: _is_turn(folder), what="another worker that signs", seconds=PATIENCE)
        with (folder / f"{os.getpid()}.signed").open("a", encoding="utf-8") as signed:
            signed.write(f"{unit}\n")
        return super().replay_one(unit, judging, teaches=teaches, note=note)


class Hungry(Recording):
    """A recording whose units take memory, and don't end before somebody ends them."""

    def replay_one(
        self,
        unit: str,
        judging: Judging,
        *,
        teaches: TemplateHistory | None = None,
        note: Note | None = None,
    ) -> UnitResult:
        """Hold `HUNGRY_BYTES`; what is replayed when nobody minded says so."""
        held = b"x" * HUNGRY_BYTES
        wait_until(lambda: not held, what="the end of this worker", seconds=PATIENCE)
        return super().replay_one(unit, judging, teaches=teaches, note=note)


def signed(folder: Path) -> list[int]:
    """Return how many units each process signed for."""
    return [len(path.read_text().splitlines()) for path in folder.glob("*.signed")]


def _is_turn(folder: Path) -> bool:
    own = folder / f"{os.getpid()}.signed"
    count = len(own.read_text().splitlines()) if own.exists() else 0
    return count < AHEAD or sum(signed(folder)) - count > count - AHEAD


def _names(path: Path, unit: str) -> bool:
    return path.exists() and path.read_text() == unit


def _is_first(path: Path) -> bool:
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
