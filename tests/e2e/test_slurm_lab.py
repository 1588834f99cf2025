"""The lab itself: several side by side, and an end that leaves nothing and harms nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from relume.benchmarks.slurm.__main__ import main
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import lab_processes, on_node, wait_until
from relume.benchmarks.slurm.settings import LabSettings
from relume.controller.reader import SlurmReader
from relume.errors import UnreachableError

SMALL = LabSettings(nodes=2, accounting=False, gpus=0, extra=("PartitionName=spare Nodes=node1",))


def test_a_second_cluster_ends_hard_without_a_trace(
    slurm: SlurmLab, start_slurm: Callable[[LabSettings], SlurmLab]
) -> None:
    lab = start_slurm(SMALL)
    # Ignores what slurmstepd would send, and forgets where it belongs.
    job_id = lab.submit("trap '' TERM\nsleep 1000 &\nenv -i sleep 1000 &\ntouch started\nwait")
    wait_until((lab.root / "jobs" / "started").exists, what="start of the job")
    with pytest.raises(UnreachableError, match="accounting"):
        SlurmReader(slurm_conf=lab.slurm_conf).accounting(job_id)
    bystander = subprocess.Popen(["/bin/sleep", "1000"], env=lab.environment)
    try:
        lab.stop_slurmctld(signal.SIGKILL)
        lab.stop()

        assert lab_processes(lab.root) == {}
        assert bystander.poll() is None
        assert slurm.run("scontrol", "ping")
    finally:
        bystander.kill()
        bystander.wait()


def test_a_cluster_can_be_stopped_and_started_again(
    start_slurm: Callable[[LabSettings], SlurmLab],
) -> None:
    lab = start_slurm(SMALL)
    job_id = lab.submit("sleep 1000", "--hold", "-p", "spare")

    lab.stop()
    lab.start()

    job = SlurmReader(slurm_conf=lab.slurm_conf).job(job_id)
    assert job is not None
    assert (job.partition, job.held) == ("spare", True)


def test_a_cluster_that_cannot_start_leaves_nothing_behind(
    require_server: Callable[[str], None],
) -> None:
    require_server("slurm")
    wrong = LabSettings(nodes=1, accounting=False, extra=("NoSuchOption=1",))
    with tempfile.TemporaryDirectory(prefix="rl-") as name:
        with pytest.raises(UnreachableError, match="slurmctld; found exit code 1"):
            SlurmLab(Path(name), wrong).start()
        assert lab_processes(Path(name)) == {}


def test_a_node_dies_alone(slurm: SlurmLab) -> None:
    job_id = slurm.submit("srun sh -c 'touch on-$SLURMD_NODENAME; sleep 1000'", "-N2")
    nodes = ("node1", "node2")
    for node in nodes:
        wait_until((slurm.root / "jobs" / f"on-{node}").exists, what="start of the step")
    assert all(on_node(slurm.root, node) for node in nodes)

    slurm.kill_node("node2")
    try:
        wait_until(lambda: not on_node(slurm.root, "node2"), what="end of the node")
        assert slurm.state(job_id) == "RUNNING"
    finally:
        slurm.start_nodes("node2")


def test_the_command_starts_and_stops_a_cluster(
    require_server: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    require_server("slurm")
    with tempfile.TemporaryDirectory(prefix="rl-") as name:
        try:
            assert main(["up", name, "--nodes", "1", "--no-accounting"]) == 0
            conf = Path(name, "etc", "slurm.conf")
            assert capsys.readouterr().out == f"export SLURM_CONF={conf}\n"
            done = subprocess.run(
                ["/usr/bin/env", "sinfo", "-h", "-o", "%D %t"],
                env=os.environ | {"SLURM_CONF": str(conf)},
                capture_output=True,
                check=True,
            )
            assert done.stdout == b"1 idle\n"

            assert main(["measure", name, "--jobs", "3"]) == 0
            assert "ms  SlurmReader.snapshot\n" in capsys.readouterr().out
        finally:
            assert main(["down", name]) == 0
        assert lab_processes(Path(name)) == {}
