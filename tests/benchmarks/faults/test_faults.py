"""Bench `faults` with tiny sizes: a real service, a real disk where we may mount, a real MariaDB."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from relume.benchmarks.faults import bench, clients, clocks, database, disk
from relume.benchmarks.faults.found import Found
from relume.benchmarks.faults.pushing import Sender, ingest
from relume.benchmarks.machine import Usage
from relume.benchmarks.serving import ServiceProcess
from relume.errors import UnreachableError

USAGE = Usage(cpu_seconds=1.0, wall_seconds=2.0, peak_rss_bytes=3)


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short path: unix sockets lie in it."""
    folder = Path(tempfile.mkdtemp(prefix="rf-", dir=bench.TEMPORARY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def holds(found: Found) -> None:
    """Every measure that has a bar reaches it."""
    bars = {name: bar for name, bar in bench.BARS.items() if "connections_conn" not in name}
    measures = {f"{found.name}_{name}": value for name, value in found.measures.items()}
    checked = {name for name in measures if name in bars}
    assert checked, measures
    bad = {name: measures[name] for name in checked if not bars[name].passes(measures[name])}
    assert bad == {}, found.notes


def test_clients_that_mean_no_good_are_survived(tmp_path: Path) -> None:
    with ServiceProcess(tmp_path) as service:
        holds(clients.slow_clients(service, 10))
        holds(clients.bombs(service, 0.2))
        holds(clients.large_bodies(service))
        holds(clients.malformed_bodies(service, 20))
        idle = clients.idle_connections(service, 50)
        holds(idle)
        assert idle.measures["connections"] == 50
        sender = Sender(service)
        assert sender.push(10) == 200
        service.kill()
        assert sender.push(10) == 0  # nobody is there
    assert (len(sender.acknowledged), sender.answers[0]) == (10, 1)
    sender.acknowledged.add(99)  # as if one were lost
    assert sender.lost_and_doubled(service.lake) == (1, 0)


def test_a_service_that_made_no_token_takes_no_pushes(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="token"):
        ingest(ServiceProcess(tmp_path))


def test_a_clock_that_jumps_hangs_nobody(tmp_path: Path) -> None:
    found = clocks.jumping_clock(tmp_path, (3600.0, -3600.0), 25)
    holds(found)
    assert found.measures["ticks"] > 75


@pytest.mark.skipif(not disk.can_mount(), reason="this machine lets nobody mount")
def test_a_disk_that_is_full_or_read_only_is_named(tmp_path: Path) -> None:
    holds(disk.full_disk(tmp_path / "full"))
    holds(disk.read_only(tmp_path / "read"))


@pytest.mark.needs_server("mariadb")
def test_a_database_that_was_away_loses_nothing(short: Path) -> None:
    holds(database.database_away(short, 1.0))


def test_what_could_not_run_voids_the_result() -> None:
    found = [Found("disk_full", skipped="may not mount"), Found("malformed", {"status_500": 0.0})]
    result = bench.result_of(found, 1.0, USAGE)
    assert (result.void, result.passed) == ("disk_full: may not mount", False)
    assert list(result.bars) == ["malformed_status_500"]
    assert bench.result_of(found[1:], 0.1, USAGE).passed


def test_a_smaller_run_has_fewer_connections() -> None:
    name = "idle_connections_connections"
    result = bench.result_of([Found("idle_connections", {"connections": 1000.0})], 0.1, USAGE)
    assert (result.bars[name].value, result.passed) == (1000, True)
