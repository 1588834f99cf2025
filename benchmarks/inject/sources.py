"""What faults are put into: a data set, or the files of one attempt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from relume.clock import MICROSECONDS_PER_SECOND
from relume.dataset import AttemptEntry, DatasetHeader, LogFile
from relume.events import LogLine
from relume.identity import AttemptId, JobKey
from relume.ingest.accounting.read import read_rows
from relume.ingest.accounting.row import AccountingRow
from relume.ingest.attempts import JOB, KERNEL, SACCT, AttemptInput, find_attempts
from relume.ingest.datasets import is_dataset, read_dataset
from relume.ingest.filenames import writer_of
from relume.ingest.importing.events import text_lines
from relume.ingest.loglines import LineParser
from relume.ingest.opening import read_blocks
from relume.ingest.skips import SkipCounts

CLUSTER = "injected"
_LOOKED_AT = 5_000
"""Lines at the start of a job's log in which nodes and ranks say who they are."""
_TEXT_BYTES = 600
"""Of a line, in which its prefixes stand."""


def read_source(path: Path) -> tuple[DatasetHeader, list[AttemptEntry]]:
    """Return a data set, or the files of one attempt as one; paths of logs are absolute.

    Raises
    ------
    InputError
        When it is neither.
    """
    if is_dataset(path):
        dataset = read_dataset(path)
        return replace(dataset.header, node_logs=dataset.node_logs), list(dataset.attempts())
    [found] = find_attempts([path.absolute()])
    return DatasetHeader(name=path.name), [_as_entry(found)]


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who an attempt is: its nodes, and the largest rank that shows (0 where none does)."""

    nodes: tuple[str, ...]
    rank: int


def speakers(entry: AttemptEntry) -> Speakers:
    """Return the nodes of an attempt by its record, else by the first lines of its logs."""
    nodes: dict[str, None] = {}
    rank = 0
    for file in entry.files:
        for line in _first_lines(file):
            if line.node is not None:
                nodes.setdefault(line.node)
            rank = max(rank, line.rank or line.task or 0)
    return Speakers(entry.nodes or tuple(nodes), rank)


def _first_lines(file: LogFile) -> Iterator[LogLine]:
    parser = LineParser(file.path)
    lines = (
        parser.look(text[:_TEXT_BYTES].decode("utf-8", "replace"), 0, 0)
        for block in read_blocks(file.path)
        for text in block.data.split(b"\n")
    )
    return islice(lines, _LOOKED_AT)


def _as_entry(found: AttemptInput) -> AttemptEntry:
    row = next(iter(_rows(found)), None)
    key = JobKey(CLUSTER, "1", 0)
    if row is not None:
        submitted = (row.submit or 0) // MICROSECONDS_PER_SECOND * MICROSECONDS_PER_SECOND
        key = JobKey(CLUSTER, row.job_id, submitted)
    files = tuple(
        LogFile(
            path=str(file.path),
            stream=None if file.form == JOB else file.form,
            node=writer_of(str(file.path)).node if file.form == KERNEL else None,
        )
        for file in found.files
        if file.form != SACCT
    )
    return AttemptEntry(
        attempt=str(AttemptId(key, 0)),
        name=Path(found.name).name,
        nodes=() if row is None else row.nodes,
        start=None if row is None else row.start,
        end=None if row is None else row.end,
        state=None if row is None else row.state,
        files=files,
        incidents=(),
    )


def _rows(found: AttemptInput) -> Iterator[AccountingRow]:
    for file in found.files:
        if file.form == SACCT:
            skipped = SkipCounts()
            yield from read_rows(text_lines(Path(file.path), skipped), skipped)
