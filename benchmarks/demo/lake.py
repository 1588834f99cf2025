"""The generated corpus as a lake: something to look at where there are no recordings. Simulated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from relume.benchmarks.demo.corpus import SEED, Label, generate
from relume.benchmarks.demo.world import make_world
from relume.clock import from_datetime
from relume.dataset import AttemptEntry, LogFile
from relume.ingest.accounting.read import read_rows
from relume.ingest.importing.importer import import_units
from relume.ingest.importing.sources import attempt_unit
from relume.ingest.lake import LakeWriter
from relume.ingest.skips import SkipCounts

CLUSTER = "demo"
SEEDS = (SEED, SEED + 1, SEED + 2)
"""Each is one try of every run of the corpus."""
_USERS = ("ada", "grace", "linus", "radia")
_WAIT_SECONDS = 60
"""From the submission of a job to its start."""


def demo_lake(folder: Path, seeds: Sequence[int] = SEEDS) -> Path:
    """Write corpora of these seeds into a lake below `folder`, and return where that is.

    The attempts of one framework and scenario that ended are tries of one run, which get no
    further: so failures come again.

    Raises
    ------
    OSError, RelumeError
        When it can't be written.
    """
    lake = folder / "lake"
    with LakeWriter(lake) as writer:
        for seed in seeds:
            logs = folder / f"logs-{seed}"
            entries = _entries(logs, generate(logs, seed), seed)
            report = import_units(writer, map(attempt_unit, entries))
            for refused in report.refused:
                raise refused
    return lake


def _entries(folder: Path, labels: Sequence[Label], seed: int) -> Iterator[AttemptEntry]:
    for label in labels:
        world = make_world(f"{seed}/{label.framework}/{label.scenario}")
        start = from_datetime(world.now)
        submitted = start // 1_000_000 - _WAIT_SECONDS
        logs = folder / label.attempt
        accounting = logs / "sacct.txt"
        row = None
        if accounting.exists():
            [row] = read_rows(accounting.read_text("utf-8").splitlines(), SkipCounts())
        kernel = sorted(logs.glob("kernel-*.log"))
        yield AttemptEntry(
            attempt=f"{CLUSTER}/{world.job_id}@{submitted}.0",
            run=None if row is None else label.attempt,
            user=Random(label.attempt).choice(_USERS),
            nodes=world.nodes,
            start=start,
            end=None if row is None else row.end,
            state="RUNNING" if row is None else row.state,
            exit_code=None if row is None else row.exit_code,
            signal=None if row is None else row.signal,
            files=(
                LogFile(path=str(logs / "job.log"), stream="stdout"),
                *(
                    LogFile(path=str(path), stream="kernel", node=path.stem.partition("-")[2])
                    for path in kernel
                ),
            ),
        )
