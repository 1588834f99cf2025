"""Recordings of made-up attempts, as data sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from relume.clock import MICROSECONDS_PER_SECOND, to_iso
from relume.dataset import AttemptEntry, DatasetHeader, LogFile
from relume.ingest.datasets import Dataset, write_dataset
from relume.serve.backtest.run import Judging
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

SECOND = MICROSECONDS_PER_SECOND
START = 1_772_607_600 * SECOND
"""2026-03-04 07:00:00 UTC."""
TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "train.py", line 12, in forward',
    "ValueError: shapes don't match",
)


@cache
def judging() -> Judging:
    return Judging(analyzer=Analyzer(), settings=WatchSettings())


def clock(seconds: float, start: int = START) -> str:
    """Return `seconds` after the start as a log would print it."""
    return to_iso(start + int(seconds * SECOND))[:19].replace("T", " ")


def steps(count: int, first: int = 1, *, every: float = 1.0, start: int = START) -> list[str]:
    """Lines of a job that makes a step every so many seconds."""
    return [
        f"[{clock((first + n) * every, start)}] iter {first + n}: loss 3.9, time 1000.00ms"
        for n in range(count)
    ]


def entry(number: int = 7, **changes: Any) -> AttemptEntry:
    """One attempt of job `number` on two nodes that failed."""
    fields: dict[str, Any] = {
        "attempt": f"lab/{number}@{START // SECOND + number}.0",
        "nodes": ("gpu-a01", "gpu-a02"),
        "state": "FAILED",
        "exit_code": 1,
        "incidents": (),
    }
    return AttemptEntry(**(fields | changes))


def logged(folder: Path, name: str, lines: Sequence[str], **changes: Any) -> LogFile:
    """Write a log and return it, with its name only."""
    (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return LogFile(path=name, **changes)


def recorded(folder: Path, *entries: AttemptEntry, nodes: Sequence[LogFile] = ()) -> Dataset:
    """Write a data set over logs that are in `folder`."""
    return write_dataset(folder, DatasetHeader(name="made up", node_logs=tuple(nodes)), entries)
