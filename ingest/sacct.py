"""Rows of `sacct -P`, by their header: what accounting says of an attempt.

Only what a diagnosis needs is read here; arrays, heterogeneous jobs and whole histories are a later
change. Source: Slurm's sacct(1), option ``--parsable2``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from relume.ingest.skips import SkipCounts
from relume.ingest.timestamps import Clock

STATES = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "COMPLETING",
        "CONFIGURING",
        "DEADLINE",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PENDING",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RESIZING",
        "RESV_DEL_HOLD",
        "REVOKED",
        "RUNNING",
        "SIGNALING",
        "SPECIAL_EXIT",
        "STAGE_OUT",
        "STOPPED",
        "SUSPENDED",
        "TIMEOUT",
    }
)
"""Slurm's words (job_state_string in src/common/slurm_protocol_defs.c)."""
MAX_HEADER_CHARACTERS = 8000
MAX_ROW_CHARACTERS = 1 << 20
"""Bound of a row that goes over several lines."""
_IDS = ("JobID", "JobIDRaw")
_JOB_ID = re.compile(r"\d+(?:[_+][\w\[\],%+-]+)?(?P<step>\.\w+)?", re.ASCII)
_NO_NODES = frozenset({"", "None assigned", "(null)"})


@dataclass(frozen=True, slots=True)
class AccountingRow:
    """One job row (not one of its steps). Null where the column is absent or empty.

    `state` is Slurm's word without what follows it (``CANCELLED by 1000`` is ``CANCELLED``);
    `exit_code` and `signal` are the halves of ``ExitCode``, signal 0 being none; `nodelist` is the
    hostlist as printed; `start` and `end` are UTC microseconds, null while Slurm says ``Unknown``.
    """

    job_id: str
    state: str
    exit_code: int | None = None
    signal: int | None = None
    nodelist: str | None = None
    start: int | None = None
    end: int | None = None


def is_sacct(start: str) -> bool:
    r"""Whether a text begins with a `sacct -P` header.

    >>> is_sacct("JobID|State|ExitCode\n12|FAILED|1:0\n"), is_sacct("State|Speed\n")
    (True, False)
    """
    return _is_header(start.split("\n", 1)[0][:MAX_HEADER_CHARACTERS].strip().split("|"))


def read_rows(
    lines: Iterable[str], skipped: SkipCounts, *, zone: str = "UTC"
) -> list[AccountingRow]:
    """Read the job rows, in their order.

    Free text (the submit line, comments) may hold line breaks and bars: broken rows are joined, and
    counted; a row whose columns can't be told is left out, and counted.

    Parameters
    ----------
    lines
        The lines, the header first; it may come again.
    skipped
        Where rows are counted: `sacct_row`, `sacct_row_joined`.
    zone
        Zone of the times: sacct prints those of the machine it runs on.

    Examples
    --------
    >>> [row] = read_rows(["JobID|State|ExitCode", "7|CANCELLED by 12|0:15"], SkipCounts())
    >>> row.job_id, row.state, row.exit_code, row.signal
    ('7', 'CANCELLED', 0, 15)
    """
    rows: list[AccountingRow] = []
    clock = Clock(zone)
    for columns, cells in _tables(lines, skipped):
        row = _aligned(columns, cells)
        job_id = _JOB_ID.fullmatch(_job_id(row)) if row else None
        if job_id is None:
            skipped.add("sacct_row")
        elif job_id["step"] is None:  # a step such as 12.batch says less than its job
            rows.append(_row(row, clock))
    return rows


def _tables(
    lines: Iterable[str], skipped: SkipCounts
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield (columns, cells) of every row, joined where it was broken."""
    columns: list[str] = []
    broken = _BrokenRow()
    for line in lines:
        cells = line.rstrip("\r\n").split("|")
        if not columns or _is_header(cells):
            columns = [cell.strip() for cell in cells]
        elif len(cells) >= len(columns):
            skipped.add("sacct_row", broken.drop())  # it was no beginning: here is a whole row
            yield columns, cells
        elif broken.add(cells) >= len(columns):
            skipped.add("sacct_row_joined")
            yield columns, broken.take()
        elif broken.characters > MAX_ROW_CHARACTERS:
            skipped.add("sacct_row", broken.drop())
    skipped.add("sacct_row", broken.drop())


class _BrokenRow:
    """The beginning of a row that goes on in the next lines."""

    def __init__(self) -> None:
        self._lines: list[list[str]] = []
        self._cells = 0
        self.characters = 0

    def add(self, cells: list[str]) -> int:
        """Take the next line; return how many cells the row has now. No row begins blank."""
        if self._lines or any(cells):
            self._cells += len(cells) - bool(self._lines)  # a line break is within a cell
            self._lines.append(cells)
            self.characters += 1 + sum(map(len, cells))
        return self._cells

    def take(self) -> list[str]:
        """Return the cells, and begin anew."""
        row = "\n".join("|".join(line) for line in self._lines).split("|")
        self.drop()
        return row

    def drop(self) -> int:
        """Begin anew; return whether anything is lost (0 or 1)."""
        lost = bool(self._lines)
        self._lines, self._cells, self.characters = [], 0, 0
        return int(lost)


def _aligned(columns: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Cells by column, empty where they can't be told: with bars in its text, a row is too long.

    Then the columns before the text count from the left, those after it from the right; that the
    id and the state make sense tells which.
    """
    for shift in {0, len(cells) - len(columns)}:
        row = dict(zip(columns, cells[shift:], strict=False))
        if _state(row) in STATES and _JOB_ID.fullmatch(_job_id(row)):
            return row
    return {}


def _row(row: dict[str, str], clock: Clock) -> AccountingRow:
    code, _, signal = row.get("ExitCode", "").strip().partition(":")
    nodes = row.get("NodeList", "").strip()
    return AccountingRow(
        job_id=_job_id(row),
        state=_state(row),
        exit_code=_number(code),
        signal=_number(signal) or None,
        nodelist=None if nodes in _NO_NODES else nodes,
        start=clock.read(row.get("Start", "").strip()),
        end=clock.read(row.get("End", "").strip()),
    )


def _is_header(cells: Sequence[str]) -> bool:
    return "State" in cells and any(name in cells for name in _IDS)


def _job_id(row: dict[str, str]) -> str:
    return next((row[name].strip() for name in _IDS if name in row), "")


def _state(row: dict[str, str]) -> str:
    return row.get("State", "").strip().partition(" ")[0]


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None
