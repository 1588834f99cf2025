"""Bench `formulas`: the closed forms against the printed numbers of metrics 7, 9, 10 and 12.

The expected values were printed with a few digits, and a form must come to each of them. The table
of section 12 has no bar: one of its fifteen cells (16,384 GPUs, 94 s to 30 s) is printed as 0.58,
where the form comes to 0.57496.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from relume import __version__
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult
from relume.features.goodput.formulas import (
    RunModel,
    checkpoint_waste,
    mttf_seconds,
    young_interval,
)

MINUTE, HOUR = 60.0, 3_600.0


@dataclass(frozen=True, slots=True)
class Vector:
    """One printed number: what computes it, and with how many decimals it was printed."""

    name: str
    compute: Callable[[], float]
    expected: str
    decimals: int

    def printed(self, value: float) -> str:
        """Return `value` with as many digits as the expected one has."""
        return f"{value:.{self.decimals}f}"


def _vector(name: str, expected: str, compute: Callable[[], float]) -> Vector:
    return Vector(name, compute, expected, len(expected.partition(".")[2]))


def _ettr() -> Iterator[Vector]:
    rows = [
        (2_000, 6.5, 5, 60, 0, "0.684"),
        (2_000, 6.5, 5, 5, 0, "0.932"),
        (12_500, 2.34, 2, 2, 0, "0.939"),
        (128, 3.79, 5, 30, 0, "0.9933"),
        (128, 3.79, 5, 30, 94, "0.9927"),
    ]
    for nodes, rate, restart, interval, detection, expected in rows:
        model = RunModel(nodes, rate / 1000, restart * MINUTE, interval * MINUTE, detection)
        name = f"ettr of {nodes} nodes, every {interval} min, known after {detection} s"
        yield _vector(name, expected, model.expected_ettr)


def _mttf() -> Iterator[Vector]:
    for gpus, expected in ((16_384, "1.80"), (131_072, "0.225")):
        yield _vector(f"mttf of {gpus} GPUs in hours", expected, partial(_mttf_hours, gpus // 8))


def _mttf_hours(nodes: int) -> float:
    return mttf_seconds(nodes, 6.5e-3) / HOUR


def _checkpoints() -> Iterator[Vector]:
    for hours, minutes, percent in (
        (28.85, "58.8", "3.4"),
        (7.21, "29.4", "6.8"),
        (3.09, "19.3", "10.4"),
    ):
        yield _vector(f"minutes between checkpoints at {hours} h", minutes, partial(_best, hours))
        yield _vector(f"percent wasted at {hours} h", percent, partial(_waste, hours))


def _best(mttf_hours: float) -> float:
    return young_interval(MINUTE, mttf_hours * HOUR) / MINUTE


def _waste(mttf_hours: float) -> float:
    interval = _best(mttf_hours) * MINUTE
    return 100 * checkpoint_waste(interval, MINUTE, mttf_hours * HOUR)


def _earlier() -> Iterator[Vector]:
    rows = [
        (512, 3.79, ("0.49", "0.15", "0.02")),
        (1_024, 3.79, ("0.98", "0.30", "0.04")),
        (1_024, 6.5, ("1.68", "0.52", "0.06")),
        (4_096, 3.79, ("3.9", "1.2", "0.14")),
        (16_384, 3.79, ("15.6", "4.9", "0.58")),
    ]
    steps = ((30 * MINUTE, 60.0), (10 * MINUTE, 60.0), (94.0, 30.0))
    for gpus, rate, points in rows:
        for (before, after), expected in zip(steps, points, strict=True):
            yield _vector(
                f"ETTR points of {gpus} GPUs at {rate}, {before:.0f} s to {after:.0f} s",
                expected,
                partial(_points, gpus // 8, rate / 1000, before, after),
            )


def _points(nodes: int, rate: float, before: float, after: float) -> float:
    def ettr(detection: float) -> float:
        return RunModel(nodes, rate, 5 * MINUTE, 30 * MINUTE, detection).expected_ettr()

    return 100 * (ettr(after) - ettr(before))


VECTORS: tuple[Vector, ...] = (*_ettr(), *_mttf(), *_checkpoints())
"""Sections 7, 9 and 10."""
EARLIER: tuple[Vector, ...] = tuple(_earlier())
"""Section 12: ETTR gained by earlier detection."""


def run(data: Path | None) -> BenchResult:
    """Compute each vector; none needs data."""
    del data
    every = (*VECTORS, *EARLIER)
    values, usage = measured(lambda: [vector.printed(vector.compute()) for vector in every])
    wrong = {
        vector.name: {"found": value, "expected": vector.expected}
        for vector, value in zip(every, values, strict=True)
        if value != vector.expected
    }
    return BenchResult(
        id="formulas",
        version=__version__,
        machine=describe(),
        corpus={"name": "test vectors of metrics 7, 9, 10 and 12", "vectors": len(every)},
        measures={
            "vectors_right": sum(vector.name not in wrong for vector in VECTORS),
            "earlier_detection_right": sum(vector.name not in wrong for vector in EARLIER),
        },
        bars={"vectors_right": Bar("==", len(VECTORS))},
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={"wrong": wrong},
    )
