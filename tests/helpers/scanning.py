"""Accounting tables and logs of made-up jobs, for tests of the scan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from relume.dataset import AttemptEntry
from relume.identity import AttemptId
from relume.ingest.accounting.events import identify
from relume.ingest.accounting.read import read_rows
from relume.ingest.accounting.row import AccountingRow
from relume.ingest.skips import SkipCounts
from relume.serve.live.history import RunKey
from relume.serve.scan.scanned import Scanned
from relume.verdict import Domain, Evidence, Kind, Locator, Retry, Verdict

OOM = (
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 3 has a total capacity of 79.10 GiB of which 1.50 GiB is free."
)
COLUMNS = (
    "JobID",
    "JobIDRaw",
    "JobName",
    "User",
    "Partition",
    "Cluster",
    "State",
    "ExitCode",
    "Submit",
    "Start",
    "End",
    "NodeList",
    "WorkDir",
)
_USUAL = {
    "JobName": "train",
    "User": "ada",
    "Partition": "gpu",
    "Cluster": "lab",
    "State": "FAILED",
    "ExitCode": "1:0",
    "Submit": "2026-03-02T02:00:00",
    "Start": "2026-03-02T02:59:30",
    "End": "2026-03-02T03:13:25",
    "NodeList": "gpu-a[07-08]",
    "WorkDir": "/w",
}


def table(*rows: Mapping[str, str]) -> list[str]:
    """Return what `sacct -P` prints of these rows; each says what is unusual, its JobID at least."""
    columns = [
        *COLUMNS,
        *dict.fromkeys(name for row in rows for name in row if name not in COLUMNS),
    ]
    lines = ["|".join(columns)]
    for row in rows:
        raw = re.sub(r"[_+].*", "", row["JobID"])
        cells = {**_USUAL, "JobIDRaw": raw, **row}
        lines.append("|".join(cells.get(name, "") for name in columns))
    return lines


def attempts(*rows: Mapping[str, str]) -> list[tuple[AttemptId, AccountingRow]]:
    """Return the attempts of such a table."""
    skipped = SkipCounts()
    found = list(identify(read_rows(table(*rows), skipped), "lab", skipped))
    assert not skipped
    return found


def write(folder: Path, name: str, lines: Sequence[str]) -> Path:
    """Write a log."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def make_scanned(
    attempt: str = "lab/7@1767323045.0",
    *,
    text: str | None = "KeyError: 'x'",
    culprit: str | None = None,
    last_step: int | None = None,
    run: str | None = None,
) -> Scanned:
    """Return an attempt that failed with `text`, or ended well when that is null."""
    failed = text is not None
    evidence = (Evidence("r", "root", "job.log", 3, text),) if text is not None else ()
    verdict = Verdict(
        attempt=attempt,
        kind=Kind.CRASH if failed else Kind.BENIGN,
        cause="some_cause" if failed else None,
        domain=Domain.WORKLOAD if failed else Domain.UNKNOWN,
        root_line=3 if failed else None,
        root_file="job.log" if failed else None,
        culprit=Locator(node=culprit),
        retry=Retry.UNCLEAR,
        operation="RESTART",
        confidence=0.9,
        rule="r",
        evidence=evidence,
    )
    state = "FAILED" if failed else "COMPLETED"
    return Scanned(
        entry=AttemptEntry(attempt=attempt, nodes=("n1", "n2"), state=state),
        run=RunKey("lab", None, run or attempt.rpartition(".")[0]),
        verdict=verdict,
        last_step=last_step,
    )
