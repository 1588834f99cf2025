"""`relume scan` on a real Slurm: jobs that failed, with their logs, by three commands at most."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from relume.benchmarks.slurm.lab import SlurmLab
from relume.benchmarks.slurm.processes import wait_until
from relume.cli import app
from relume.controller.reader import SlurmReader
from scanning import OOM

COMMANDS = ("sacct", "scontrol", "sinfo", "squeue", "sacctmgr", "scancel")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file with the commands of Slurm that were run: each writes its line, then runs."""
    log = tmp_path / "calls"
    log.touch()
    counting = tmp_path / "counting"
    counting.mkdir()
    for name in COMMANDS:
        program = shutil.which(name)
        assert program is not None
        script = counting / name
        script.write_text(f'#!/bin/sh\necho "{name} $*" >> {log}\nexec {program} "$@"\n')
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{counting}:/usr/bin:/bin")
    return log


def scan(slurm: SlurmLab, *arguments: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(
        app, ["scan", "--slurm-conf", str(slurm.slurm_conf), "--jsonl", *arguments]
    )
    assert result.exit_code in {0, 1}, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def in_accounting(reader: SlurmReader, job_id: str, state: str) -> None:
    def is_there() -> bool:
        rows = reader.accounting(job_id)
        return bool(rows) and rows[-1].state.startswith(state)

    wait_until(is_there, what=f"accounting of job {job_id}")


def test_failed_jobs_of_a_live_cluster(slurm: SlurmLab, reader: SlurmReader, calls: Path) -> None:
    log_root = slurm.root / "jobs"
    failed = slurm.submit(f"echo '{OOM}'; exit 1", "-J", "a|b")
    silent = slurm.submit("exit 3", "--output=/dev/null")
    elsewhere = slurm.submit("exit 1", f"--output={slurm.root}/elsewhere-%j")
    fine = slurm.submit("echo step 1")
    for job_id, state in (
        (failed, "FAILED"),
        (silent, "FAILED"),
        (elsewhere, "FAILED"),
        (fine, "COMPLETED"),
    ):
        in_accounting(reader, job_id, state)
    # Accounting has the end of a quick job before what it was submitted as: "allocation" till then.
    named = ("sacct", "-nPX", "-oJobName", "-j", failed)
    wait_until(lambda: slurm.run(*named).strip() == "a|b", what="the job's name in accounting")
    calls.write_text("")

    asked = f"-j{failed},{silent},{elsewhere},{fine}"
    records = {
        one["attempt"].split("/")[1].split("@")[0]: one
        for one in scan(slurm, asked, "--all", "--log-root", str(log_root))
    }

    ran = [line.split()[0] for line in calls.read_text().splitlines()]
    assert len(ran) <= 3
    assert set(ran) <= {"sacct", "squeue"}
    told = records[failed]
    assert (told["kind"], told["cause"], told["operation"]) == (
        "crash",
        "gpu_out_of_memory",
        "RESTART",
    )
    assert told["name"] == "a|b"
    assert told["logs"] == [f"{log_root}/{failed}.out"]
    assert (records[silent]["cause"], records[silent]["logs"]) == (None, [])
    assert records[silent]["exit_code"] == 3
    assert records[silent]["operation"] == "RESTART"
    assert records[elsewhere]["logs"] == []
    assert "outside of the folders" in records[elsewhere]["missing_logs"][0]
    assert not records[fine]["finding"]


def test_the_attempts_of_a_requeued_job_are_told_apart(
    slurm: SlurmLab, reader: SlurmReader
) -> None:
    script = f"""
        if [ "${{SLURM_RESTART_COUNT:-0}}" = 0 ]; then scontrol requeue $SLURM_JOB_ID; sleep 60; fi
        echo '{OOM}'
        exit 1
    """
    job_id = slurm.submit(script, "--requeue")
    in_accounting(reader, job_id, "FAILED")
    records = scan(slurm, "-j", job_id, "--all", "--log-root", str(slurm.root / "jobs"))
    assert [one["state"] for one in records] == ["REQUEUED", "FAILED"]
    assert [one["attempt"][-2:] for one in records] == [".0", ".1"]
    assert [one["finding"] for one in records] == [False, True]
    assert records[1]["cause"] == "gpu_out_of_memory"
    assert records[0]["logs"] == []
