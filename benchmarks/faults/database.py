"""The ledger's MariaDB is killed and stays away: what comes meanwhile is not lost, nor doubled."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep
from typing import Any

from relume.benchmarks.faults.found import Found
from relume.benchmarks.faults.mariadb import MariaDB
from relume.benchmarks.faults.pushing import Sender, count, parts
from relume.benchmarks.serving.jobs import running_job, snapshot_of
from relume.benchmarks.serving.service import CLUSTER, ServiceProcess
from relume.clock import SystemClock
from relume.errors import UnreachableError

PATIENCE_SECONDS = 180.0
JOB = 1
SECOND = 1_000_000


def database_away(folder: Path, seconds: float) -> Found:
    """Take the database away for so long while a job fails; the Advice comes once, after it."""
    found = Found("database_away")
    with MariaDB(folder / "m") as database:
        settings = {"serve": {"ledger_url": database.url, "settle_seconds": 1.0}}
        with ServiceProcess(folder / "r", settings) as service:
            sender, job = Sender(service), _Job(service)
            job.report()
            sender.push_until_acknowledged(PATIENCE_SECONDS)
            database.kill()
            job.write("RuntimeError: CUDA error: an illegal memory access was encountered")
            _wait_away(service, sender, seconds, found)
            database.start()
            sender.push_until_acknowledged(PATIENCE_SECONDS)
            job.report(state="FAILED", exit_code=1, end_time=SystemClock().now())
            service.process.wait_for(
                lambda: _generations(service) != [], what="Advice", seconds=PATIENCE_SECONDS
            )
            found.note("recovers", 1)
            generations = _generations(service)
            found.note("advice_doubled", len(generations) - len(set(generations)))
            service.kill()
            count(found, sender, service.lake)
    return found


class _Job:
    """A job that runs since a minute, and what a controller says of it."""

    def __init__(self, service: ServiceProcess) -> None:
        self._service, self._began = service, SystemClock().now() - 60 * SECOND
        self._log = service.folder / "logs" / "job.log"
        self.write("step 1 loss 2.0")

    def write(self, line: str) -> None:
        """Write a line of its output."""
        with self._log.open("a", encoding="utf-8") as out:
            out.write(f"{line}\n")

    def report(self, **changes: Any) -> None:  # noqa: ANN401 - fields of `SlurmJob`
        """Tell how it is, again while the service can't take that."""
        paths = {"std_out": str(self._log), "work_dir": str(self._log.parent)}
        job = running_job(JOB, self._began, **paths, **changes)

        def is_taken() -> bool:
            try:
                self._service.report(snapshot_of(CLUSTER, SystemClock().now(), [job]))
            except UnreachableError:
                return False
            return True

        wait_for = self._service.process.wait_for
        wait_for(is_taken, what="a snapshot taken in", seconds=PATIENCE_SECONDS)


def _wait_away(service: ServiceProcess, sender: Sender, seconds: float, found: Found) -> None:
    """Push while the database is away, and see whether `/readyz` names the ledger."""
    deadline, named = monotonic() + seconds, False
    while monotonic() < deadline or not named:
        named = named or parts(service).get("ledger", "healthy") != "healthy"
        sender.push(10, timeout_seconds=90.0)
        if monotonic() > deadline + PATIENCE_SECONDS:
            break
        sleep(0.2)
    found.note("named", named)
    found.note("away_seconds", seconds)


def _generations(service: ServiceProcess) -> list[tuple[str, int]]:
    answer = service.client.get("/v1/advice", params={"active": "true"})
    return [(one["attempt"], one["generation"]) for one in answer.json().get("advice", [])]
