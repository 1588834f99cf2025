"""Recordings to import, written as a test needs them, and what a lake holds of them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from relume.dataset import AttemptEntry, DatasetHeader, LogFile
from relume.ingest.datasets import Dataset, write_dataset
from relume.ingest.lake import LakeReader, LineBatch, SampleBatch
from relume.ingest.lake.batches import logical_lines

START = 1_772_607_605_000_000


def make_entry(number: int, *files: Path | str, **changes: object) -> AttemptEntry:
    """Return an attempt of a data set that ran for an hour and failed."""
    fields: dict[str, object] = {
        "attempt": f"lab/{number}@1772607600.0",
        "nodes": ("gpu-a01", "gpu-a02"),
        "start": START,
        "end": START + 3_600_000_000,
        "state": "FAILED",
        "exit_code": 1,
        "signal": 0,
        "files": tuple(LogFile(path=str(file)) for file in files),
    }
    return AttemptEntry(**(fields | changes))  # type: ignore[arg-type]


def make_dataset(
    folder: Path, attempts: Iterable[AttemptEntry], *node_logs: LogFile, name: str = "made up"
) -> Dataset:
    """Write a data set into `folder`."""
    return write_dataset(folder, DatasetHeader(name=name, node_logs=node_logs), attempts)


def log_text(seed: int, lines: int) -> bytes:
    """Return lines that all differ; some are redrawn, some coloured, some are no UTF-8."""
    draw = random.Random(seed)
    ends = [b"\n"] * 8 + [b"\r\n", b"\r"]
    return b"".join(
        b"%d:%d %s%s%s"
        % (
            seed,
            number,
            b"x" * draw.randrange(120),
            draw.choice([b"", b"", b"", b" \xff", b"\x1b[1m!\x1b[0m", "é".encode()]),
            draw.choice(ends),
        )
        for number in range(lines)
    )


def landed(folder: Path) -> list[object]:
    """Everything in a lake in its order: each line with its place, events as they are."""
    found: list[object] = []
    for landing in LakeReader(folder).landings():
        if isinstance(landing, LineBatch):
            found += _rows(landing)
        elif isinstance(landing, SampleBatch):
            found += landing.samples()
        else:
            found.append(landing)
    return found


def _rows(batch: LineBatch) -> Iterable[object]:
    block = batch.block
    for start, text in logical_lines(block.data):
        where = block.file, block.line_at(start), block.byte_offset_at(start)
        yield batch.attempt, batch.node, batch.stream, *where, text
