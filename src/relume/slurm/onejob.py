"""What changes in one job, from ``scontrol show job``: a hundred times cheaper than all of them.

`squeue --json` of 22.05 lists every job, whatever it is asked for. scontrol prints one, but as text
in which names, paths and comments stand unquoted, so that a job's name can pretend to be the fields
that follow. Hence this reads only what it can be sure of: each field must be there *once*, which
none is that somebody wrote a second time; and what users write must be, character for character,
what a listing in JSON said before. Whatever isn't so is for that listing to say.

Source: Slurm's `slurm_sprint_job_info`; tried on 22.05.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC

from relume.clock import MICROSECONDS_PER_SECOND, from_iso
from relume.errors import InputError
from relume.slurm.hostlists import expand
from relume.slurm.job import ENDED_STATES, NOT_STARTED, SlurmJob

COMMAND = ("scontrol", "show", "job", "--oneliner")
"""And the job's id; under the environment of `relume.slurm.sacct`."""
REQUEUED_END_SECONDS = 20
"""Between what clocks of two hosts differ by and the shortest time limit, a minute."""
_FIELDS = (
    "JobId",
    "UserId",
    "Priority",
    "JobState",
    "Reason",
    "Requeue",
    "Restarts",
    "ExitCode",
    "SubmitTime",
    "StartTime",
    "EndTime",
    "Partition",
    "ReqNodeList",
    "ExcNodeList",
    "NodeList",
    "NumNodes",
)
_FIELD = re.compile(rf"(?<!\S)({'|'.join(_FIELDS)})=(\S*)")
_NO_TIME = frozenset({"Unknown", "None", "N/A", ""})


def parse_job(text: str, known: SlurmJob, asked_at: int) -> SlurmJob | None:
    """Read what `COMMAND` printed of a job at `asked_at` (UTC microseconds).

    Parameters
    ----------
    text
        One record.
    known
        The same job from `squeue`: what doesn't change is taken from there.

    Returns
    -------
    The job as it is now; null when the text can't be trusted to say that, or when something else
    of it than its state has changed: ask `squeue` then.
    """
    found = _FIELD.findall(text)
    values = dict(found)
    if len(found) != len(_FIELDS) or not _same(text, values, known):
        return None
    try:
        return _with(known, values, asked_at)
    except (InputError, ValueError):  # another version's way to write it
        return None


def requeued(state: str, end_time: int | None, asked_at: int) -> bool:
    """Whether a job is COMPLETING because it is being requeued: the end it shows is yet to come.

    It is what Slurm expects of the next attempt, at least a minute away (the shortest limit).
    """
    soon = asked_at + REQUEUED_END_SECONDS * MICROSECONDS_PER_SECOND
    return state == "COMPLETING" and end_time is not None and end_time > soon


def _same(text: str, values: dict[str, str], known: SlurmJob) -> bool:
    """Whether the record is about the known job, and users' words in it are the known ones."""
    names = ((" AdminComment=", known.admin_comment), (" Comment=", known.comment))
    words = "".join(f"{name}{value} " for name, value in names if value)
    return (
        values["JobId"] == str(known.raw_job_id)
        and values["UserId"].partition("(")[0] == known.user
        and f"{words} StdErr=" in text
        and text.count("Comment=") == words.count("Comment=")
    )


def _with(known: SlurmJob, values: dict[str, str], asked_at: int) -> SlurmJob:
    state, end = values["JobState"], _time(values["EndTime"])
    # Without a time limit, scontrol expects no end of the next attempt either.
    ahead = state == "COMPLETING" and (end is None or requeued(state, end, asked_at))
    over = not ahead and (state in ENDED_STATES or state == "COMPLETING")
    code, _, signal = values["ExitCode"].partition(":")
    shown = over or values["ExitCode"] != "0:0"
    return replace(
        known,
        state=state,
        reason=None if values["Reason"] == "None" else values["Reason"],
        partition=values["Partition"],
        submit_time=_time(values["SubmitTime"]),
        start_time=None if ahead or state in NOT_STARTED else _time(values["StartTime"]),
        end_time=end if over else None,
        restart_count=int(values["Restarts"]) - ahead,
        nodes=tuple(expand(values["NodeList"])),
        exclude_nodes=tuple(expand(values["ExcNodeList"])),
        required_nodes=tuple(expand(values["ReqNodeList"])),
        exit_code=(0 if int(signal) else int(code)) if shown else None,
        signal=(int(signal) or None) if shown else None,
        requeue=values["Requeue"] == "1",
        priority=int(values["Priority"]),
        num_nodes=int(values["NumNodes"].partition("-")[0]),
    )


def _time(text: str) -> int | None:
    return None if text in _NO_TIME else from_iso(text, UTC)
