"""`relume backtest --engine dask --slurm`: Dask workers as jobs of a real Slurm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engines import make_runs
from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import wait_until
from relume.serve.backtest.results import RESULTS_FILE

pytestmark = pytest.mark.needs_server("slurm")
SLURM = ("--engine", "dask", "--slurm", "--workers", "1", "--worker-memory", "1")


def backtest(data: Path, out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "relume", "backtest", str(data), "--out", str(out), *options]


def test_jobs_of_slurm_give_what_one_process_gives(slurm: SlurmLab, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    data = make_runs(tmp_path / "data")
    here, there = tmp_path / "here", tmp_path / "there"
    subprocess.run(backtest(data, here, "--workers", "1"), check=True, capture_output=True)
    command = backtest(data, there, *SLURM)
    with subprocess.Popen(
        command, env=slurm.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until(lambda: "RUNNING" in slurm.states().values(), what="a worker", seconds=60)
        assert no_listener_of(process.pid)
        assert stat_of(there / "workers") == 0o700
        printed, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert (there / RESULTS_FILE).read_bytes() == (here / RESULTS_FILE).read_bytes()
    assert "False alarms" in printed
    wait_until(lambda: not slurm.run("squeue", "-h").strip(), what="end of the workers")


def no_listener_of(pid: int) -> bool:
    """Whether a process listens on no address that others reach."""
    command = ["ss", "-Hltnp"]
    listening = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    ours = [line for line in listening.splitlines() if f"pid={pid}," in line]
    return bool(ours) and all("127.0.0.1:" in line.split()[3] for line in ours)


def stat_of(folder: Path) -> int:
    return folder.stat().st_mode & 0o777
