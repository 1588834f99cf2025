"""The service with its ledger on a real MariaDB: the same Advice, and nothing lost while it is away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controlling import SECOND
from living import Live
from mariadb_server import MariaDB
from relume.advice import comparable
from relume.benchmarks.serving import CLUSTER, ServiceProcess, running_job, snapshot_of
from relume.clock import SystemClock
from relume.errors import UnreachableError
from relume.serve.live.runner import Runner
from relume.slurm.job import SlurmJob, SlurmSnapshot
from relume.verdict import Health

pytestmark = pytest.mark.needs_server("mariadb")
FAILURE = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"


class Told:
    """A story of one job, told to a runner."""

    def __init__(self, live: Live) -> None:
        live.session.close()
        self.live, self.runner = live, Runner(live.around)

    def tell(self, *jobs: SlurmJob) -> None:
        now = self.live.clock.now()
        self.runner.on_scheduler(SlurmSnapshot(cluster="lab", taken_at=now, jobs=jobs, nodes=()))

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.live.clock.advance(1)
            self.runner.step()

    def run(self, away: Callable[[], None], back: Callable[[], None]) -> None:
        """A job trains and fails; the ledger is away from before its last line to after its end."""
        live = self.live
        self.tell(live.job())
        for number in range(1, 6):
            live.write(f"iter {number}: loss 3.9, time 1000.00ms")
            self.steps(1)
        away()
        live.write(FAILURE)
        self.steps(3)
        back()
        self.tell(live.end_of(0))
        self.steps(20)

    def close(self) -> None:
        self.runner.close()
        self.live.close()


def advice_of(live: Live, *, settled: bool = False) -> list[str]:
    """What must be equal of all Advice, or of what is settled; files without their folder."""
    told = [one for one in live.written() if one.settled or not settled]
    return [repr(comparable(one)).replace(str(live.path), "") for one in told]


def nothing() -> None:
    """What goes on elsewhere."""


def test_advice_on_a_server_is_that_in_a_file_also_when_it_was_away(
    tmp_path: Path, mariadb_server: MariaDB
) -> None:
    with_file = Told(Live(tmp_path / "file"))
    with_file.run(nothing, nothing)
    expected = advice_of(with_file.live)
    settled = advice_of(with_file.live, settled=True)
    with_file.close()
    assert len(expected) >= 2
    served = Told(Live(tmp_path / "served", ledger=mariadb_server.open()))
    served.run(nothing, nothing)
    assert advice_of(served.live) == expected
    served.close()
    away = Told(Live(tmp_path / "away", ledger=mariadb_server.open()))

    def back() -> None:
        with pytest.raises(UnreachableError):
            away.tell(away.live.end_of(0))
        runner = away.runner.readiness()["runner"]
        assert runner.status is Health.UNHEALTHY
        assert "ledger mysql+pymysql" in (runner.reason or "")
        mariadb_server.start()

    away.run(mariadb_server.stop, back)
    assert advice_of(away.live, settled=True)[-1:] == settled[-1:] != []
    assert away.runner.readiness()["runner"].status is Health.HEALTHY
    away.close()


def test_a_service_whose_server_was_away_says_so_and_publishes_afterwards(
    tmp_path: Path, mariadb_server: MariaDB
) -> None:
    settings = {
        "serve": {
            "ledger_url": mariadb_server.url(),
            "ledger_password_file": str(mariadb_server.password_file),
            "settle_seconds": 1.0,
        }
    }
    with ServiceProcess(tmp_path, settings) as service:
        began = SystemClock().now() // SECOND * SECOND
        log = tmp_path / "logs" / "job.out"
        log.write_text("iter 1: loss 3.9, time 1000.00ms\n")
        job = running_job(7, began, std_out=str(log))
        assert service.report(snapshot_of(CLUSTER, SystemClock().now(), [job])).keys() == {"7"}
        service.wait_for("/readyz")
        mariadb_server.stop()
        ready = service.client.get("/readyz")
        parts = ready.json()["parts"]
        assert (ready.status_code, parts["ledger"]["status"]) == (503, "unhealthy")
        assert service.client.get("/v1/advice?active=true").status_code == 503
        with log.open("a") as file:
            file.write(f"{FAILURE}\n")
        ended = running_job(
            7, began, std_out=str(log), state="FAILED", end_time=began + SECOND, exit_code=1
        )
        with pytest.raises(UnreachableError, match="ledger mysql"):
            service.report(snapshot_of(CLUSTER, SystemClock().now(), [ended]))
        assert service.answers("/healthz")
        mariadb_server.start()
        service.report(snapshot_of(CLUSTER, SystemClock().now(), [ended]))

        def is_settled() -> bool:
            advice = service.client.get("/v1/advice?active=true").json()["advice"]
            return any(one["settled"] and one["kind"] == "crash" for one in advice)

        service.process.wait_for(is_settled, what="the settled Advice", seconds=120.0)
        service.wait_for("/readyz")
