"""Bench `nab`: NAB's score, detections a day where nothing happens, and samples a second."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from relume import __version__
from relume.benchmarks.machine import describe, peak_rss_bytes
from relume.benchmarks.nab.corpus import NabSeries, exathlon_tables, nab_series
from relume.benchmarks.nab.detectors import DETECTORS, SECOND, SETTINGS, Detect
from relume.benchmarks.nab.scoring import score
from relume.benchmarks.registry import data_folder
from relume.benchmarks.result import BenchResult, Measure
from relume.models.baselines.baselines import Baselines, warm_up


def run(data: Path | None) -> BenchResult:
    """Run every detector on every series with the settings that it comes with. No bar."""
    folder = data_folder(data, "nab", "the recorded data folder")
    warm_up()
    wall, cpu = time.perf_counter(), time.process_time()
    series = list(nab_series(folder))
    measures: dict[str, Measure] = {}
    for name, detect in DETECTORS.items():
        measures |= {f"{name}_{what}": value for what, value in _run(detect, series).items()}
    measures |= _normal(folder)
    return BenchResult(
        id="nab",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "NAB and the normal traces of Exathlon",
            "origin": "recorded",
            "series": len(series),
            "samples": sum(len(one.values) for one in series),
            "windows": sum(len(one.labelled.windows) for one in series),
        },
        measures=measures,
        bars={},
        cpu_seconds=time.process_time() - cpu,
        wall_seconds=time.perf_counter() - wall,
        peak_rss_bytes=peak_rss_bytes(),
        notes={
            "score": "standard profile: 0 says nothing, 100 is perfect; no threshold was tuned",
            "outside": "detections outside of all windows, each counted, a day of a series",
        },
    )


def _run(detect: Detect, series: list[NabSeries]) -> dict[str, float]:
    began = time.process_time()
    found = [detect(one.values) for one in series]
    seconds = time.process_time() - began
    outside = sum(
        not any(first <= place <= last for first, last in one.labelled.windows)
        for one, places in zip(series, found, strict=True)
        for place in places
        if place >= one.labelled.probation
    )
    labelled = [(one.labelled, places) for one, places in zip(series, found, strict=True)]
    return {
        "nab_score": round(score(labelled), 2),
        "outside_per_series_day": round(outside / sum(one.days for one in series), 3),
        "samples_per_cpu_second": round(sum(len(one.values) for one in series) / seconds),
    }


def _normal(folder: Path) -> dict[str, Measure]:
    """Our baselines on whole tables of normal metrics, all columns at once."""
    alarms, samples, columns, rejected, seconds = 0, 0, 0, 0, 0.0
    for table in exathlon_tables(folder):
        rows, width = table.shape
        baselines = Baselines(SETTINGS)
        ids = np.tile(np.arange(width), rows)
        times = np.repeat(np.arange(rows) * SECOND, width)
        began = time.process_time()
        alarms += len(baselines.update(ids, times, table.ravel()).ids)
        seconds += time.process_time() - began
        rejected += baselines.counts.rejected
        samples += table.size
        columns += width
    return {
        "exathlon_columns": columns,
        "exathlon_alarms_per_series_day": round(alarms / (samples / 86_400), 3),
        "exathlon_samples_without_a_number": round(rejected / samples, 4),
        "exathlon_samples_per_cpu_second": round(samples / seconds),
    }
