"""Jobs from ``squeue --json``: the one form that says all we need, and that no user can break.

In Slurm's text forms a comment or job name may hold whatever separates fields or lines, and no text
form has everything. JSON keeps them apart. It has traps of its own, all handled here:

- slurmctld away: exit code 0, no jobs, and the fact in `errors` only (22.05);
- user text that is not UTF-8 is passed on as it is: decode with ``errors="replace"`` beforehand;
- numbers are plain (to 22.05) or ``{"set", "infinite", "number"}`` (since 23.02), states a word or
  a list of words, the exit code a wait status or an object;
- while a requeued job is COMPLETING, `restart_cnt` counts the attempt to come, and start and end
  are what Slurm expects of that one; nodes and submit time are still those of the old attempt;
- `state_reason` of a job that was requeued into hold says JobHeldUser, as for a user's own hold;
  `state_description` tells them apart, and is what scontrol prints;
- 22.05 ignores every filter and lists all jobs (`relume.slurm.onejob` reads one); later versions
  want ``--states=all`` for that.

Source: Slurm's openapi/v0.0.37 to v0.0.38 and data_parser v0.0.39 and later; tried on 22.05.
"""

from __future__ import annotations

import re
from typing import Any, TypeGuard

import msgspec

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import InputError, UnreachableError
from relume.slurm.hostlists import expand
from relume.slurm.job import ENDED_STATES, NOT_STARTED, SlurmJob
from relume.slurm.onejob import requeued
from relume.slurm.paths import OutputNames, output_path

COMMAND = ("squeue", "--json", "--all", "--states=all")
_SECONDS_PER_MINUTE = 60
_STATE_FLAGS = (
    "COMPLETING",
    "CONFIGURING",
    "RESIZING",
    "SPECIAL_EXIT",
    "REQUEUED",
    "REQUEUE_HOLD",
    "REQUEUE_FED",
    "REVOKED",
    "SIGNALING",
    "STAGE_OUT",
    "STOPPED",
)
"""Flags that stand for the whole state, the first one that is set (`job_state_string` of Slurm)."""
_NO_VALUES = frozenset({0xFFFFFFFE, 0xFFFFFFFF, 0xFFFE, 0xFFFF, 2**64 - 2, 2**64 - 1})
_TASK_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?")

# One record type for all versions: what differs is `Any` and read by the helpers below.
_Text = str | None


class _Row(msgspec.Struct):
    job_id: int
    job_state: str | list[str]
    submit_time: Any
    array_job_id: Any = None
    array_task_id: Any = None
    array_task_string: _Text = None
    het_job_id: Any = None
    het_job_offset: Any = None
    state_reason: _Text = None
    state_description: _Text = None
    user_name: _Text = None
    user_id: Any = None
    partition: _Text = None
    name: _Text = None
    comment: _Text = None
    admin_comment: _Text = None
    start_time: Any = None
    end_time: Any = None
    restart_cnt: Any = None
    nodes: _Text = None
    excluded_nodes: _Text = None
    required_nodes: _Text = None
    exit_code: Any = None
    batch_flag: bool = False
    batch_host: _Text = None
    standard_output: _Text = None
    standard_error: _Text = None
    stdout_expanded: _Text = None
    stderr_expanded: _Text = None
    current_working_directory: _Text = None
    time_limit: Any = None
    requeue: bool | None = None
    priority: Any = None
    node_count: Any = None
    deadline: Any = None


class _Document(msgspec.Struct):
    jobs: list[_Row]
    errors: list[Any] = []


def parse_squeue(text: str, asked_at: int) -> list[SlurmJob]:
    """Read what `COMMAND` printed when it was run at `asked_at` (UTC microseconds).

    Tasks of an array that wait together in one record have a job id like ``12_[3-9%2]``; `task_of`
    finds one of them.

    Raises
    ------
    UnreachableError
        When Slurm says in `errors` that it couldn't read its jobs.
    InputError
        When the text is something else.

    Examples
    --------
    >>> parse_squeue('{"errors": [], "jobs": []}', asked_at=0)
    []
    """
    try:
        document = msgspec.json.decode(text, type=_Document)
    except msgspec.MsgspecError as error:
        raise InputError(
            "answer of squeue --json",
            found=f"{error}, {len(text)} characters",
            expected="the jobs as JSON",
            hint="run squeue --json by hand; it needs Slurm 21.08 or later with its JSON plug-in",
        ) from error
    if document.errors:
        raise UnreachableError(
            "squeue --json",
            found="; ".join(map(_words, document.errors))[:400],
            expected="no errors: its list of jobs means nothing",
            hint="is slurmctld up (scontrol ping)?",
        )
    return [_job(row, asked_at) for row in document.jobs]


def task_of(record: str, job_id: str) -> bool:
    """Whether a record of waiting tasks, such as ``12_[3-9%2]``, holds the task `job_id`.

    Examples
    --------
    >>> task_of("12_[3-9:2,40%2]", "12_5"), task_of("12_[3-9:2,40%2]", "12_4")
    (True, False)
    """
    parent, _, tasks = record.partition("_[")
    wanted_parent, _, wanted = job_id.partition("_")
    if not tasks or parent != wanted_parent or not wanted.isdecimal():
        return False
    ranges = _TASK_RANGE.finditer(tasks.rstrip("]").partition("%")[0])
    return any(
        int(wanted) in range(int(r[1]), int(r[2] or r[1]) + 1, max(int(r[3] or 1), 1))
        for r in ranges
    )


def _job(row: _Row, asked_at: int) -> SlurmJob:
    state = _state(row.job_state)
    ahead = requeued(state, _time(row.end_time), asked_at)
    started = state not in NOT_STARTED and not ahead
    over = state in ENDED_STATES or state == "COMPLETING"
    exit_code, signal = _exit(row.exit_code, known=over and not ahead)
    user = row.user_name or str(_number(row.user_id) or 0)
    std_out, std_err = _outputs(row, user)
    limit = _number(row.time_limit)
    return SlurmJob(
        job_id=_job_id(row),
        raw_job_id=row.job_id,
        state=state,
        reason=_reason(row),
        user=user,
        partition=row.partition or "",
        name=row.name or "",
        comment=row.comment or None,
        admin_comment=row.admin_comment or None,
        submit_time=_time(row.submit_time),
        start_time=_time(row.start_time) if started else None,
        end_time=_time(row.end_time) if over and not ahead else None,
        restart_count=max((_number(row.restart_cnt) or 0) - ahead, 0),
        nodes=tuple(expand(row.nodes or "")),
        exclude_nodes=tuple(expand(row.excluded_nodes or "")),
        required_nodes=tuple(expand(row.required_nodes or "")),
        exit_code=exit_code,
        signal=signal,
        std_out=std_out,
        std_err=std_err,
        work_dir=row.current_working_directory or None,
        time_limit_seconds=None if limit is None else limit * _SECONDS_PER_MINUTE,
        requeue=row.requeue,
        priority=_number(row.priority),
        num_nodes=_number(row.node_count),
        deadline=_time(row.deadline),
    )


def _job_id(row: _Row) -> str:
    array, task = _number(row.array_job_id), _number(row.array_task_id)
    if array and task is not None:
        return f"{array}_{task}"
    if array and row.array_task_string:
        return f"{array}_[{row.array_task_string}]"
    leader = _number(row.het_job_id)
    return f"{leader}+{_number(row.het_job_offset) or 0}" if leader else str(row.job_id)


def _state(given: str | list[str]) -> str:
    words = [given] if isinstance(given, str) else given
    return next((flag for flag in _STATE_FLAGS if flag in words), words[0] if words else "")


def _reason(row: _Row) -> str | None:
    reason = (row.state_description or row.state_reason or "None").replace(" ", "_")
    return None if reason == "None" else reason


def _exit(given: object, *, known: bool) -> tuple[int | None, int | None]:
    """Return exit code and signal as Slurm prints them; a 0 of a job that isn't over is nothing."""
    if _is_table(given):
        signal = given.get("signal")
        number = _number(signal.get("id", signal.get("signal_id")) if _is_table(signal) else None)
        code = _number(given.get("return_code"))
    else:
        status = _number(given) or 0
        code, number = status >> 8 & 0xFF, status & 0x7F
    if not (code or number or known):
        return None, None
    return (0 if number else code or 0), number or None


def _outputs(row: _Row, user: str) -> tuple[str | None, str | None]:
    if not row.batch_flag:  # an interactive job writes to its terminal
        return None, None
    names = OutputNames(
        raw_job_id=row.job_id,
        array_job_id=_number(row.array_job_id) or None,
        array_task_id=_number(row.array_task_id),
        user=user,
        job_name=row.name or "",
        batch_host=row.batch_host or None,
        work_dir=row.current_working_directory or "/",
    )
    std_out = row.stdout_expanded or output_path(row.standard_output or "", names)
    if not (row.stderr_expanded or row.standard_error):
        return std_out, std_out
    return std_out, row.stderr_expanded or output_path(row.standard_error or "", names)


def _is_table(given: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(given, dict)


def _number(given: object) -> int | None:
    if _is_table(given):
        is_set = given.get("set", True) and not given.get("infinite", False)
        given = given.get("number") if is_set else None
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return None if given in _NO_VALUES else int(given)


def _time(given: object) -> int | None:
    seconds = _number(given)
    return seconds * MICROSECONDS_PER_SECOND if seconds else None


def _words(error: object) -> str:
    if _is_table(error):
        parts = (error.get(key) for key in ("description", "error", "source"))
        return ", ".join(str(part) for part in parts if part)
    return str(error)
