"""Bench `latency`: from the error line that a job prints to the Advice that a client hears of.

A real service watches some hundred jobs that print; some fail, one after the other. A client
listens to the stream of events, which tells only what is durable.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from relume import __version__
from relume.benchmarks.load.crashes import Cluster, quantile
from relume.benchmarks.load.lines import JobLines
from relume.benchmarks.load.sending import SNAPPY
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.serving import ServiceProcess
from relume.benchmarks.serving.folder import service_folder
from relume.benchmarks.serving.listening import AdviceStream
from relume.clock import MICROSECONDS_PER_SECOND, SystemClock

JOBS, FAILURES, QUICK_FAILURES = 300, 120, 10
SETTLE_SECONDS = 10.0
"""The default of `serve.settle_seconds`."""
EVERY_SECONDS = 1.0
"""From one failure to the next."""
_PATIENCE_SECONDS = 60.0
_PRINTING = 50


@dataclass(slots=True)
class Heard:
    """When each attempt that failed printed its error, and what was heard of it when."""

    crashed: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    settled: dict[str, float] = field(default_factory=dict)


def run(data: Path | None = None, *, quick: bool = False) -> BenchResult:
    """Run it; `quick` with few failures. Takes no `data`."""
    del data
    failures = QUICK_FAILURES if quick else FAILURES
    with service_folder("latency") as folder:
        heard, usage = measured(lambda: hear(folder, failures))
    return BenchResult(
        id="latency",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "generated lines of jobs, some of which fail (simulated)",
            "hash": "",
            "jobs": JOBS,
            "failures": failures,
        },
        measures=measures(heard),
        bars={
            "first_p50_seconds": Bar("<=", 0.25),
            "first_p99_seconds": Bar("<=", 1.0),
            "settled_largest_seconds": Bar("<=", SETTLE_SECONDS + 1.0),
            "without_advice": Bar("==", 0),
        },
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
    )


def measures(heard: Heard) -> dict[str, Measure]:
    """Return the waits; infinite where nothing was heard of any."""
    first = _waits(heard.crashed, heard.first)
    settled = _waits(heard.crashed, heard.settled)
    return {
        "first_p50_seconds": quantile(first, 0.5),
        "first_p99_seconds": quantile(first, 0.99),
        "first_largest_seconds": max(first),
        "settled_p50_seconds": quantile(settled, 0.5),
        "settled_largest_seconds": max(settled),
        "without_advice": len(heard.crashed) - len(heard.crashed.keys() & heard.settled.keys()),
    }


def _waits(begun: dict[str, float], heard: dict[str, float]) -> list[float]:
    return [heard[one] - at for one, at in begun.items() if one in heard] or [float("inf")]


def hear(folder: Path, failures: int, settle_seconds: float = SETTLE_SECONDS) -> Heard:
    """Let jobs fail under a service in `folder`; return what was heard of them."""
    heard = Heard()
    jobs = get_context("spawn").Array("q", JOBS, lock=False)
    with ServiceProcess(folder, {"serve": {"settle_seconds": settle_seconds}}) as service:
        cluster = Cluster(service, jobs)
        cluster.begin()
        cluster.report()
        with AdviceStream(service.url, service.token) as stream:
            _fail(service, cluster, failures, heard)
            deadline = time.monotonic() + settle_seconds + _PATIENCE_SECONDS
            while heard.crashed.keys() - stream.settled.keys() and time.monotonic() < deadline:
                time.sleep(0.1)
            heard.first, heard.settled = dict(stream.first), dict(stream.settled)
    return heard


def _fail(service: ServiceProcess, cluster: Cluster, failures: int, heard: Heard) -> None:
    """Let jobs print, and one fail each second; the scheduler says so right after it."""
    lines, begun = JobLines(), time.monotonic()
    bearer = SNAPPY | {"Authorization": f"Bearer {service.ingest_token}"}
    for number in range(failures):
        time.sleep(max(0.0, begun + number * EVERY_SECONDS - time.monotonic()))
        first = number * _PRINTING % (JOBS - _PRINTING)
        slots = np.arange(first, first + _PRINTING)
        numbers = np.array(cluster.jobs[first : first + _PRINTING])
        made = lines.body(numbers, slots, SystemClock().now() // MICROSECONDS_PER_SECOND - 1)
        service.client.post("/loki/api/v1/push", content=made.body, headers=bearer)
        attempt, at = cluster.crash(number)
        heard.crashed[attempt] = at
        cluster.report()
