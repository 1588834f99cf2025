"""Bench `replay`: how many events a second of CPU time a backtest judges.

An event is what lands: a line of a log, a sample of a metric, a word of the scheduler. Ticks are
counted apart: a replay makes them itself, wherever a second can change something. Four recordings:
runs as they are, a line every few seconds; a job that prints hundreds of steps in each second, as
where every rank prints; one that prints as many lines without a step; and the metrics of a job's
nodes. The slowest counts.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np

from relume import __version__
from relume.benchmarks.demo import frameworks
from relume.benchmarks.demo.world import make_world
from relume.benchmarks.ingest.corpus import SEED, make_recording
from relume.benchmarks.machine import describe, measured, reference_rate, too_slow
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.clock import MICROSECONDS_PER_SECOND, from_datetime
from relume.dataset import AttemptEntry, DatasetHeader, LogFile
from relume.events import Tick
from relume.ingest.datasets import Dataset, read_dataset, write_dataset
from relume.ingest.lake.batches import Landing, LineBatch
from relume.ingest.lake.samplebatches import SampleBatch, SampleSeries, series_table
from relume.serve.backtest.replay import replay_unit
from relume.serve.backtest.sources import Unit
from relume.serve.backtest.units import dataset_units
from relume.serve.live.judge import Judge
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer

LINES, QUICK_LINES = 200_000, 10_000
LINES_AN_ATTEMPT = 20_000
LINES_A_SECOND = 500
CLUSTER = "made-up"
NODES, GPUS, SAMPLE_SECONDS = 8, 8, 15
METRICS = (
    "gpu_power_watts",
    "gpu_utilisation_ratio",
    "gpu_sm_clock_hertz",
    "gpu_throttle_reasons_bits",
)
"""All of them are listened to; others would cost next to nothing."""
ROUNDS_AT_ONCE = 40
"""Scrapes in one table, as a lake's reader gives them."""
BAR = 1_000_000
_START = datetime(2026, 3, 2, 3, 0, tzinfo=UTC)
_PLAIN = "worker of the loader has opened the next shard of the blend, 512 documents are in it"
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+")


@dataclass(frozen=True, slots=True)
class Replay:
    """A recording that was replayed: its events, its ticks, and the CPU seconds it took."""

    events: int
    ticks: int
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Events per CPU-second."""
        return self.events / self.cpu_seconds


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Replay generated recordings; `quick` small ones. No `data`."""
    del data  # made here
    lines = QUICK_LINES if quick else LINES
    with tempfile.TemporaryDirectory(prefix="relume-replay-") as work:
        found, usage = measured(lambda: _all(Path(work), lines))
    reference = reference_rate()
    measures: dict[str, Measure] = {}
    for name, replay in found.items():
        measures |= {
            f"{name}_events": replay.events,
            f"{name}_ticks": replay.ticks,
            f"{name}_events_per_cpu_second": round(replay.rate),
        }
    slowest = min(replay.rate for replay in found.values())
    return BenchResult(
        id="replay",
        version=__version__,
        machine=describe(),
        corpus={"name": "generated runs", "hash": f"seed {SEED}", "lines": lines},
        measures=measures
        | {
            "events_per_cpu_second": round(slowest),
            "reference_memchr_mb_per_cpu_second": round(reference),
        },
        bars={"events_per_cpu_second": Bar(">=", BAR)},
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        void=too_slow(reference),
    )


def _all(folder: Path, lines: int) -> dict[str, Replay]:
    analyzer = Analyzer()
    sparse = make_recording(
        folder / "sparse", lines=lines, attempts=max(2, lines // LINES_AN_ATTEMPT)
    )
    dense = dense_log(folder / "dense", lines)
    plain = dense_log(folder / "plain", lines, words=_PLAIN)
    warm = next(iter(dataset_units(sparse)))
    replay_unit(warm, analyzer, WatchSettings(), "UTC")
    return {
        "sparse": replayed(list(dataset_units(sparse)), analyzer),
        "dense": replayed(list(dataset_units(dense)), analyzer),
        "plain": replayed(list(dataset_units(plain)), analyzer),
        "samples": replayed([measured_unit(folder / "metrics", lines)], analyzer),
    }


def replayed(units: Sequence[Unit], analyzer: Analyzer) -> Replay:
    """Replay twice: once to count, once on the clock."""
    counts = {"events": 0, "ticks": 0}

    def look(_: Judge, landing: Landing) -> None:
        if isinstance(landing, LineBatch):
            counts["events"] += landing.block.data.count(b"\n")
        elif isinstance(landing, SampleBatch):
            counts["events"] += len(landing)
        else:
            counts["ticks" if isinstance(landing, Tick) else "events"] += 1

    for unit in units:
        replay_unit(unit, analyzer, WatchSettings(), "UTC", look=look)
    began = process_time()
    for unit in units:
        replay_unit(unit, analyzer, WatchSettings(), "UTC")
    return Replay(counts["events"], counts["ticks"], process_time() - began)


def dense_log(folder: Path, lines: int, *, words: str | None = None) -> Dataset:
    """Megatron's lines, or such with other `words`, `LINES_A_SECOND` with one clock."""
    folder.mkdir()
    world = make_world(f"{SEED}")
    printed = islice(frameworks.megatron(world, 2 * lines), 2, lines + 2)
    with (folder / "job.out").open("w") as log:
        for number, line in enumerate(printed):
            stamp = _stamp(number // LINES_A_SECOND)
            told = _STAMP.sub(stamp, line, count=1) if words is None else f"[{stamp}] {words}"
            log.write(f"{told}\n")
    return _one(folder, seconds=lines // LINES_A_SECOND + 60, files=("job.out",))


def _stamp(second: int) -> str:
    return f"{_START + timedelta(seconds=second):%Y-%m-%d %H:%M:%S}.000000"


def measured_unit(folder: Path, samples: int) -> Unit:
    """A job that prints nothing, and the metrics of its nodes."""
    folder.mkdir()
    rounds = samples // (NODES * GPUS * len(METRICS))
    dataset = _one(folder, seconds=rounds * SAMPLE_SECONDS, files=())
    [unit] = dataset_units(dataset)
    return replace(unit, samples=lambda _: _samples(rounds))


def _samples(rounds: int) -> Iterator[SampleBatch]:
    """Scrapes of all GPUs, in tables of `ROUNDS_AT_ONCE`."""
    start, step = from_datetime(_START), SAMPLE_SECONDS * MICROSECONDS_PER_SECOND
    places = [(f"n{node}", str(gpu)) for node in range(NODES) for gpu in range(GPUS)]
    named = [SampleSeries(metric, *place) for place in places for metric in METRICS]
    gpus = np.array([int(one.gpu or 0) for one in named])
    for first in range(0, rounds, ROUNDS_AT_ONCE):
        numbers = np.arange(first, min(first + ROUNDS_AT_ONCE, rounds))
        yield SampleBatch(
            series=series_table(named),
            row_series=np.tile(np.arange(len(named), dtype=np.int32), len(numbers)),
            event_time=np.repeat(start + numbers * step, len(named)),
            value=(400.0 + (numbers[:, None] * 7 + gpus) % 50).ravel(),
            source="bench",
            cluster=CLUSTER,
        )


def _one(folder: Path, *, seconds: int, files: Sequence[str]) -> Dataset:
    start = from_datetime(_START)
    entry = AttemptEntry(
        attempt=f"{CLUSTER}/1@{start // MICROSECONDS_PER_SECOND}.0",
        nodes=tuple(f"n{node}" for node in range(NODES)),
        start=start,
        end=start + seconds * MICROSECONDS_PER_SECOND,
        state="COMPLETED",
        files=tuple(LogFile(path=name) for name in files),
    )
    write_dataset(folder, DatasetHeader(name=folder.name), [entry])
    return read_dataset(folder)
