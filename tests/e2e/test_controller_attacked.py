"""A real Slurm between a service that means ill, users that do, and a slurmctld that dies."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from controlling import SECOND
from relume.advice import Advice, Mode, Operation
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import wait_until
from relume.benchmarks.slurm.settings import LabSettings
from relume.errors import UnreachableError
from relume.slurm.job import SlurmJob
from sites import CRASH, Site, start_site, until

HANGS = "sleep 300"
ALL_NODES = ("node1", "node2", "node3", "node4")
NOBODY = 65534


@pytest.fixture(scope="module")
def site(
    start_slurm: Callable[[LabSettings], SlurmLab], tmp_path_factory: pytest.TempPathFactory
) -> Site:
    return start_site(start_slurm, tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True)
def _free(site: Site) -> Iterator[None]:
    yield
    site.lab.cancel_jobs()


def running(site: Site, script: str = HANGS, *options: str, run: str = "opus") -> SlurmJob:
    job_id = site.submit(script, *options, comment=f'--comment={{"relume": {{"run": "{run}"}}}}')
    site.lab.wait_for_state(job_id, "RUNNING")
    return site.job(job_id)


def test_a_service_that_means_ill_moves_nothing(site: Site) -> None:
    """Strange nodes, all nodes, other attempts, other jobs, others' jobs, unanswered questions."""
    mine, once = running(site, run="mine"), running(site, HANGS, "--no-requeue", run="once")
    theirs = running(site, HANGS, "--comment=private")
    strange = tuple(one for one in ALL_NODES if one not in mine.nodes)
    older = replace(mine, submit_time=(mine.submit_time or 0) - 3600 * SECOND)
    excluding, restart, stop = Operation.RESTART_EXCLUDING, Operation.RESTART, Operation.STOP
    resubmitted = f"lab/{mine.job_id}@{(mine.submit_time or 0) // SECOND}"
    never = f"refused: the run was never seen on {', '.join(strange)}"
    private = "the job did not opt in: the comment is not JSON"
    orders: list[tuple[SlurmJob, Operation, dict[str, object], str | None]] = [
        (mine, excluding, {"exclude_nodes": strange, "generation": 2}, never),
        (mine, excluding, {"exclude_nodes": ALL_NODES, "generation": 3}, never),
        (mine, restart, {"mode": Mode.APPROVE, "generation": 4}, None),
        (mine, restart, {"settled": False, "generation": 5}, None),
        (replace(mine, restart_count=3), restart, {}, None),
        (older, stop, {}, f"the job was resubmitted: its id now belongs to {resubmitted}"),
        (theirs, stop, {}, private),
        (theirs, restart, {"generation": 3}, private),
        (once, restart, {}, "the job can't be requeued (--no-requeue)"),
        (replace(mine, job_id="4000000"), stop, {}, "the job is gone"),
    ]
    with site.controller() as controller:
        controller.round()
        before = {one.job_id: site.job(one.job_id) for one in (mine, theirs, once)}
        for job, operation, changes, reason in orders:
            advice = site.advise(job, operation, **changes)
            controller.round()
            controller.round()
            expected = None if reason is None else ("ABANDONED", reason)
            assert site.outcome(advice) == expected
        assert {name: site.job(name) for name in before} == before


def test_nodes_that_the_run_used_are_excluded_up_to_the_limit(site: Site) -> None:
    """The service accuses the node of each attempt in turn, as if to empty the cluster."""
    job = running(site)
    limited = site.settings.model_copy(update={"max_excluded_nodes": 2})
    given: list[Advice] = []
    with site.controller(settings=limited) as controller:
        for number in range(3):
            site.lab.wait_for_state(job.job_id, "RUNNING")
            controller.round()
            now = site.job(job.job_id)
            attempt = f"lab/{job.job_id}@{(job.submit_time or 0) // SECOND}.{number}"
            changes = {"exclude_nodes": now.nodes, "attempt": attempt}
            given.append(site.advise(now, Operation.RESTART_EXCLUDING, **changes))
            site.service.landed[attempt] = True
            until(controller, lambda: site.outcome(given[-1]), "the report")
    outcomes = [site.outcome(one) or ("", "") for one in given]
    assert [disposition for disposition, _ in outcomes] == ["CONVERGED", "CONVERGED", "ABANDONED"]
    assert outcomes[-1][1] == "refused: 3 excluded nodes (controller.max_excluded_nodes)"
    last = site.job(job.job_id)
    assert (last.state, last.restart_count, len(last.exclude_nodes)) == ("RUNNING", 2, 2)


@pytest.mark.skipif(os.geteuid() != 0, reason="another user's jobs need root")
def test_a_user_can_not_write_our_marker(site: Site) -> None:
    """Everything else of a job its user may write; AdminComment is ours."""
    environ = {**os.environ, "SLURM_CONF": str(site.lab.slurm_conf)}

    def as_user(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            env=environ,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    job_id = site.submit("true", "--hold", f"--uid={NOBODY}", f"--gid={NOBODY}")
    try:
        # The folders of the lab are this user's alone, but for those that clients need.
        for folder in (site.lab.root, site.lab.slurm_conf.parent):
            folder.chmod(0o755)
        assert as_user("scontrol", "update", f"JobId={job_id}", "Comment=x").stderr == ""
        forged = as_user("scontrol", "update", f"JobId={job_id}", 'AdminComment={"relume":{}}')
        assert "denied" in forged.stderr
        assert (site.job(job_id).comment, site.job(job_id).admin_comment) == ("x", None)
    finally:
        site.actuator.cancel(job_id)


def test_slurmctld_is_restarted_while_a_job_is_held(site: Site) -> None:
    job = running(site, CRASH)
    with site.controller() as controller:
        controller.round()
        site.fail(job.job_id)
        wait_until(lambda: site.job(job.job_id).held, what="the helper's hold")
        first = site.advise(job, Operation.RESTART, settled=False)
        controller.round()
        site.lab.stop_slurmctld()
        with pytest.raises(UnreachableError):
            controller.round()
        site.lab.start_slurmctld()
        controller.round()
        assert site.job(job.job_id).held
        settled = site.advise(job, Operation.RESTART, generation=3)
        until(controller, lambda: site.outcome(settled), "the report")
    assert site.outcome(settled) == ("CONVERGED", None)
    assert site.outcome(first) is None
    assert site.job(job.job_id).restart_count == 1


def test_slurmctld_is_killed_right_after_a_hold(site: Site) -> None:
    """It has forgotten the hold, which is given again: the same attempt with another submit time.

    (Or it has not: it saves what it knows when it likes.) The job failed before it was seen running, so that it bears no marker.
    """
    job_id = site.submit("exit 3")
    site.lab.wait_for_state(job_id, "FAILED")
    site.lab.stop_slurmctld()  # which saves that
    site.lab.start_slurmctld()
    with site.controller() as controller:
        controller.round()
        job = site.job(job_id)
        site.advise(job, Operation.RESTART, settled=False)
        controller.round()
        assert site.job(job_id).held
        site.lab.stop_slurmctld(signal.SIGKILL)
        site.lab.start_slurmctld()
        settled = site.advise(job, Operation.RESTART, generation=3)
        until(controller, lambda: site.outcome(settled), "the report")
    assert site.outcome(settled) == ("CONVERGED", None)
    site.lab.wait_for_state(job_id, "RUNNING", "FAILED", "COMPLETING")
