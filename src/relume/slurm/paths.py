"""Where a batch job writes: Slurm's file name patterns, replaced as `slurmstepd` does.

Source: `sbatch(1)`, "filename pattern"; what the page leaves open was tried on Slurm 22.05.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

_PATTERN = re.compile(r"%(?:%|(?P<width>[0-9]*)(?P<letter>[AJNajnstux]))")
_NO_TASK = 4294967294
"""What Slurm writes for the task id of a job that is no array (its NO_VAL)."""
_MAX_WIDTH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputNames:
    """What the patterns of one batch job stand for.

    `array_job_id` and `array_task_id` are null for a job that is no array, `batch_host` (the node
    that runs the script) until it has started.
    """

    raw_job_id: int
    array_job_id: int | None
    array_task_id: int | None
    user: str
    job_name: str
    batch_host: str | None
    work_dir: str


_JOB_OUTPUT = re.compile(
    r"(?:.*/)?slurm-\d+(?:[._+-][\w.+-]*)?\.(?:out|err)(?:\.(?:gz|zst|\d{1,3}))*", re.ASCII
)


def is_job_output(file: str) -> bool:
    """Whether a file is named as Slurm names the output of a job that doesn't say otherwise.

    >>> is_job_output("logs/slurm-123_4.out"), is_job_output("slurmctld.log")
    (True, False)
    """
    return _JOB_OUTPUT.fullmatch(file) is not None


def output_path(pattern: str, names: OutputNames) -> str | None:
    r"""Return the absolute path that a pattern of ``--output`` stands for.

    An empty pattern is Slurm's default, ``slurm-JOBID.out`` in the working directory. Null is
    returned while the path can't be known: it names the node, and the job hasn't started.

    Examples
    --------
    >>> names = OutputNames(
    ...     raw_job_id=7,
    ...     array_job_id=None,
    ...     array_task_id=None,
    ...     user="ada",
    ...     job_name="opus",
    ...     batch_host=None,
    ...     work_dir="/w",
    ... )
    >>> output_path("logs/%x-%4j.out", names), output_path("", names), output_path("%N", names)
    ('/w/logs/opus-0007.out', '/w/slurm-7.out', None)
    """
    if not pattern:
        pattern = "slurm-%j.out" if names.array_job_id is None else "slurm-%A_%a.out"
    if "\\" in pattern:  # the user's way to switch patterns off
        path = re.sub(r"\\(.?)", r"\1", pattern)
    elif names.batch_host is None and any(m["letter"] == "N" for m in _PATTERN.finditer(pattern)):
        return None
    else:
        path = _PATTERN.sub(lambda match: _value(match, names), pattern)
    return str(PurePosixPath(names.work_dir) / path)


def _value(match: re.Match[str], names: OutputNames) -> str:
    number = {
        "A": names.raw_job_id if names.array_job_id is None else names.array_job_id,
        "a": _NO_TASK if names.array_task_id is None else names.array_task_id,
        "J": names.raw_job_id,
        "j": names.raw_job_id,
        "n": 0,
        "t": 0,
    }.get(match["letter"])
    if number is not None:
        return str(number).zfill(min(int(match["width"] or 0), _MAX_WIDTH))
    text = {"N": names.batch_host, "s": "batch", "u": names.user, "x": names.job_name, None: "%"}
    return text[match["letter"]] or ""
