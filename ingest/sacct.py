"""Rows of `sacct -P`, by their header: what accounting says of an attempt.

Only what a diagnosis needs is read here; arrays, heterogeneous jobs and whole histories are a later
change. Source: Slurm's sacct(1), option ``--parsable2``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relume.ingest.skips import SkipCounts

_NEEDED = frozenset({"JobID", "State"})
MAX_HEADER_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class AccountingRow:
    """One job row (not one of its steps). Null where the column is absent or empty.

    `state` is Slurm's word without what follows it (``CANCELLED by 1000`` is ``CANCELLED``);
    `nodelist` is the hostlist as printed.
    """

    job_id: str
    state: str
    exit_code: int | None = None
    signal: int | None = None
    nodelist: str | None = None


def is_sacct(start: str) -> bool:
    r"""Whether a text begins with a `sacct -P` header.

    >>> is_sacct("JobID|State|ExitCode\n12|FAILED|1:0\n")
    True
    """
    header = start.split("\n", 1)[0][:MAX_HEADER_CHARACTERS]
    return set(header.strip().split("|")) >= _NEEDED


def read_rows(lines: Iterable[str], skipped: SkipCounts) -> list[AccountingRow]:
    """Read the job rows; rows with too few columns or without a job id are counted."""
    rows: list[AccountingRow] = []
    columns: list[str] = []
    for line in lines:
        cells = line.rstrip("\n").split("|")
        if not columns:
            columns = [cell.strip() for cell in cells]
            continue
        if not line.strip():
            continue
        if len(cells) < len(columns) or not cells[columns.index("JobID")].strip():
            skipped.add("sacct_row")
            continue
        row = dict(zip(columns, cells, strict=False))
        if "." not in row["JobID"]:  # a step such as 12.batch says less than its job
            rows.append(_row(row))
    return rows


def _row(row: dict[str, str]) -> AccountingRow:
    code, _, signal = row.get("ExitCode", "").partition(":")
    nodes = row.get("NodeList", "").strip()
    return AccountingRow(
        job_id=row["JobID"].strip(),
        state=row["State"].split(" ", 1)[0].strip(),
        exit_code=int(code) if code.isdigit() else None,
        signal=int(signal) if signal.isdigit() and signal != "0" else None,
        nodelist=nodes if nodes not in {"", "None assigned"} else None,
    )
