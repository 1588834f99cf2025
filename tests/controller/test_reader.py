"""The reader on answers that a healthy Slurm never gives; on a real one: tests/e2e."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relume.clock import ManualClock
from relume.controller.reader import SlurmReader
from relume.errors import UnreachableError
from scripted import ScriptedSlurm

JOB = {"job_id": 7, "job_state": "RUNNING", "submit_time": 100, "comment": "x" * 1000}
WAITING = JOB | {"job_id": 8, "array_job_id": 8, "array_task_string": "1-9", "job_state": "PENDING"}


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedSlurm:
    slurm = ScriptedSlurm(tmp_path, monkeypatch)
    slurm.answers("squeue", json.dumps({"jobs": [JOB, WAITING]}))
    slurm.answers("scontrol show node", "NodeName=n1 Arch=x State=IDLE Partitions=p\n")
    slurm.answers("scontrol show config", "ClusterName = lab\n")
    return slurm


def test_a_snapshot_is_dated_by_the_clock_and_asked_for_after_a_ping(
    scripted: ScriptedSlurm,
) -> None:
    snapshot = SlurmReader(clock=ManualClock(5)).snapshot()
    assert snapshot.taken_at == 5
    assert [job.job_id for job in snapshot.jobs] == ["7"]
    assert [node.node for node in snapshot.nodes] == ["n1"]
    assert scripted.calls()[0] == "scontrol ping"


def test_one_job_is_found_also_as_a_waiting_task(scripted: ScriptedSlurm) -> None:
    reader = SlurmReader()
    job, task = reader.job("7"), reader.job("8_9")
    assert job is not None
    assert task is not None
    assert (task.job_id, task.raw_job_id, task.state) == ("8_9", 8, "PENDING")
    assert reader.job("8_10") is None
    assert reader.job("9") is None
    assert all(call.startswith(("scontrol ping", "squeue --json")) for call in scripted.calls())


SHOWN = (
    "JobId=7 JobName={name} UserId=0(0) Priority=0 JobState=PENDING Reason=JobHeldUser Requeue=1"
    " Restarts=0 ExitCode=0:0 SubmitTime=1970-01-01T00:01:40 StartTime=Unknown EndTime=Unknown"
    " Partition=p ReqNodeList=(null) ExcNodeList=(null) NodeList= NumNodes=1 Comment={comment} "
    " StdErr=/e \n"
)


def test_one_known_job_is_asked_for_alone(scripted: ScriptedSlurm) -> None:
    reader = SlurmReader()
    known = reader.job("7")
    scripted.answers("scontrol show job", SHOWN.format(name="x", comment="x" * 1000))
    before = len(scripted.calls())
    job = reader.job("7", known)
    assert job is not None
    assert (job.state, job.held, job.comment) == ("PENDING", True, "x" * 1000)
    assert scripted.calls()[before:] == ["scontrol ping", "scontrol show job --oneliner 7"]


@pytest.mark.parametrize(
    "text",
    [
        SHOWN.format(name="x JobState=FAILED", comment="x" * 1000),
        SHOWN.format(name="x", comment="new"),
        "what?",
        "",
    ],
)
def test_what_one_jobs_text_can_not_say_the_listing_does(
    scripted: ScriptedSlurm, text: str
) -> None:
    reader = SlurmReader()
    known = reader.job("7")
    scripted.answers("scontrol show job", text)
    assert reader.job("7", known) == known


def test_a_known_job_that_is_gone(scripted: ScriptedSlurm) -> None:
    reader = SlurmReader()
    known = reader.job("7")
    words = "slurm_load_jobs error: Invalid job id specified"
    scripted.answers("scontrol show job", stderr=words, exit_code=1)
    assert reader.job("7", known) is None
    words = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    scripted.answers("scontrol show job", stderr=words, exit_code=1)
    with pytest.raises(UnreachableError, match="Unable to contact"):
        reader.job("7", known)


def test_several_jobs_are_found_by_one_listing(scripted: ScriptedSlurm) -> None:
    found = SlurmReader().find(["8_9", "7", "9", "8_10"])
    assert sorted(found) == ["7", "8_9"]
    assert len(scripted.calls()) == 2


@pytest.mark.parametrize(
    ("command", "answer", "words"),
    [
        ("scontrol ping", {"stdout": "Slurmctld(primary) at a is DOWN\n", "exit_code": 1}, "DOWN"),
        ("scontrol ping", {"stderr": "Munge encode failed", "exit_code": 1}, "Munge encode failed"),
        ("squeue", {"stderr": "Socket timed out", "exit_code": 1}, "exit code 1: Socket timed out"),
        ("squeue", {"stdout": '{"errors": [{"description": "no"}], "jobs": []}'}, "found no;"),
        ("squeue", {"stdout": '{"jobs": [{"job_id"'}, "jobs as JSON"),
        ("squeue", {"stdout": ""}, "jobs as JSON"),
    ],
)
def test_no_answer_is_never_an_empty_one(
    scripted: ScriptedSlurm, command: str, answer: dict[str, Any], words: str
) -> None:
    scripted.answers(command, **answer)
    reader = SlurmReader()
    with pytest.raises(UnreachableError, match=words):
        reader.snapshot()
    with pytest.raises(UnreachableError, match=words):
        reader.job("7")


def test_nodes_that_cannot_be_read_are_an_error(scripted: ScriptedSlurm) -> None:
    scripted.answers("scontrol show node", "what?\n")
    with pytest.raises(UnreachableError, match="a node in one line"):
        SlurmReader().snapshot()


def test_a_cluster_without_a_name_is_an_error(scripted: ScriptedSlurm) -> None:
    scripted.answers("scontrol show config", "ClusterName = (null)\n")
    with pytest.raises(UnreachableError, match="found no ClusterName"):
        SlurmReader().snapshot()


def test_accounting_that_is_off_or_unreadable_is_not_an_empty_history(
    scripted: ScriptedSlurm,
) -> None:
    scripted.answers("sacct", stderr="Slurm accounting storage is disabled", exit_code=1)
    with pytest.raises(UnreachableError, match="storage is disabled"):
        SlurmReader().accounting("7")
    scripted.answers("sacct", "7|7|RUNNING\n")
    with pytest.raises(UnreachableError, match="rows of"):
        SlurmReader().accounting("7")
    scripted.answers("sacct", "")
    assert SlurmReader().accounting("7") == []
