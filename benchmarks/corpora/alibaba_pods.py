"""Alibaba's GPU cluster of 2023: when each pod was asked for, scheduled and over, and how it ended.

A pod is an attempt of its own; there is no log. One that has a share of a GPU counts as one on
that GPU. Times are seconds since the beginning of the trace.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from relume.benchmarks.corpora.common import find_files
from relume.clock import MICROSECONDS_PER_SECOND
from relume.dataset import AttemptEntry
from relume.identity import AttemptId, JobKey

FOLDER = "alibaba-gpu"
_PODS = "v2023/openb_pod_list_default.csv"
_STATES = {"Succeeded": "COMPLETED", "Failed": "FAILED", "Running": "RUNNING"}
_CLUSTER = "openb"


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods that were scheduled, as attempts; how many never were; the hash of the file."""

    name: str
    hash: str
    entries: tuple[AttemptEntry, ...]
    never: int


def load(data: Path) -> Pods:
    """Read the pods below `data` (the data folder, or the corpus' own).

    Raises
    ------
    InputError
        When the list isn't there.
    """
    [path] = find_files(data, FOLDER, _PODS)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    entries = tuple(_entries(rows))
    digest = sha256(path.read_bytes()).hexdigest()[:16]
    return Pods(f"{FOLDER}/{_PODS}", digest, entries, len(rows) - len(entries))


def _entries(rows: list[dict[str, str]]) -> Iterator[AttemptEntry]:
    for number, row in enumerate(rows):
        if not row["scheduled_time"]:
            continue
        created, start, end = (
            round(float(row[f"{name}_time"]) * MICROSECONDS_PER_SECOND)
            for name in ("creation", "scheduled", "deletion")
        )
        if end < start:
            continue
        key = JobKey(_CLUSTER, str(number), created)
        yield AttemptEntry(
            attempt=str(AttemptId(key, 0)),
            num_nodes=1,
            gpus=int(row["num_gpu"]),
            eligible=created,
            start=start,
            end=end,
            state=_STATES.get(row["pod_phase"]),
        )
