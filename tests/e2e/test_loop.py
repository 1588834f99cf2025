"""The whole loop on a real Slurm: log, Advice, controller, a job that comes back and ends well.

The jobs are of a few lines of shell; PyTorch jobs, more faults and times are bench `loop`'s.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relume.advice import Advice, Disposition, Mode, Operation, comparable
from relume.benchmarks.loop.asked import changing
from relume.benchmarks.loop.shelljob import (
    CUDA_ERROR,
    FAULT_STEP,
    SAVE_EVERY,
    ShellJob,
    loses_gpu,
    says,
)
from relume.benchmarks.loop.site import Site, SiteSettings
from relume.benchmarks.slurm.processes import wait_until
from relume.config import load_config
from relume.identity import AttemptId
from relume.serve.configured import analyzer_of
from relume.serve.ledger import Ledger, Milestone, sqlite_url
from relume.serve.live.options import RunnerOptions
from relume.serve.live.replay import replay

pytestmark = pytest.mark.needs_server("slurm")


@pytest.fixture(scope="module")
def site(
    require_server: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    require_server("slurm")
    folder = tmp_path_factory.mktemp("site")
    settings = SiteSettings(nodes=5, settle_seconds=5.0, interval_seconds=1.0)
    with Site(folder, Path(sys.executable), settings) as site:
        yield site


@pytest.fixture(scope="module")
def jobs(site: Site) -> dict[str, str]:
    """Return the ids of jobs that have come to their end, run side by side."""
    failing = says(CUDA_ERROR, then="exit 1")
    wanted = (
        ShellJob(name="fails", fault=failing),
        ShellJob(name="loses", fault=loses_gpu(site)),
        ShellJob(name="stranger", fault=failing, comment=""),
    )
    ids = {job.name: job.submit(site) for job in wanted}
    for name, state in {"fails": "COMPLETED", "loses": "COMPLETED", "stranger": "FAILED"}.items():
        wait_for_end(site, ids[name], state)
    return ids


def wait_for_end(site: Site, job_id: str, state: str) -> None:
    wait_until(
        lambda: site.lab.states().get(job_id) == state, what=f"job {job_id} {state}", seconds=90
    )


def advice_about(site: Site, job_id: str) -> list[Advice]:
    """Return every generation about the first attempt of a job, oldest first."""
    with Ledger.open(sqlite_url(site.ledger)) as ledger:
        record = ledger.get_attempt(f"{job_id}-0")
        found = [] if record is None else [ledger.newest(record.attempt)]
        while found and found[0] is not None and found[0].supersedes is not None:
            found.insert(0, ledger.get(found[0].supersedes))
    return [one for one in found if one is not None]


def finished(site: Site, job_id: str) -> bool:
    with Ledger.open(sqlite_url(site.ledger)) as ledger:
        record = ledger.get_attempt(f"{job_id}-1")
        reached = [] if record is None else ledger.milestones(record.attempt)
    return {Milestone.PROGRESS_RESTORED, Milestone.FINISHED} <= {one.milestone for one in reached}


def test_a_failed_job_comes_back_and_goes_on_from_its_checkpoint(
    site: Site, jobs: dict[str, str]
) -> None:
    job_id = jobs["fails"]
    wait_until(lambda: finished(site, job_id), what="the milestones", seconds=30)
    last = advice_about(site, job_id)[-1]
    assert (last.operation, last.settled) == (Operation.RESTART, True)
    assert last.reconciliation.disposition is Disposition.CONVERGED
    shown = site.reader.job(job_id)
    assert shown is not None
    assert (shown.restart_count, shown.exclude_nodes) == (1, ())
    printed = (site.folder / "jobs" / "fails" / "job.out").read_text()
    assert printed.startswith(
        f"iter {FAULT_STEP // SAVE_EVERY * SAVE_EVERY + 1}:"
    )  # after the checkpoint


def test_a_node_whose_kernel_saw_a_gpu_fail_is_left_out(site: Site, jobs: dict[str, str]) -> None:
    last = advice_about(site, jobs["loses"])[-1]
    assert last.operation is Operation.RESTART_EXCLUDING
    shown = site.reader.job(jobs["loses"])
    assert shown is not None
    assert shown.exclude_nodes == last.exclude_nodes
    assert not set(shown.nodes) & set(last.exclude_nodes)


def test_a_job_that_did_not_opt_in_ends_as_without_relume(site: Site, jobs: dict[str, str]) -> None:
    job_id = jobs["stranger"]
    wait_until(lambda: advice_about(site, job_id) != [], what="its Advice", seconds=30)
    assert {one.mode for one in advice_about(site, job_id)} == {Mode.MONITOR}
    assert changing(site.commands(), job_id) == []
    assert site.lab.states()[job_id] == "FAILED"


def test_the_lake_judged_anew_gives_the_advice_of_the_live_run(
    site: Site, jobs: dict[str, str]
) -> None:
    settings = load_config(site.configuration).settings
    site.serve.stop()  # which commits what it has read
    try:
        made = list(replay(site.lake, RunnerOptions.of(settings), analyzer_of(settings)))
        told = {AttemptId.parse(one.attempt).job_key.job_id for one in made}
        assert told >= set(jobs.values())
        with Ledger.open(sqlite_url(site.ledger)) as ledger:
            written = [ledger.get(advice.advice_id) for advice in made]
            newest = {one.attempt: ledger.newest(one.attempt) for one in made}
    finally:
        site.serve.start()
        site.wait_until_ready()
    assert [one and comparable(one) for one in written] == [comparable(one) for one in made]
    last = {one.attempt: one.advice_id for one in made}
    assert {name: one and one.advice_id for name, one in newest.items()} == last
