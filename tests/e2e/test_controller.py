"""The controller and its helper on a real Slurm, against a service of a few lines."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from controlling import SECOND, make_settings
from relume.advice import Operation
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import wait_until
from relume.benchmarks.slurm.settings import LabSettings
from relume.controller.actuator import SlurmActuator
from relume.controller.commands import Done
from relume.controller.doors import Doors
from relume.controller.folder import ControllerFolder
from relume.controller.marker import read_marker
from relume.controller.service import ServiceClient
from relume.controller.watchdog import Watchdog
from sites import CRASH, Site, start_site, until
from tiny_service import TOKEN


@pytest.fixture(scope="module")
def site(
    start_slurm: Callable[[LabSettings], SlurmLab], tmp_path_factory: pytest.TempPathFactory
) -> Site:
    """A cluster whose slurmctld runs our helper."""
    return start_site(start_slurm, tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True)
def _free(site: Site) -> Iterator[None]:
    yield
    site.lab.cancel_jobs()


def test_failed_jobs_are_held_by_the_helper_and_restarted(site: Site) -> None:
    """A job, a task of an array and one that was found FAILED; beside them one of a stranger."""
    mine, stranger = site.submit(CRASH), site.submit(CRASH, comment="--comment=relume")
    array = site.submit(CRASH, "--array=1")
    task = f"{array}_1"
    for job_id in (mine, stranger, task):
        site.lab.wait_for_state(job_id, "RUNNING")
    with site.controller() as controller:
        controller.round()
        before = site.job(mine)
        assert before.admin_comment is not None
        assert site.job(stranger).admin_comment is None
        first = site.job(task)
        for job_id in (mine, stranger, str(first.raw_job_id)):
            site.fail(job_id)
        wait_until(lambda: site.job(mine).held and site.job(task).held, what="the helper's holds")
        site.lab.wait_for_state(stranger, "FAILED")
        assert site.job(mine).reason == "job_requeued_in_held_state"
        assert site.job(mine).restart_count == 1

        late = site.submit("exit 3")
        site.lab.wait_for_state(late, "FAILED")
        excluding = site.advise(
            before, Operation.RESTART_EXCLUDING, exclude_nodes=before.nodes, generation=2
        )
        others = [
            site.advise(first, Operation.RESTART),
            site.advise(site.job(late), Operation.RESTART),
            site.advise(site.job(stranger), Operation.RESTART),
        ]
        until(controller, lambda: all(map(site.outcome, [excluding, *others])), "all reports")
        assert [site.outcome(one) for one in (excluding, *others[:2])] == [("CONVERGED", None)] * 3
        assert site.outcome(others[2]) == (
            "ABANDONED",
            "the job did not opt in: the comment is not JSON",
        )
        until(controller, lambda: site.job(mine).state == "RUNNING", "the restart")
        after = site.job(mine)
        assert after.exclude_nodes == before.nodes
        assert not set(after.nodes) & set(before.nodes)
        assert site.job(stranger).state == "FAILED"
        assert site.job(stranger).restart_count == 0
        marker = read_marker(after.admin_comment)
        assert marker is not None
        assert marker.seen == (before.submit_time, after.submit_time)
        controller.round()
        site.fail(mine)
        wait_until(lambda: site.job(mine).held, what="the helper's hold of the second attempt")
        assert site.job(mine).restart_count == 2
    told = [(one["milestone"], one["attempt"]) for one in site.service.milestones]
    assert ("allocation_restarted", f"lab/{mine}@{(before.submit_time or 0) // SECOND}.1") in told


def test_a_hanging_job_is_requeued_and_the_users_hold_is_left(site: Site) -> None:
    hangs, held = site.submit("sleep 300"), site.submit("sleep 300")
    for job_id in (hangs, held):
        site.lab.wait_for_state(job_id, "RUNNING")
    with site.controller() as controller:
        controller.round()
        advice = site.advise(site.job(hangs), Operation.RESTART, cause="hang")
        other = site.advise(site.job(held), Operation.RESTART)
        site.lab.run("scontrol", "requeuehold", held)
        wait_until(lambda: site.job(held).held, what="the user's hold")
        until(controller, lambda: site.outcome(advice), "the report")
        assert site.outcome(advice) == ("CONVERGED", None)
        assert site.outcome(other) == ("ABANDONED", "held by its user or an admin")
        until(controller, lambda: site.job(hangs).state == "RUNNING", "the restart")
        assert site.job(hangs).restart_count == 1
        assert site.job(held).held
    rows = [row.state for row in site.reader.accounting(hangs)]
    assert rows[0] == "REQUEUED"


class Late(SlurmActuator):
    """A door that is slow: the job ends before the command gets there."""

    def __init__(self, lab: SlurmLab) -> None:
        super().__init__(slurm_conf=lab.slurm_conf)
        self._lab = lab

    def requeue_hold_running(self, job_id: str) -> Done:
        (self._lab.root / "jobs" / f"end-{job_id}").touch()
        self._lab.wait_for_state(job_id, "COMPLETED")
        return super().requeue_hold_running(job_id)


def test_a_job_that_completed_before_the_hold_is_not_run_again(site: Site) -> None:
    job_id = site.submit("while [ ! -e end-$SLURM_JOB_ID ]; do sleep 0.1; done; exit 0")
    site.lab.wait_for_state(job_id, "RUNNING")
    with site.controller(Late(site.lab)) as controller:
        controller.round()
        advice = site.advise(site.job(job_id), Operation.RESTART)
        until(controller, lambda: site.outcome(advice), "the report")
    assert site.outcome(advice) == ("ABANDONED", "ended COMPLETED")
    assert (site.job(job_id).state, site.job(job_id).restart_count) == ("COMPLETED", 0)


def test_stop_lets_a_job_fail_by_itself_else_it_is_cancelled(site: Site) -> None:
    patient = site.settings.model_copy(update={"stop_grace_seconds": 60.0})
    fails, held = site.submit(CRASH), site.submit(CRASH)
    for job_id in (fails, held):
        site.lab.wait_for_state(job_id, "RUNNING")
    with site.controller(settings=patient) as controller:
        controller.round()
        first = site.job(held)
        stop = site.advise(site.job(fails), Operation.STOP)
        controller.round()
        site.fail(fails)
        site.fail(held)
        site.lab.wait_for_state(fails, "FAILED")
        wait_until(lambda: site.job(held).held, what="the helper's hold")
        late = site.advise(first, Operation.STOP)
        until(controller, lambda: site.outcome(stop) and site.outcome(late), "both reports")
    assert site.outcome(stop) == ("CONVERGED", "ended FAILED")
    assert site.outcome(late) == ("CONVERGED", "cancelled; FAILED became CANCELLED")
    assert site.job(fails).restart_count == 0
    assert site.job(held).state == "CANCELLED"
    marker = read_marker(site.job(held).admin_comment)
    assert marker is not None
    assert "Slurm shows CANCELLED" in (marker.message or "")


def test_observe_and_a_slurm_that_is_away_change_nothing(site: Site) -> None:
    job_id = site.submit("sleep 300")
    site.lab.wait_for_state(job_id, "RUNNING")
    before = site.actuator.mutations
    with site.controller(settings=make_settings(mode="observe", partitions=["main"])) as controller:
        advice = site.advise(site.job(job_id), Operation.RESTART)
        for _ in range(3):
            controller.round()
    assert site.actuator.mutations == before
    assert site.outcome(advice) is None
    assert site.job(job_id).admin_comment is None


def test_the_watchdog_lets_go_when_the_controller_is_dead(site: Site) -> None:
    job_id = site.submit(CRASH)
    site.lab.wait_for_state(job_id, "RUNNING")
    with site.controller() as controller:
        controller.round()
        site.fail(job_id)
        wait_until(lambda: site.job(job_id).held, what="the helper's hold")
    client = ServiceClient("http://127.0.0.1:9", TOKEN)
    dog = Watchdog(
        Doors(site.reader, site.actuator, client), ControllerFolder(site.path), site.settings
    )
    assert dog.round() == 0
    wait_until(lambda: dog.round() == 1, what="the release", seconds=20)
    client.close()
    assert not site.job(job_id).held


def test_the_command_survives_kill_9(site: Site) -> None:
    """`relume control` as a process: woken by the helper, killed in between, ended by SIGTERM."""
    job_id = site.submit(CRASH)
    site.lab.wait_for_state(job_id, "RUNNING")
    token = site.path / "token"
    site.path.mkdir(exist_ok=True)
    token.write_text(TOKEN)
    with site.serving() as url:
        command = [
            *(sys.executable, "-m", "relume", "control", "--mode", "act", "-p", "main"),
            *("--service", url, "--token-file", str(token), "--folder", str(site.path)),
            *("--slurm-conf", str(site.lab.slurm_conf), "--interval", "600"),
        ]

        def start() -> subprocess.Popen[str]:
            return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=site.path)

        first = site.job(job_id)
        with start() as process:
            wait_until(lambda: bool(site.job(job_id).admin_comment), what="the marker")
            wait_until((site.path / "epilog/decisions").exists, what="the decisions")
            advice = site.advise(first, Operation.RESTART, settled=False)
            site.fail(job_id)
            wait_until(lambda: site.job(job_id).held, what="the helper's hold")
            # Between two looks lie 10 minutes: only the helper can have woken it.
            wait_until(lambda: len(site.service.snapshots) > 1, what="the next round", seconds=5)
            process.send_signal(signal.SIGKILL)
        settled = site.advise(first, Operation.RESTART, generation=3, settled=True)
        with start() as process:
            wait_until(lambda: bool(site.outcome(settled)), what="the report", seconds=30)
            process.terminate()
            assert process.wait(10) == 0
    assert site.outcome(settled) == ("CONVERGED", None)
    assert site.outcome(advice) is None
    site.lab.wait_for_state(job_id, "RUNNING")
    assert site.job(job_id).restart_count == 1
    heartbeat = json.loads((site.path / "heartbeat.json").read_text())
    assert heartbeat["mode"] == "act"
    assert not (site.path / "epilog/decisions").exists()
