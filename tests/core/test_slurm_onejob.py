"""One job from scontrol's text: what can be trusted in it, and what nobody can forge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlling import SECOND, make_job
from relume.clock import from_iso
from relume.slurm.job import SlurmJob
from relume.slurm.onejob import parse_job

ASKED = from_iso("2026-01-02T04:00:00Z")
SUBMIT, START = from_iso("2026-01-02T03:00:00Z"), from_iso("2026-01-02T03:00:05Z")
ADMIN = '{"relume":{"first_submit":5,"seen":[5]}} x'
JOB = make_job(
    submit_time=SUBMIT,
    start_time=START,
    priority=4,
    num_nodes=2,
    admin_comment=ADMIN,
    comment="a b",
)
FIELDS = {
    "UserId": "ada(1000)",
    "Priority": "4",
    "JobState": "RUNNING",
    "Reason": "None",
    "Requeue": "1",
    "Restarts": "0",
    "ExitCode": "0:0",
    "SubmitTime": "2026-01-02T03:00:00",
    "StartTime": "2026-01-02T03:00:05",
    "EndTime": "2026-01-02T09:00:05",
    "Partition": "gpu",
    "ReqNodeList": "(null)",
    "ExcNodeList": "(null)",
    "NodeList": "node[1-2]",
    "NumNodes": "2",
}


def shown(name: str = "train", path: str = "/jobs", job: SlurmJob = JOB, **changes: str) -> str:
    """Return a record in the order of Slurm 22.05, as long as it matters here."""
    fields = FIELDS | changes
    middle = " ".join(f"{key}={value}" for key, value in fields.items())
    admin = f" AdminComment={job.admin_comment} " if job.admin_comment else ""
    comment = f" Comment={job.comment} " if job.comment else ""
    return (
        f"JobId=7 JobName={name} {middle} BatchHost=node1 Command={path}/x WorkDir={path}"
        f"{admin}{comment} StdErr={path}/e StdIn=/dev/null StdOut={path}/o Power= \n"
    )


def read(text: str, job: SlurmJob = JOB) -> SlurmJob | None:
    return parse_job(text, job, ASKED)


def test_a_job_as_it_was() -> None:
    assert read(shown()) == JOB


@pytest.mark.parametrize(("admin", "comment"), [(None, None), (None, "x"), (ADMIN, None)])
def test_comments_that_are_not_there(admin: str | None, comment: str | None) -> None:
    job = replace(JOB, admin_comment=admin, comment=comment)
    assert read(shown(job=job), job) == job


HELD = {
    "Priority": "0",
    "JobState": "PENDING",
    "Reason": "job_requeued_in_held_state",
    "Restarts": "1",
    "SubmitTime": "2026-01-02T03:50:00",
    "StartTime": "2026-01-02T03:50:10",
    "EndTime": "Unknown",
    "NodeList": "",
    "ExcNodeList": "node[3-4]",
    "NumNodes": "2-2",
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            HELD,
            {
                "state": "PENDING",
                "reason": "job_requeued_in_held_state",
                "priority": 0,
                "restart_count": 1,
                "submit_time": SUBMIT + 3000 * SECOND,
                "start_time": None,
                "nodes": (),
                "exclude_nodes": ("node3", "node4"),
            },
        ),
        (
            {"JobState": "FAILED", "Reason": "NonZeroExitCode", "ExitCode": "3:0"}
            | {"EndTime": "2026-01-02T03:30:00"},
            {
                "state": "FAILED",
                "reason": "NonZeroExitCode",
                "exit_code": 3,
                "end_time": SUBMIT + 1800 * SECOND,
            },
        ),
        (
            {"JobState": "COMPLETED", "EndTime": "2026-01-02T03:30:00"},
            {"state": "COMPLETED", "exit_code": 0, "end_time": SUBMIT + 1800 * SECOND},
        ),
        (
            {"JobState": "FAILED", "ExitCode": "0:9", "EndTime": "2026-01-02T03:30:00"},
            {
                "state": "FAILED",
                "exit_code": 0,
                "signal": 9,
                "end_time": SUBMIT + 1800 * SECOND,
            },
        ),
        ({"Requeue": "0"}, {"requeue": False}),
        ({"ReqNodeList": "node1"}, {"required_nodes": ("node1",)}),
        ({"Partition": "debug"}, {"partition": "debug"}),
        (HELD | {"JobState": "SPECIAL_EXIT", "Reason": "JobHeldUser", "ExitCode": "1:0"}, None),
    ],
)
def test_what_changed_is_read(changes: dict[str, str], expected: dict[str, Any] | None) -> None:
    job = read(shown(job=JOB, **changes))
    if expected is None:
        assert job is not None
        assert (job.held, job.exit_code, job.restart_count) == (True, 1, 1)
    else:
        assert job == replace(JOB, **expected)


@pytest.mark.parametrize("end", ["Unknown", "2026-01-02T09:00:00", "2027-01-02T09:00:00"])
def test_a_requeued_job_that_is_completing_is_still_the_old_attempt(end: str) -> None:
    job = read(shown(JobState="COMPLETING", Restarts="1", EndTime=end))
    assert job == replace(JOB, state="COMPLETING", start_time=None)


def test_an_ended_job_that_is_completing() -> None:
    job = read(shown(JobState="COMPLETING", EndTime="2026-01-02T03:59:58"))
    assert job is not None
    assert (job.restart_count, job.exit_code, job.start_time) == (0, 0, START)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "JobId=7",
        shown() + shown(),
        shown().replace("JobId=7", "JobId=8"),
        shown(UserId="bob(1000)"),
        shown(job=replace(JOB, comment="changed")),
        shown(job=replace(JOB, comment=None)),
        shown(job=replace(JOB, admin_comment="changed")),
        shown(job=replace(JOB, admin_comment=None)),
        shown(SubmitTime="yesterday"),
        shown(Restarts="many"),
        shown(NodeList="node[1-"),
        shown(Priority=""),
    ],
)
def test_what_is_not_sure_is_not_read(text: str) -> None:
    assert read(text) is None


FORGED = [
    "x JobState=FAILED Reason=NonZeroExitCode",
    "x\n   JobState=FAILED",
    "x Restarts=0",
    "x Priority=0",
    "x AdminComment={}  StdErr=/x",
    "x Comment=a b  StdErr=/x",
    f"x AdminComment={ADMIN}  Comment=a b  StdErr=",
]


@pytest.mark.parametrize("forged", FORGED)
@pytest.mark.parametrize("where", ["name", "path"])
def test_names_and_paths_forge_nothing(forged: str, where: str) -> None:
    assert read(shown(forged) if where == "name" else shown(path=forged)) is None


@pytest.mark.parametrize("forged", FORGED[:4])
def test_comments_forge_nothing(forged: str) -> None:
    job = replace(JOB, comment=forged)
    assert read(shown(job=job), job) is None


PIECES = st.sampled_from([*(f" {key}=" for key in FIELDS), *FORGED, "0", " ", "\n", "é", "x"])
WORDS = st.lists(PIECES, max_size=5).map("".join)


@given(name=WORDS, path=WORDS, comment=WORDS, admin=WORDS)
def test_whatever_users_write_it_is_right_or_not_read(
    name: str, path: str, comment: str, admin: str
) -> None:
    job = replace(JOB, comment=comment or None, admin_comment=admin or None)
    assert read(shown(name=name, path=path, job=job), job) in (job, None)
    other = replace(JOB, comment=f"{comment}.", admin_comment=admin or None)
    assert read(shown(name=name, path=path, job=other), job) is None
