"""Bench `page`: the dashboard of a real service with 1,000 open incidents, in a real Chromium."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from relume import __version__
from relume.benchmarks.machine import describe, measured, reference_rate, too_slow
from relume.benchmarks.page.browser import chromium, window
from relume.benchmarks.page.filling import fill
from relume.benchmarks.result import Bar, BenchResult
from relume.benchmarks.serving import CLUSTER, ServiceProcess, running_job, snapshot_of
from relume.clock import SystemClock
from relume.serve.ledger import Ledger, sqlite_url

if TYPE_CHECKING:
    from playwright.sync_api import Browser

INCIDENTS = 1_000
ROUNDS = 5
PAGES = ("/", "/advice", "/jobs", "/nodes", "/scoreboard", "/goodput")
_BARS = {
    "first_load_seconds": Bar("<=", 1.0),
    "outside_requests": Bar("==", 0),
    "console_complaints": Bar("==", 0),
    "open_incidents": Bar("==", INCIDENTS),
}
_TIMES = """() => {
  const [load] = performance.getEntriesByType("navigation");
  const files = performance.getEntriesByType("resource");
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  return {
    loaded: load.loadEventEnd / 1000,
    painted: paint ? paint.startTime / 1000 : load.loadEventEnd / 1000,
    bytes: [load, ...files].reduce((sum, one) => sum + one.transferSize, 0),
  };
}"""
"""Asked of the browser; counted from when the address was entered."""


@dataclass(frozen=True, slots=True)
class Load:
    """One first load: nothing in the browser's cache. Seconds, and bytes that came."""

    loaded: float
    painted: float
    size: float
    outside: int
    complaints: int


def run(data: Path | None, *, quick: bool = False) -> BenchResult:
    """Load each page in browsers that have never seen it; `quick`: once. Takes no `data`."""
    del data  # made here
    rounds = 1 if quick else ROUNDS
    (loads, shown), usage = measured(partial(_look, INCIDENTS, rounds))
    every = [one for found in loads.values() for one in found]
    reference = reference_rate()
    return BenchResult(
        id="page",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "made-up open incidents in a real service",
            "incidents": INCIDENTS,
            "loads": len(every),
        },
        measures={
            "first_load_seconds": _median([one.loaded for one in loads["/"]]),
            "first_paint_seconds": _median([one.painted for one in loads["/"]]),
            "slowest_page_first_load_seconds": max(
                _median([one.loaded for one in found]) for found in loads.values()
            ),
            "page_kilobytes": _median([one.size / 1000 for one in loads["/"]]),
            "outside_requests": sum(one.outside for one in every),
            "console_complaints": sum(one.complaints for one in every),
            "open_incidents": shown,
            "reference_memchr_mb_per_cpu_second": round(reference),
        },
        bars=dict(_BARS),
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        void=too_slow(reference),
        notes={path: [round(one.loaded, 3) for one in found] for path, found in loads.items()},
    )


def _look(count: int, rounds: int) -> tuple[dict[str, list[Load]], int]:
    """Load each page so often; return how it went, and how many incidents the service shows."""
    with tempfile.TemporaryDirectory(prefix="relume-page-") as folder:
        settings = {"serve": {"mode": "act"}}
        with ServiceProcess(Path(folder), settings) as service, chromium() as browser:
            now = SystemClock().now()
            service.report(snapshot_of(CLUSTER, now, [running_job(1, now)]))
            with Ledger.open(sqlite_url(service.ledger)) as ledger:
                fill(ledger, now, count)
            loads = {
                path: [_load(browser, service.url, path) for _ in range(rounds)] for path in PAGES
            }
            shown = service.client.get("/", params={"format": "json"}).json()["total"]
    return loads, shown


def _load(browser: Browser, origin: str, path: str) -> Load:
    with window(browser, origin) as watched:
        watched.page.goto(path, wait_until="load")
        # The event has an end only after its handlers have run.
        watched.page.wait_for_function(
            "performance.getEntriesByType('navigation')[0].loadEventEnd > 0"
        )
        times = watched.page.evaluate(_TIMES)
        return Load(
            loaded=times["loaded"],
            painted=times["painted"],
            size=times["bytes"],
            outside=len(watched.outside),
            complaints=len(watched.complaints),
        )


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 4)
