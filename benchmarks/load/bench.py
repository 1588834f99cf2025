"""Bench `load`: what 100,000 GPUs send, and what becomes of failures meanwhile.

The service is a process of its own. The generator is made of two more, niced, whose time isn't
counted; they share the cores with the service. Rows are counted at both ends: what was
acknowledged, and what the lake holds when the service was stopped.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from relume import __version__
from relume.benchmarks.load.crashes import Cluster, quantile
from relume.benchmarks.load.samples import SERIES_PER_NODE
from relume.benchmarks.load.sending import Generator, Sent, Target, line_bodies, sample_bodies
from relume.benchmarks.machine import describe, measured
from relume.benchmarks.result import Bar, BenchResult, Measure
from relume.benchmarks.serving import ServiceProcess
from relume.benchmarks.serving.folder import service_folder
from relume.benchmarks.serving.listening import AdviceStream
from relume.ingest.lake import LakeReader

MINUTES = 10.0
NODES, JOBS = 12_500, 1_000
SAMPLES_PER_SECOND, LINE_BYTES_PER_SECOND = 200_000, 20_000_000
SUSTAINED = 0.99
"""A rate counts as sustained at this share of what was asked for: bodies come in whole."""
CRASH_SECONDS, REPORT_SECONDS, WATCH_SECONDS = 2.0, 10.0, 1.0
RAMP_SECONDS = 10.0
"""From the first body on to the first crash, and from the last crash to the end."""
SEED = 20261201
GIB = 1 << 30


@dataclass(slots=True)
class Seen:
    """What came of it.

    Attributes
    ----------
    samples, lines
        What the generators had acknowledged.
    crashes
        When each attempt that failed printed its error.
    heard
        When the first Advice of attempts was heard of.
    landed
        Rows of the lake, by table, after the service was stopped.
    anonymous_bytes, cpu_seconds
        The largest memory of the service's own, and its CPU time.
    """

    samples: Sent = field(default_factory=Sent)
    lines: Sent = field(default_factory=Sent)
    crashes: dict[str, float] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)
    landed: dict[str, int] = field(default_factory=dict)
    anonymous_bytes: int = 0
    cpu_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much is sent, and for how long."""

    seconds: float
    nodes: int = NODES
    jobs: int = JOBS
    ramp_seconds: float = RAMP_SECONDS


def run(data: Path | None = None, *, minutes: float = MINUTES) -> BenchResult:
    """Run it for so many `minutes`; `data` is not used."""
    del data
    with service_folder("load") as folder:
        seen, usage = measured(lambda: load(folder, Size(60 * minutes)))
    return BenchResult(
        id="load",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "generated samples of a fleet and lines of its jobs (simulated)",
            "hash": f"seed {SEED}",
            "minutes": minutes,
            "series": NODES * SERIES_PER_NODE,
            "jobs": JOBS,
        },
        measures=measures(seen),
        bars={
            "samples_per_second": Bar(">=", SUSTAINED * SAMPLES_PER_SECOND),
            "line_megabytes_per_second": Bar(">=", SUSTAINED * LINE_BYTES_PER_SECOND / 1e6),
            "event_to_decision_p99_seconds": Bar("<=", 1.0),
            "without_decision": Bar("==", 0),
            "anonymous_bytes": Bar("<=", 2 * GIB),
            "lost_samples": Bar("==", 0),
            "lost_lines": Bar("==", 0),
            "doubled_samples": Bar("==", 0),
            "doubled_lines": Bar("==", 0),
        },
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
    )


def load(folder: Path, size: Size) -> Seen:
    """Load a service in `folder`; return what came of it."""
    seen = Seen()
    context = multiprocessing.get_context("spawn")
    jobs = context.Array("q", size.jobs, lock=False)
    with ServiceProcess(folder) as service:
        cluster = Cluster(service, jobs)
        cluster.begin()
        cluster.report()
        with AdviceStream(service.url, service.token) as stream:
            _send(service, cluster, size, seen)
            seen.heard = dict(stream.first)
        seen.cpu_seconds = service.cpu_seconds()
        service.stop()
        segments = LakeReader(service.lake).segments()
    seen.landed = {name: sum(one.rows for one in those) for name, those in segments.items()}
    return seen


def _send(service: ServiceProcess, cluster: Cluster, size: Size, seen: Seen) -> None:
    def target(route: str) -> Target:
        return Target(service.url, route, service.ingest_token, size.seconds)

    samples = Generator(sample_bodies, target("/api/v1/write"), nodes=size.nodes)
    lines = Generator(line_bodies, target("/loki/api/v1/push"), jobs=cluster.jobs)
    try:
        _crash_meanwhile(service, cluster, size, seen)
        seen.samples, seen.lines = samples.result(), lines.result()
    finally:
        samples.stop()
        lines.stop()


def _crash_meanwhile(service: ServiceProcess, cluster: Cluster, size: Size, seen: Seen) -> None:
    """Let a job fail now and then, tell what runs, and look at the service's memory."""
    moments, begun = random.Random(SEED), time.monotonic()
    slots = list(range(size.jobs))
    moments.shuffle(slots)

    def crash() -> None:
        passed = time.monotonic() - begun
        if size.ramp_seconds <= passed <= size.seconds - size.ramp_seconds and slots:
            attempt, at = cluster.crash(slots.pop())
            seen.crashes[attempt] = at

    def watch() -> None:
        seen.anonymous_bytes = max(seen.anonymous_bytes, service.anonymous_bytes())

    tasks: list[tuple[float, Callable[[], None]]] = [
        (CRASH_SECONDS, crash),
        (REPORT_SECONDS, cluster.report),
        (WATCH_SECONDS, watch),
    ]
    due = [begun + every for every, _ in tasks]
    while (now := time.monotonic()) < begun + size.seconds:
        for place, (every, task) in enumerate(tasks):
            if now >= due[place]:
                due[place] += every
                task()
        time.sleep(max(0.0, min(due) - time.monotonic()))


def measures(seen: Seen) -> dict[str, Measure]:
    """Return the measures; a wait is infinite where nothing was heard."""
    waits = [seen.heard[one] - at for one, at in seen.crashes.items() if one in seen.heard]
    samples, lines = seen.landed.get("sample", 0), seen.landed.get("log_line", 0)
    sent_lines = seen.lines.rows + len(seen.crashes)
    return {
        "samples_per_second": seen.samples.rows / max(seen.samples.seconds, 1e-9),
        "line_megabytes_per_second": seen.lines.bytes / 1e6 / max(seen.lines.seconds, 1e-9),
        "lines_per_second": seen.lines.rows / max(seen.lines.seconds, 1e-9),
        "event_to_decision_p50_seconds": quantile(waits, 0.5) if waits else float("inf"),
        "event_to_decision_p99_seconds": quantile(waits, 0.99) if waits else float("inf"),
        "decisions": len(waits),
        "without_decision": len(seen.crashes) - len(waits),
        "anonymous_bytes": seen.anonymous_bytes,
        "service_cpu_seconds": seen.cpu_seconds,
        "sample_bodies_late_seconds": seen.samples.late_seconds,
        "line_bodies_late_seconds": seen.lines.late_seconds,
        "put_off": seen.samples.put_off + seen.lines.put_off,
        "samples_acknowledged": seen.samples.rows,
        "lines_acknowledged": sent_lines,
        "lost_samples": max(0, seen.samples.rows - samples),
        "lost_lines": max(0, sent_lines - lines),
        "doubled_samples": max(0, samples - seen.samples.rows),
        "doubled_lines": max(0, lines - sent_lines),
    }
