from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError, RelumeError, UnreachableError
from relume.slurm.job import SlurmJob
from relume.slurm.squeue import parse_squeue, task_of

NOW = 1_800_000_000
"""Seconds; when squeue is asked."""

# The same running job, as 22.05 and as 23.02 and later write it.
PLAIN: dict[str, Any] = {
    "job_id": 12,
    "array_job_id": 0,
    "array_task_id": None,
    "array_task_string": "",
    "het_job_id": 0,
    "het_job_offset": 0,
    "job_state": "RUNNING",
    "state_reason": "None",
    "state_description": "",
    "user_name": "ada",
    "user_id": 1000,
    "partition": "gpu",
    "name": "opus",
    "comment": "",
    "admin_comment": "",
    "submit_time": NOW - 100,
    "start_time": NOW - 90,
    "end_time": NOW + 1710,
    "restart_cnt": 0,
    "nodes": "n[1-2]",
    "excluded_nodes": "",
    "required_nodes": "",
    "exit_code": 0,
    "batch_flag": True,
    "batch_host": "n1",
    "standard_output": "/w/%x-%j.log",
    "standard_error": "",
    "current_working_directory": "/w",
    "time_limit": 30,
    "requeue": True,
    "priority": 4294901759,
    "node_count": 2,
    "job_resources": {"allocated_nodes": [{"sockets": {}}]},
}


def _set(number: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": number}


UNSET: dict[str, Any] = {"set": False, "infinite": False, "number": 0}
TABLES: dict[str, Any] = PLAIN | {
    "array_job_id": _set(0),
    "array_task_id": UNSET,
    "het_job_id": _set(0),
    "het_job_offset": _set(0),
    "job_state": ["RUNNING"],
    "submit_time": _set(NOW - 100),
    "start_time": _set(NOW - 90),
    "end_time": _set(NOW + 1710),
    "exit_code": {"status": ["SUCCESS"], "return_code": _set(0), "signal": {"id": UNSET}},
    "stdout_expanded": "/w/opus-12.log",
    "time_limit": _set(30),
    "priority": _set(4294901759),
    "node_count": _set(2),
}


def _parse(*rows: dict[str, Any]) -> list[SlurmJob]:
    document = {"meta": {}, "errors": [], "warnings": [], "jobs": rows}
    return parse_squeue(json.dumps(document), asked_at=NOW * 10**6)


def _one(**changes: Any) -> SlurmJob:
    [job] = _parse(PLAIN | changes)
    return job


@pytest.mark.parametrize(
    ("told", "deadline"),
    [(1767330000, 1767330000000000), (_set(1767330000), 1767330000000000), (0, None), (None, None)],
)
def test_a_deadline_is_told_where_the_job_has_one(told: object, deadline: int | None) -> None:
    assert _one(deadline=told).deadline == deadline


def test_old_and_new_slurm_say_the_same() -> None:
    [old, new] = _parse(PLAIN, TABLES)
    assert old == new
    assert old == SlurmJob(
        job_id="12",
        raw_job_id=12,
        state="RUNNING",
        reason=None,
        user="ada",
        partition="gpu",
        name="opus",
        comment=None,
        admin_comment=None,
        submit_time=(NOW - 100) * 10**6,
        start_time=(NOW - 90) * 10**6,
        end_time=None,
        restart_count=0,
        nodes=("n1", "n2"),
        exclude_nodes=(),
        required_nodes=(),
        exit_code=None,
        signal=None,
        std_out="/w/opus-12.log",
        std_err="/w/opus-12.log",
        work_dir="/w",
        time_limit_seconds=1800,
        requeue=True,
        priority=4294901759,
        num_nodes=2,
    )


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("SPECIAL_EXIT", "SPECIAL_EXIT"),
        (["PENDING", "SPECIAL_EXIT"], "SPECIAL_EXIT"),
        (["PENDING", "REQUEUED", "COMPLETING"], "COMPLETING"),
        (["FAILED"], "FAILED"),
        (["RUNNING", "CONFIGURING"], "CONFIGURING"),
    ],
)
def test_one_word_stands_for_the_state(state: object, words: str) -> None:
    assert _one(job_state=state).state == words


def test_our_hold_and_a_users_hold_are_told_apart() -> None:
    ours = _one(
        job_state="PENDING",
        state_reason="JobHeldUser",
        state_description="job requeued in held state",
        priority=0,
    )
    theirs = _one(job_state="PENDING", state_reason="JobHeldUser", priority=0)
    assert (ours.held, ours.reason) == (True, "job_requeued_in_held_state")
    assert (theirs.held, theirs.reason) == (True, "JobHeldUser")
    assert not _one(job_state="PENDING").held
    assert not _one(job_state="RUNNING", priority=0).held


@pytest.mark.parametrize("end", [NOW + 1830, NOW + 4294967236])
def test_while_it_completes_a_requeued_job_is_still_the_old_attempt(end: int) -> None:
    job = _one(
        job_state="COMPLETING", restart_cnt=2, start_time=NOW + 30, end_time=end, exit_code=0
    )
    assert job.restart_count == 1
    assert (job.start_time, job.end_time, job.exit_code) == (None, None, None)
    assert job.submit_time == (NOW - 100) * 10**6


def test_while_it_completes_a_job_that_ended_shows_its_end() -> None:
    job = _one(job_state="COMPLETING", restart_cnt=2, end_time=NOW + 1, exit_code=1792)
    assert job.restart_count == 2
    assert (job.end_time, job.exit_code) == ((NOW + 1) * 10**6, 7)


def test_what_is_only_expected_of_a_waiting_job_is_left_out() -> None:
    job = _one(job_state="PENDING", restart_cnt=1, nodes="", exit_code=1792, time_limit=None)
    assert (job.start_time, job.end_time, job.time_limit_seconds) == (None, None, None)
    assert (job.exit_code, job.restart_count) == (7, 1)


@pytest.mark.parametrize(
    ("given_code", "exit_code", "signal"),
    [
        (768, 3, None),
        (9, 0, 9),
        (4021, 0, 53),  # 0:53, Slurm's way to say that the output file couldn't be opened
        (0, 0, None),
        ({"status": ["ERROR"], "return_code": _set(3), "signal": {"id": UNSET}}, 3, None),
        ({"status": ["SIGNALED"], "return_code": _set(0), "signal": {"id": _set(9)}}, 0, 9),
        ({"status": "SIGNALED", "return_code": 0, "signal": {"signal_id": 9, "name": "x"}}, 0, 9),
        ({"status": [], "return_code": UNSET}, 0, None),
    ],
)
def test_exit_codes_are_those_that_slurm_prints(
    given_code: object, exit_code: int, signal: int | None
) -> None:
    job = _one(job_state="FAILED", end_time=NOW, exit_code=given_code)
    assert (job.exit_code, job.signal) == (exit_code, signal)


def test_tasks_components_and_waiting_tasks_have_their_ids() -> None:
    task = _one(job_id=14, array_job_id=12, array_task_id=0, standard_output="")
    component = _one(job_id=13, het_job_id=12, het_job_offset=1)
    waiting = _one(job_state="PENDING", array_job_id=12, array_task_string="1-900%5")
    assert (task.job_id, task.raw_job_id, task.std_out) == ("12_0", 14, "/w/slurm-12_0.out")
    assert (component.job_id, component.raw_job_id) == ("12+1", 13)
    assert waiting.job_id == "12_[1-900%5]"


@pytest.mark.parametrize(
    ("record", "job_id", "holds"),
    [
        ("12_[1-900%5]", "12_900", True),
        ("12_[1-900%5]", "12_901", False),
        ("12_[1-9:4,20,30-31]", "12_5", True),
        ("12_[1-9:4,20,30-31]", "12_6", False),
        ("12_[1-9:4,20,30-31]", "12_31", True),
        ("12_[1-9]", "13_1", False),
        ("12_[1-9]", "12", False),
        ("12_3", "12_3", False),
        ("12", "12", False),
    ],
)
def test_a_waiting_task_is_found_in_its_record(record: str, job_id: str, *, holds: bool) -> None:
    assert task_of(record, job_id) is holds


def test_an_interactive_job_has_no_files() -> None:
    job = _one(batch_flag=False)
    assert (job.std_out, job.std_err) == (None, None)


def test_errors_of_slurm_are_never_an_empty_list() -> None:
    text = json.dumps(
        {
            "errors": [{"description": "Failed while looking for jobs", "error": "no contact"}],
            "jobs": [],
        }
    )
    with pytest.raises(UnreachableError, match="Failed while looking for jobs, no contact"):
        parse_squeue(text, asked_at=0)
    with pytest.raises(UnreachableError, match="odd"):
        parse_squeue('{"errors": ["odd"], "jobs": []}', asked_at=0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "JOBID PARTITION\n",
        '{"jobs": [{"job_id": 1}]}',
        '{"jobs": [], "err',
        '{"jobs": [{"job_id": "1", "job_state": "RUNNING", "submit_time": 1}]}',
    ],
)
def test_something_else_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="squeue --json"):
        parse_squeue(text, asked_at=0)


def test_a_bad_node_list_is_an_error_and_not_no_nodes() -> None:
    with pytest.raises(InputError, match="hostlist"):
        _one(excluded_nodes="n[1-")


NUMBERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.fixed_dictionaries({}, optional={"set": st.booleans(), "number": st.integers()}),
)


@given(
    st.fixed_dictionaries(
        {"submit_time": NUMBERS, "job_state": st.one_of(st.text(), st.lists(st.text()))},
        optional=dict.fromkeys(
            ("exit_code", "end_time", "priority", "array_job_id", "array_task_id"), NUMBERS
        )
        | {key: st.text() for key in ("comment", "name", "standard_output", "state_description")},
    )
)
def test_whatever_the_fields_hold_only_our_errors_are_raised(fields: dict[str, Any]) -> None:
    try:
        job = _one(**fields)
    except RelumeError:
        return
    assert job.raw_job_id == 12
    assert job.comment == (fields.get("comment") or None)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(RelumeError):
        parse_squeue(text, asked_at=0)
