"""A service that asks a real Slurm itself: what left between two looks ended as accounting says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from living import analyzer
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import wait_until
from relume.benchmarks.slurm.settings import LabSettings
from relume.clock import SystemClock
from relume.controller.reader import SlurmReader
from relume.serve.ledger import AttemptRecord, Ledger, sqlite_url
from relume.serve.live.metrics import RunnerMetrics
from relume.serve.live.options import RunnerOptions
from relume.serve.live.polling import SlurmPolling
from relume.serve.live.runner import Runner
from relume.serve.live.surroundings import Surroundings

pytestmark = pytest.mark.needs_server("slurm")


@pytest.fixture(scope="module")
def forgetful(start_slurm: Callable[[LabSettings], SlurmLab]) -> SlurmLab:
    """A Slurm that forgets jobs as soon as it may."""
    return start_slurm(LabSettings(nodes=2, extra=("MinJobAge=2",)))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(sqlite_url(tmp_path / "ledger.db")) as opened:
        yield opened


@pytest.fixture
def polling(forgetful: SlurmLab, tmp_path: Path, ledger: Ledger) -> Iterator[SlurmPolling]:
    reader = SlurmReader(slurm_conf=forgetful.slurm_conf)
    clock = SystemClock()
    runner = Runner(
        Surroundings(
            lake=tmp_path / "lake",
            ledger=ledger,
            options=RunnerOptions(log_roots=(str(forgetful.root),)),
            analyzer=analyzer(),
            clock=clock,
            metrics=RunnerMetrics(CollectorRegistry()),
        )
    )
    yield SlurmPolling(reader.snapshot, runner, clock, reader.accounting_of)
    runner.close()


def running(polling: SlurmPolling, ledger: Ledger, job_id: str) -> None:
    """Look until the service has seen a job run."""

    def is_seen() -> bool:
        record = ledger.newest_attempt("lab", job_id) if polling.look() else None
        return record is not None and record.state == "RUNNING"

    wait_until(is_seen, what=f"job {job_id} in the eyes of the service", seconds=120.0)


def ended(ledger: Ledger, polling: SlurmPolling, name: str) -> AttemptRecord:
    """Look until the service knows that an attempt is over, and return it."""

    def is_over() -> bool:
        record = ledger.get_attempt(name) if polling.look() else None
        return record is not None and record.ended

    wait_until(is_over, what=f"the end of {name}", seconds=120.0)
    found = ledger.get_attempt(name)
    assert found is not None
    return found


def test_jobs_that_slurm_forgot_ended_as_accounting_says(
    forgetful: SlurmLab, polling: SlurmPolling, ledger: Ledger
) -> None:
    reader = SlurmReader(slurm_conf=forgetful.slurm_conf)
    mark = forgetful.root / "go"
    job = forgetful.submit(f"until [ -e {mark} ]; do sleep 0.2; done; exit 7", "--no-requeue")
    running(polling, ledger, job)
    mark.touch()
    wait_until(lambda: not reader.find([job]), what="a Slurm that forgets", seconds=180.0)
    wait_until(
        lambda: reader.accounting(job)[-1].end_time is not None, what="accounting", seconds=120.0
    )
    found = ended(ledger, polling, f"{job}-0")
    assert (found.state, found.exit_code, found.signal) == ("FAILED", 7, None)
    assert (len(found.nodes), found.end_time is not None) == (1, True)


def test_an_attempt_that_was_requeued_between_two_looks(
    forgetful: SlurmLab, polling: SlurmPolling, ledger: Ledger
) -> None:
    reader = SlurmReader(slurm_conf=forgetful.slurm_conf)
    job = forgetful.submit("sleep 600", "--requeue")
    running(polling, ledger, job)
    nodes = ledger.get_attempt(f"{job}-0")
    forgetful.run("scontrol", "requeue", job)

    def runs_again() -> bool:
        now = reader.find([job]).get(job)
        return now is not None and (now.restart_count, now.state) == (1, "RUNNING")

    wait_until(runs_again, what="the next attempt", seconds=120.0)
    wait_until(lambda: len(reader.accounting(job)) > 1, what="accounting", seconds=120.0)
    found = ended(ledger, polling, f"{job}-0")
    assert nodes is not None
    assert (found.state, found.nodes) == ("REQUEUED", nodes.nodes)
    assert found.end_time is not None
