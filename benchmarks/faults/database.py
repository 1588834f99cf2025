"""The ledger's MariaDB is killed and stays away: what comes meanwhile is not lost, nor doubled."""

from __future__ import annotations

from pathlib import Path
from time import monotonic, sleep

from relume.benchmarks.faults.found import Found
from relume.benchmarks.faults.mariadb import MariaDB
from relume.benchmarks.faults.pushing import Sender, parts
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
            sender, clock = Sender(service), SystemClock()
            began = clock.now() - 60 * SECOND
            log = service.folder / "logs" / "job.log"
            log.write_text("step 1 loss 2.0\n", encoding="utf-8")
            job = running_job(JOB, began, std_out=str(log), work_dir=str(log.parent))
            service.report(snapshot_of(CLUSTER, clock.now(), [job]))
            sender.push_until_acknowledged(PATIENCE_SECONDS)
            database.kill()
            with log.open("a", encoding="utf-8") as out:
                out.write("RuntimeError: CUDA error: an illegal memory access was encountered\n")
            _wait_away(service, sender, seconds, found)
            database.start()
            sender.push_until_acknowledged(PATIENCE_SECONDS)
            over = running_job(
                JOB,
                began,
                std_out=str(log),
                work_dir=str(log.parent),
                state="FAILED",
                exit_code=1,
                end_time=clock.now(),
            )
            _report(service, snapshot_of(CLUSTER, clock.now(), [over]))
            service.process.wait_for(
                lambda: _generations(service) != [], what="Advice", seconds=PATIENCE_SECONDS
            )
            found.note("recovers", 1)
            generations = _generations(service)
            found.note("advice_doubled", len(generations) - len(set(generations)))
            service.kill()
            lost, doubled = sender.lost_and_doubled(service.lake)
        found.note("acknowledged", len(sender.acknowledged))
        found.note("acknowledged_lost", lost)
        found.note("doubled", doubled)
        found.note("status_500", sender.answers[500])
        found.say(f"answers: {dict(sender.answers)}")
    return found


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


def _report(service: ServiceProcess, snapshot: object) -> None:
    """Tell what Slurm says, again while the service can't take it."""

    def is_taken() -> bool:
        try:
            service.report(snapshot)  # type: ignore[arg-type]
        except UnreachableError:
            return False
        return True

    service.process.wait_for(is_taken, what="a snapshot taken in", seconds=PATIENCE_SECONDS)


def _generations(service: ServiceProcess) -> list[tuple[str, int]]:
    answer = service.client.get("/v1/advice", params={"active": "true"})
    return [(one["attempt"], one["generation"]) for one in answer.json().get("advice", [])]
