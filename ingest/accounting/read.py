"""Rows of `sacct -P`, of any release and any columns, as what they say of attempts.

Source: Slurm's sacct(1), options ``--parsable2``, ``--parsable`` and ``--delimiter``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo

from relume.errors import InputError
from relume.ingest.accounting.row import NO_STEPS, AccountingRow, Step, Steps
from relume.ingest.accounting.states import STATES
from relume.ingest.accounting.times import (
    DURATION,
    TIME,
    number_of,
    seconds_of,
    span_of,
    time_of,
)
from relume.ingest.skips import SkipCounts
from relume.ingest.tables import Cells, Form, Table, read_table
from relume.ingest.timestamps import zone_of

_ID = re.compile(r"(?P<job>\d+(?:_(?:\d+|\[[^\]|]*\])|\+\d+)?)(?:\.(?P<step>[\w+]+))?", re.ASCII)
_STATE = re.compile(rf"(?:{'|'.join(sorted(STATES))})(?: by \S+)?")
_CODE = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)
_COUNT = re.compile(r"\d*", re.ASCII)
_TRES = re.compile(r"(?:[\w/:.-]+=[\w.]+(?:,|$))*", re.ASCII)
_HOSTS = re.compile(r"None assigned|\(null\)|[\w.\[\],-]*", re.ASCII)
_GPUS = re.compile(r"gres/gpu(?P<kind>:[^=,]*)?=(\d{1,9})", re.ASCII)
_NOTHING = frozenset({"", "None", "Unknown", "None assigned", "(null)", "N/A"})
_SECONDS_PER_MINUTE = 60

SACCT = Form(
    ids={"JobID": _ID, "JobIDRaw": _ID},
    needed={"State": _STATE},
    typed={
        "JobIDRaw": _ID,
        **dict.fromkeys(("Submit", "Start", "End"), TIME),
        **dict.fromkeys(("Elapsed", "Timelimit", "Reserved", "Planned", "Suspended"), DURATION),
        **dict.fromkeys(("CPUTime", "TotalCPU", "UserCPU", "SystemCPU"), DURATION),
        "ExitCode": _CODE,
        **dict.fromkeys(("ElapsedRaw", "CPUTimeRAW", "NNodes", "AllocNodes", "ReqNodes"), _COUNT),
        **dict.fromkeys(("NCPUS", "AllocCPUS", "ReqCPUS", "UID", "GID", "Restarts"), _COUNT),
        **dict.fromkeys(("AllocTRES", "ReqTRES"), _TRES),
        "NodeList": _HOSTS,
    },
    texts=("SubmitLine", "Comment", "AdminComment", "SystemComment", "JobName", "WorkDir", "Extra"),
    lost="sacct_row",
    foreign="sacct_line",
    joined="sacct_row_joined",
)


def is_sacct(start: str) -> bool:
    r"""Whether a text begins with a `sacct -P` header, after a few lines of others at most.

    >>> is_sacct("JobID|State|ExitCode\n12|FAILED|1:0\n"), is_sacct("State|Speed\n")
    (True, False)
    """
    return bool(SACCT.headers(start))


def with_header(lines: Iterable[str]) -> Iterator[str]:
    r"""Pass lines on; at their end, refuse them where none was a header of `sacct -P`.

    A table without rows has a header, too: what has none is no table, not one of no jobs.

    Raises
    ------
    InputError
        Having yielded all of them.

    Examples
    --------
    >>> list(with_header(["JobID|State"]))
    ['JobID|State']
    >>> list(with_header(["JobID  State", "7  FAILED"]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    relume.errors.InputError: accounting; found 2 lines, none of them a header; expected ...
    """
    count, source = 0, iter(lines)
    for line in source:
        yield line
        count += bool(line.strip())
        if SACCT.header(line) is not None:
            yield from source
            return
    raise InputError(
        "accounting",
        found=f"{count} lines, none of them a header" if count else "nothing",
        expected="a table of sacct whose header names JobID and State",
        hint="`sacct --duplicates --parsable2` prints one, without --noheader",
    )


def read_rows(
    lines: Iterable[str], skipped: SkipCounts, *, zone: str = "UTC"
) -> Iterator[AccountingRow]:
    """Yield one row an attempt, in the order of the lines, with the steps that stand behind it.

    Free text (the submit line, comments) may hold line breaks and delimiters: broken rows are
    joined, and counted. Unknown columns are passed over. Holds one row.

    Parameters
    ----------
    lines
        The lines, the header first; it may come again. The delimiter is read from it.
    skipped
        Where is counted what was not read, or not as it was written: `sacct_row`, `sacct_line`,
        `sacct_step`, `sacct_row_joined`.
    zone
        Zone of the times: sacct prints those of the machine it runs on.

    Raises
    ------
    InputError
        For an unknown zone.

    Examples
    --------
    >>> lines = ["JobID|State|ExitCode", "7|CANCELLED by 12|0:15", "7.batch|OUT_OF_MEMORY|0:125"]
    >>> [row] = read_rows(lines, SkipCounts())
    >>> row.job_id, row.state, row.exit_code, row.signal, row.cancelled_by
    ('7', 'CANCELLED', 0, 15, '12')
    >>> row.steps
    Steps(count=1, worst=Step(name='batch', state='OUT_OF_MEMORY', exit_code=0, signal=125))
    """
    where = zone_of(zone)
    job, job_id, steps = None, "", NO_STEPS  # the job whose steps are being read
    for table, cells in read_table(lines, SACCT, skipped=skipped):
        line = _Line(table, cells, where)
        line_id, step = line.ids()
        if step is None:
            if job is not None:
                yield job.row(job_id, steps)
            job, job_id, steps = line, line_id, NO_STEPS
        elif job is not None and job_id == line_id:
            steps = steps.with_step(line.step(step))
        else:
            skipped.add("sacct_step")
    if job is not None:
        yield job.row(job_id, steps)


class _Line(Cells):
    """What one line says, of a job or of a step."""

    __slots__ = ("_zone",)

    def __init__(self, table: Table, cells: list[str], zone: tzinfo) -> None:
        super().__init__(table, cells)
        self._zone = zone

    def ids(self) -> tuple[str, str | None]:
        """Return the job's id, and the step's name or null."""
        found = _ID.fullmatch(self.cell("JobID", "JobIDRaw"))
        assert found is not None  # noqa: S101 - the table has only such rows
        return found["job"], found["step"]

    def step(self, name: str) -> Step:
        return Step(name, self._state()[0], *self._code("ExitCode"))

    def row(self, job_id: str, steps: Steps) -> AccountingRow:
        state, _, by = self._state()
        elapsed = self._elapsed()
        start, end = span_of(self.cell("Start"), self.cell("End"), elapsed, self._zone)
        submit = time_of(self.cell("Submit"), self._zone, before=end if start is None else start)
        exit_code, signal = self._code("ExitCode")
        derived_exit_code, derived_signal = self._code("DerivedExitCode")
        minutes = number_of(self.cell("TimelimitRaw"))
        return AccountingRow(
            job_id=job_id,
            state=state,
            exit_code=exit_code,
            signal=signal,
            nodelist=self._text("NodeList"),
            start=start,
            end=end,
            raw_job_id=number_of(self.cell("JobIDRaw")),
            submit=submit,
            eligible=time_of(self.cell("Eligible"), self._zone, before=start),
            elapsed_seconds=elapsed,
            planned_seconds=seconds_of(self.cell("Planned", "Reserved")),
            time_limit_seconds=seconds_of(self.cell("Timelimit"))
            if minutes is None
            else minutes * _SECONDS_PER_MINUTE,
            cancelled_by=by or None,
            derived_exit_code=derived_exit_code,
            derived_signal=derived_signal,
            reason=self._text("Reason"),
            name=self._text("JobName"),
            user=self._text("User"),
            account=self._text("Account"),
            partition=self._text("Partition"),
            cluster=self._text("Cluster"),
            num_nodes=number_of(self.cell("AllocNodes", "NNodes")),
            gpus=_gpus(self.cell("AllocTRES") or self.cell("ReqTRES")),
            comment=self._text("Comment"),
            admin_comment=self._text("AdminComment"),
            system_comment=self._text("SystemComment"),
            work_dir=self._text("WorkDir"),
            submit_line=self._text("SubmitLine"),
            std_out=self._text("StdOut"),
            std_err=self._text("StdErr"),
            restarts=number_of(self.cell("Restarts")),
            flags=tuple(filter(None, self.cell("Flags").split(","))),
            steps=steps,
        )

    def _text(self, name: str) -> str | None:
        text = self.cell(name)
        return None if text in _NOTHING else text

    def _state(self) -> tuple[str, str, str]:
        return self.cell("State").partition(" by ")

    def _code(self, name: str) -> tuple[int | None, int | None]:
        """Return exit code and signal; signal 0 is none."""
        found = _CODE.fullmatch(self.cell(name))
        if found is None:
            return None, None
        return int(found[1]), int(found[2]) or None

    def _elapsed(self) -> int | None:
        raw = number_of(self.cell("ElapsedRaw"))
        return seconds_of(self.cell("Elapsed")) if raw is None else raw


def _gpus(resources: str) -> int | None:
    """Return the GPUs of ``cpu=8,gres/gpu=4,gres/gpu:a100=4``: the types are parts of the total."""
    if not resources:
        return None
    counts = [(found["kind"], int(found[2])) for found in _GPUS.finditer(resources)]
    total = [count for kind, count in counts if kind is None]
    return total[0] if total else sum(count for _, count in counts)
