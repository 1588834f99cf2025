"""The series: those of NAB with their windows, and whole tables of normal metrics of Exathlon."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from relume.benchmarks.corpora.common import find_files
from relume.benchmarks.nab.scoring import Labelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FORMAT = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, slots=True)
class NabSeries:
    """One series of NAB: its name, its samples, its windows, and how long it is."""

    name: str
    values: NDArray[np.float64]
    labelled: Labelled
    days: float


def nab_series(data: Path) -> Iterator[NabSeries]:
    """Yield every series of NAB.

    Raises
    ------
    InputError
        When it isn't there.
    """
    [labels] = find_files(data, "nab", "labels/combined_windows.json")
    windows = json.loads(labels.read_text("utf-8"))
    for name in sorted(windows):
        path = labels.parent.parent / "data" / name
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))[1:]
        times = [_time(time) for time, _ in rows]
        places = tuple((_first(times, begin), _first(times, end)) for begin, end in windows[name])
        yield NabSeries(
            name,
            np.array([float(value) for _, value in rows]),
            Labelled(len(rows), places),
            (times[-1] - times[0]).total_seconds() / 86_400,
        )


def _first(times: list[datetime], text: str) -> int:
    """Place of the first sample at or after a time."""
    wanted = _time(text.partition(".")[0])
    return next((n for n, time in enumerate(times) if time >= wanted), len(times) - 1)


def _time(text: str) -> datetime:
    return datetime.strptime(text, _FORMAT).replace(tzinfo=UTC)  # no series names its zone


def exathlon_tables(data: Path) -> Iterator[NDArray[np.float64]]:
    """Yield the normal traces of Exathlon: a row a second, a column a metric.

    Raises
    ------
    InputError
        When they aren't there.
    """
    for path in find_files(data, "exathlon", "app*/*.zip"):
        with zipfile.ZipFile(path) as archive:
            [name] = [one for one in archive.namelist() if one.endswith(".csv")]
            table = pl.read_csv(archive.read(name), infer_schema_length=None)
        yield table[:, 1:].cast(pl.Float64).to_numpy()
