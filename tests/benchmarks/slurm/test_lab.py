from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from relume.benchmarks.slurm.__main__ import main
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.ports import PortBlock
from relume.benchmarks.slurm.processes import MARK, end, lab_processes, send, wait_until
from relume.benchmarks.slurm.settings import LabSettings, slurm_conf
from relume.errors import InputError, UnreachableError


def test_blocks_of_ports_are_given_out_once() -> None:
    with PortBlock(20) as first, PortBlock(20) as second:
        assert abs(first.base_port - second.base_port) >= 20
        with pytest.raises(UnreachableError, match="free ports"):
            PortBlock(20, first.base_port)


def test_a_port_that_somebody_listens_on_is_not_taken() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(UnreachableError, match="in use"):
            PortBlock(3, other.getsockname()[1] - 2)


def test_only_marked_processes_and_their_children_belong_to_a_lab(tmp_path: Path) -> None:
    sleeper = "import subprocess, sys; subprocess.run(['env', '-i', '/bin/sleep', '100'])"
    command = [sys.executable, "-c", sleeper]
    ours = subprocess.Popen(command, env=os.environ | {MARK: str(tmp_path)}, start_new_session=True)
    other = subprocess.Popen(["/bin/sleep", "100"], env={MARK: str(tmp_path / "other")})
    try:
        wait_until(lambda: len(lab_processes(tmp_path)) == 2, what="the child")
        assert lab_processes(tmp_path)[ours.pid].startswith("python")
        assert "sleep" in lab_processes(tmp_path).values()

        assert send(tmp_path, [other.pid, os.getpid()], signal.SIGKILL) == set()
        end(tmp_path, lab_processes(tmp_path), grace_seconds=10)

        assert lab_processes(tmp_path) == {}
        assert other.poll() is None
    finally:
        for process in (ours, other):
            process.kill()
            process.wait()


def test_a_folder_too_deep_for_unix_sockets_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="unix sockets"):
        SlurmLab(tmp_path / ("x" * 60))
    assert main(["up", str(tmp_path / ("x" * 60))]) == 2
    assert "name a folder in /tmp" in capsys.readouterr().err


def test_missing_programs_are_named(tmp_path: Path) -> None:
    lab = SlurmLab(Path("/tmp/relume-no-lab"))  # noqa: S108 - nothing is written there
    lab.environment["PATH"] = str(tmp_path)
    with pytest.raises(UnreachableError, match="no munged, slurmctld, slurmd, sbatch, mariadbd"):
        lab.start()
    assert not lab.root.exists()


def test_clients_are_not_steered_by_the_callers_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setenv("SQUEUE_FORMAT", "%i")
    lab = SlurmLab(Path("/tmp/relume-no-lab"))  # noqa: S108 - nothing is written there
    assert lab.environment["SLURM_CONF"] == "/tmp/relume-no-lab/etc/slurm.conf"  # noqa: S108
    assert "SQUEUE_FORMAT" not in lab.environment


def test_the_configuration_says_what_was_asked_for() -> None:
    settings = LabSettings(
        nodes=2, accounting=False, gpus=0, epilog_slurmctld=Path("/helper"), extra=("Licenses=a:1",)
    )
    lines = slurm_conf(Path("/lab"), settings, 21000, "ada").splitlines()
    assert "SlurmctldPort=21000" in lines
    assert "EpilogSlurmctld=/helper" in lines
    assert lines[-1] == "Licenses=a:1"
    assert not [line for line in lines if "Gres" in line or "Accounting" in line]
    assert any(line.endswith("Port=[21010-21011]") for line in lines)
