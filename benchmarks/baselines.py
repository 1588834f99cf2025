"""Bench `baselines`: points per CPU-second of the numba baselines, beside river's own."""

from __future__ import annotations

import statistics
import time

import numpy as np
from river import drift, stats

from relume import __version__
from relume.benchmarks.machine import describe, peak_rss_bytes
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.models.baselines.baselines import Baselines, warm_up
from relume.models.baselines.samples import Samples
from relume.models.baselines.series import NEVER, SERIES_BYTES

SIZES = (10_000, 100_000, 1_000_000)
POINTS = 1_000_000
ROUNDS = 5
PEER_SERIES, PEER_POINTS = 100, 20_000
_BATCH_MICROS = 10_000_000_000
_BARS = {
    "in_order_10000_series": Bar(">=", 20e6),
    "in_order_100000_series": Bar(">=", 20e6),
    "in_order_1000000_series": Bar(">=", 20e6),
    "random_1000000_series": Bar(">=", 5e6),
    "silence_scan_1000000_series_ms": Bar("<=", 5),
    "times_river": Bar(">=", 50),
    "bytes_per_series": Bar("<=", 64),
}


def run(_data: None) -> BenchResult:
    """Update 10k, 100k and 1M series, in order and in any order; the same samples through river."""
    wall, cpu = time.perf_counter(), time.process_time()
    warm_up()
    rng = np.random.default_rng(6)
    measures: dict[str, Measure] = {"bytes_per_series": SERIES_BYTES}
    ratios = []
    for size in SIZES:
        for is_random in (False, True):
            baselines, rates = Baselines(), []
            for number in range(ROUNDS + 1):
                samples = _samples(rng, size, number, is_random=is_random)
                rates.append(_rate(baselines, samples))
                if size == SIZES[0] and not is_random and number:
                    ratios.append(rates[-1] / _peer_rate(rng))
            name = f"{'random' if is_random else 'in_order'}_{size}_series"
            measures[name] = round(statistics.median(rates[1:]))  # the first fills the room
        measures[f"silence_scan_{size}_series_ms"] = _silence_ms(baselines)
    measures["times_river"] = round(statistics.median(ratios), 1)
    return BenchResult(
        id="baselines",
        version=__version__,
        machine=describe(),
        corpus={"name": "normal noise of 2 %", "origin": "simulated", "points": POINTS, "seed": 6},
        measures=measures,
        bars=_BARS,
        cpu_seconds=time.process_time() - cpu,
        wall_seconds=time.perf_counter() - wall,
        peak_rss_bytes=peak_rss_bytes(),
        notes={
            "random": "times in any order over 10^10 microseconds; the sort is counted",
            "river": "EWMean, EWVar, two Quantile and PageHinkley a series, one sample at a time",
        },
    )


def _samples(rng: np.random.Generator, size: int, number: int, *, is_random: bool) -> Samples:
    begin = number * _BATCH_MICROS
    if is_random:
        ids = rng.integers(0, size, POINTS)
        times = begin + rng.integers(0, _BATCH_MICROS, POINTS)
    else:
        ids = np.arange(POINTS) % size
        times = begin + np.arange(POINTS) // size
    return Samples(ids, times, rng.normal(5.0, 0.1, POINTS))


def _rate(baselines: Baselines, samples: Samples) -> float:
    began = time.process_time()
    baselines.update(*samples)
    return POINTS / (time.process_time() - began)


def _silence_ms(baselines: Baselines) -> float:
    """Milliseconds to look through all series, a thousandth of which fell silent."""
    seen = baselines.last_seen
    seen = seen[seen != NEVER]
    now = int(seen.max())
    longest = now - int(np.quantile(seen, 0.001))
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        baselines.silent(now, longest)
        taken.append(time.process_time() - began)
    return round(statistics.median(taken) * 1e3, 3)


class _Peer:
    """What river has for the same: one object a statistic."""

    def __init__(self) -> None:
        self.mean, self.variance = stats.EWMean(0.01), stats.EWVar(0.01)
        self.median, self.high = stats.Quantile(0.5), stats.Quantile(0.99)
        self.change = drift.PageHinkley()

    def take(self, value: float) -> None:
        self.mean.update(value)
        self.variance.update(value)
        self.median.update(value)
        self.high.update(value)
        self.change.update(value)


def _peer_rate(rng: np.random.Generator) -> float:
    peers = [_Peer() for _ in range(PEER_SERIES)]
    values = rng.normal(5.0, 0.1, PEER_POINTS).tolist()
    began = time.process_time()
    for number, value in enumerate(values):
        peers[number % PEER_SERIES].take(value)
    return PEER_POINTS / (time.process_time() - began)
