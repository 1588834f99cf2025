"""Attempts from ``sacct --duplicates``: one row for each time that a job ran.

Comments may hold any character. So the fields are separated by a word that is drawn anew for each
call, and ends each row too (``--parsable``, not ``--parsable2``): nobody can write it beforehand.

Files that people saved are read by `relume.ingest.accounting`, what we asked for ourselves by this.

Source: `sacct(1)`; tried on Slurm 22.05.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC

from relume.clock import from_iso
from relume.errors import InputError
from relume.identity import AccountingRow
from relume.slurm.hostlists import expand

FIELDS = (
    "JobID",
    "JobIDRaw",
    "State",
    "Submit",
    "Start",
    "End",
    "ExitCode",
    "NodeList",
    "Comment",
    "AdminComment",
)
ENVIRONMENT = {"TZ": "UTC", "SLURM_TIME_FORMAT": "standard"}
"""Under which the times are UTC; sacct prints no zone."""
_NO_TIME = frozenset({"Unknown", "None", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow(AccountingRow):
    """What accounting says of one attempt.

    Attributes
    ----------
    raw_job_id
        The number behind `job_id`.
    start_time
        UTC microseconds; null for an attempt that never started.
    exit_code, signal
        Null while it isn't over; `signal` is null if there was none.
    nodes
        Where it ran: the only place that knows it after a requeue.
    comment
        Null where the site stores none (``AccountingStoreFlags=job_comment``), and while it runs.
    """

    raw_job_id: int
    start_time: int | None
    exit_code: int | None
    signal: int | None
    nodes: tuple[str, ...]
    comment: str | None
    admin_comment: str | None

    @property
    def word(self) -> str:
        """The state without who did it: ``CANCELLED`` of ``CANCELLED by 0``."""
        return self.state.partition(" ")[0]


def command(job_id: str, separator: str) -> tuple[str, ...]:
    """Return the command that prints all attempts of a job, since the beginning.

    Parameters
    ----------
    job_id
        Of one job, or of several with commas between. Other jobs whose id it also stands for (tasks
        of an array) are printed too.
    separator
        A word that no field can hold, drawn for this call.
    """
    return (
        "sacct",
        "--duplicates",
        "--allocations",
        "--noheader",
        "--parsable",
        f"--delimiter={separator}",
        f"--format={','.join(FIELDS)}",
        "--starttime=1970-01-02",
        f"--jobs={job_id}",
    )


def parse_sacct(text: str, separator: str) -> list[AttemptRow]:
    r"""Read what `command` prints under `ENVIRONMENT`, in that order.

    Raises
    ------
    InputError
        When the text is something else.

    Examples
    --------
    >>> cells = ["7", "7", "REQUEUED", "2026-01-02T03:04:05", "2026-01-02T03:04:06"]
    >>> cells += ["2026-01-02T03:05:00", "3:0", "n[1-2]", "a|b\nc", ""]
    >>> [row] = parse_sacct("".join(cell + "<|>" for cell in cells) + "\n", "<|>")
    >>> row.nodes, row.exit_code, row.comment
    (('n1', 'n2'), 3, 'a|b\nc')
    """
    *cells, rest = text.split(separator)
    if rest.strip() or len(cells) % len(FIELDS):
        raise _unreadable(text)
    rows = [cells[start : start + len(FIELDS)] for start in range(0, len(cells), len(FIELDS))]
    return [_row(dict(zip(FIELDS, row, strict=True))) for row in rows]


def _row(cells: dict[str, str]) -> AttemptRow:
    submit, end = _time(cells["Submit"]), _time(cells["End"])
    raw_job_id = cells["JobIDRaw"]
    if submit is None or not raw_job_id.isdecimal():
        raise _unreadable(str(cells))
    code, _, signal = cells["ExitCode"].partition(":")
    return AttemptRow(
        job_id=cells["JobID"].removeprefix("\n"),
        raw_job_id=int(raw_job_id),
        state=cells["State"],
        submit_time=submit,
        start_time=_time(cells["Start"]),
        end_time=end,
        exit_code=int(code) if end is not None and code.isdecimal() else None,
        signal=int(signal) if end is not None and signal.isdecimal() and int(signal) else None,
        nodes=tuple(expand(cells["NodeList"])),
        comment=cells["Comment"] or None,
        admin_comment=cells["AdminComment"] or None,
    )


def _time(text: str) -> int | None:
    return None if text in _NO_TIME else from_iso(text, UTC)


def _unreadable(found: str) -> InputError:
    return InputError(
        "answer of sacct",
        found=f"{found[:120]!r}, {len(found)} characters",
        expected=f"rows of {len(FIELDS)} fields",
        hint="run sacct by hand",
    )
