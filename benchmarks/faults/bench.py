"""Bench `faults`: what a service does when what it stands on gives way, and what it never does.

Each scenario has a service process of its own (that of the clock a session in this process), on
loopback, in a temporary folder. What can't be done on a machine is left out, which voids the run:
the bars are about all of it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from relume import __version__
from relume.benchmarks.faults import clients, clocks, database, disk, mariadb
from relume.benchmarks.faults.found import Found, joined
from relume.benchmarks.machine import Usage, describe, measured
from relume.benchmarks.result import Bar, BenchResult
from relume.benchmarks.serving.service import ServiceProcess

MINUTES = 5.0
AWAY_SECONDS = 60.0
"""For how long MariaDB is away in a run of `MINUTES`; shorter in a shorter one."""
IDLE = 10_000
SLOW = 200
BODIES = 1000
TEMPORARY = "/tmp"  # noqa: S108 - the path of a unix socket has to be short
BARS = {
    "disk_full_named": Bar("==", 1),
    "disk_full_recovers": Bar("==", 1),
    "disk_full_acknowledged_lost": Bar("==", 0),
    "disk_full_doubled": Bar("==", 0),
    "disk_full_status_500": Bar("==", 0),
    "read_only_refused": Bar("==", 1),
    "read_only_named": Bar("==", 1),
    "database_away_named": Bar("==", 1),
    "database_away_recovers": Bar("==", 1),
    "database_away_acknowledged_lost": Bar("==", 0),
    "database_away_doubled": Bar("==", 0),
    "database_away_advice_doubled": Bar("==", 0),
    "database_away_status_500": Bar("==", 0),
    "clock_jump_alarms": Bar("==", 0),
    "clock_jump_crash_found": Bar("==", 1),
    "clock_jump_ticks_back": Bar("==", 0),
    "slow_clients_served": Bar("==", 1),
    "idle_connections_connections": Bar(">=", IDLE),
    "idle_connections_served": Bar("==", 1),
    "zip_bomb_refused": Bar("==", 1),
    "zip_bomb_memory_mib": Bar("<=", 512),
    "large_body_refused": Bar("==", 1),
    "large_body_taken_of_limit": Bar("<=", 2),
    "malformed_status_500": Bar("==", 0),
    "malformed_no_answer": Bar("==", 0),
    "malformed_served": Bar("==", 1),
}


def run(data: Path | None = None, *, minutes: float = MINUTES) -> BenchResult:
    """Run it; `data` is not used. With fewer minutes everything is smaller."""
    del data
    folder = Path(tempfile.mkdtemp(prefix="rf-", dir=TEMPORARY))
    share = min(1.0, minutes / MINUTES)
    found, usage = measured(lambda: list(scenarios(folder, share)))
    result = result_of(found, share, usage)
    if result.passed:
        shutil.rmtree(folder)
    else:
        sys.stderr.write(f"relume: what the services said is in {folder}\n")
    return result


def result_of(found: list[Found], share: float, usage: Usage) -> BenchResult:
    """Return the result of scenarios; void where one could not run here."""
    measures = joined(found)
    missing = [f"{one.name}: {one.skipped}" for one in found if one.skipped is not None]
    return BenchResult(
        id="faults",
        version=__version__,
        machine=describe(),
        corpus={
            "name": "a service on loopback, made-up pushes and faults",
            "hash": f"share {share:g}",
            "scenarios": len(found) - len(missing),
        },
        measures=dict(measures),
        bars={name: bar for name, bar in _bars(share).items() if name in measures},
        void="; ".join(missing) or None,
        cpu_seconds=usage.cpu_seconds,
        wall_seconds=usage.wall_seconds,
        peak_rss_bytes=usage.peak_rss_bytes,
        notes={one.name: one.notes for one in found if one.notes},
    )


def scenarios(folder: Path, share: float = 1.0) -> Iterator[Found]:
    """Run each scenario in a folder of its own, as large as `share` of the whole."""
    yield _where(
        disk.can_mount(), "disk_full", "may not mount", lambda: disk.full_disk(folder / "d")
    )
    yield _where(
        disk.can_mount(), "read_only", "may not mount", lambda: disk.read_only(folder / "r")
    )
    yield _where(
        mariadb.is_there(),
        "database_away",
        "no MariaDB",
        lambda: database.database_away(folder / "b", max(2.0, AWAY_SECONDS * share)),
    )
    (folder / "c").mkdir()
    yield clocks.jumping_clock(folder / "c", steps=max(20, int(clocks.STEPS * share)))
    with ServiceProcess(folder / "s") as service:
        yield clients.slow_clients(service, max(10, int(SLOW * share)))
        yield clients.bombs(service, max(0.2, share))
        yield clients.large_bodies(service)
        yield clients.malformed_bodies(service, max(20, int(BODIES * share)))
        yield clients.idle_connections(service, idle_count(share))


def idle_count(share: float) -> int:
    """Return how many idle connections a run of this size opens.

    >>> idle_count(1.0), idle_count(0.01)
    (10000, 100)
    """
    return max(100, int(IDLE * share))


def _bars(share: float) -> dict[str, Bar]:
    return BARS | {"idle_connections_connections": Bar(">=", idle_count(share))}


def _where(can: bool, name: str, why: str, scenario: Callable[[], Found]) -> Found:  # noqa: FBT001
    return scenario() if can else Found(name, skipped=why)
