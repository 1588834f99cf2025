"""The command that prints what accounting knows of a time: all attempts, all their steps.

As in `relume.slurm.sacct`, cells are separated by a word that is drawn anew for each call, here of
punctuation only, so that a reader of ``--parsable`` tables can tell it from the names of columns.

Source: `sacct(1)`; tried on Slurm 22.05.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from relume.clock import to_datetime

FIELDS = (
    "JobID",
    "JobIDRaw",
    "JobName",
    "User",
    "Account",
    "Partition",
    "Cluster",
    "State",
    "ExitCode",
    "DerivedExitCode",
    "Reason",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "TimelimitRaw",
    "NodeList",
    "NNodes",
    "AllocTRES",
    "Comment",
    "WorkDir",
    "SubmitLine",
)
"""What every Slurm since 21.08 has."""
PATH_FIELDS = ("StdOut", "StdErr")
"""What Slurm since 24.05 has."""
_MARKS = "#%&+=?@~^!"
_MARK_COUNT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for. Times are UTC microseconds; empty lists ask for all.

    `until` null is now.
    """

    since: int
    until: int | None = None
    users: Sequence[str] = ()
    jobs: Sequence[str] = ()
    partitions: Sequence[str] = ()


def command(asked: Asked, *, with_paths: bool) -> tuple[str, ...]:
    """Return the command; its times are UTC under `relume.slurm.sacct.ENVIRONMENT`.

    Older Slurm refuses the paths (`refuses_fields`).

    Examples
    --------
    >>> argv = command(Asked(since=0, users=["ada"]), with_paths=False)
    >>> argv[:3], argv[-1]
    (('sacct', '--duplicates', '--parsable2'), '--user=ada')
    """
    fields = FIELDS + (PATH_FIELDS if with_paths else ())
    delimiter = "".join(secrets.choice(_MARKS) for _ in range(_MARK_COUNT))
    lists = {"user": asked.users, "jobs": asked.jobs, "partition": asked.partitions}
    return (
        "sacct",
        "--duplicates",
        "--parsable2",
        f"--delimiter={delimiter}",
        f"--format={','.join(fields)}",
        f"--starttime={_time(asked.since)}",
        *(() if asked.until is None else (f"--endtime={_time(asked.until)}",)),
        *(() if asked.users else ("--allusers",)),
        *(f"--{name}={','.join(words)}" for name, words in lists.items() if words),
    )


def refuses_fields(stderr: str) -> bool:
    """Whether sacct says that it doesn't know a column."""
    return "Invalid field requested" in stderr


def _time(microseconds: int) -> str:
    return to_datetime(microseconds).strftime("%Y-%m-%dT%H:%M:%S")
