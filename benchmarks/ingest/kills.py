"""An import that is killed at random moments: what the lake holds then, and in the end."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from relume.benchmarks.killing import forkserver, run_over_kills
from relume.ingest.importing import import_units, units_of
from relume.ingest.lake import LakeError, LakeReader, LakeWriter
from relume.ingest.lake.segments import check_segment

COMMIT_BYTES = 1 << 20
"""Smaller than in use, so that there is something to tear."""
MAX_WAIT_SECONDS = 0.4


@dataclass(slots=True)
class Killed:
    """What became of it.

    Attributes
    ----------
    kills, rounds
        Imports that were killed; lakes that were brought to their end over kills.
    torn_segments
        Segments that are not what was committed, and files that nobody committed.
    lost_rows, doubled_rows
        Rows that are missing in the end, and rows that are there too often.
    misplaced_tables
        Tables whose rows are all there, in another order.
    """

    kills: int = 0
    rounds: int = 0
    torn_segments: int = 0
    lost_rows: int = 0
    doubled_rows: int = 0
    misplaced_tables: int = 0


def bring(source: Path, lake: Path) -> None:
    """Import a data set."""
    with LakeWriter(lake) as writer:
        import_units(writer, units_of([source]), commit_bytes=COMMIT_BYTES)


def kill_imports(source: Path, folder: Path, *, kills: int, seed: int) -> Killed:
    """Import `source` into one lake after the other, killed `kills` times; compare each in the end.

    `folder` gets the lakes. The processes begin with everything imported, and share nothing.
    """
    context, draw, found = forkserver(__name__), random.Random(seed), Killed()
    bring(source, folder / "whole")
    expected = tables_of(folder / "whole")
    while found.kills < kills:
        lake = folder / str(found.rounds)

        def count_torn(lake: Path = lake) -> None:
            found.torn_segments += torn(lake)

        found.kills += run_over_kills(
            partial(context.Process, target=bring, args=(source, lake)),
            at_most=kills - found.kills,
            seconds=lambda: draw.uniform(0, MAX_WAIT_SECONDS),
            after_kill=count_torn,
        )
        found.rounds += 1
        compare(lake, expected, found)
    return found


def torn(lake: Path) -> int:
    """Committed segments that are not what was committed."""
    torn = 0
    try:
        tables = LakeReader(lake).segments()
    except LakeError:
        return 0  # killed before there was a lake
    for segments in tables.values():
        for segment in segments:
            try:
                check_segment(lake, segment)
            except LakeError:
                torn += 1
    return torn


def compare(lake: Path, expected: dict[str, pa.Table], found: Killed) -> None:
    """Count what is other than in a lake whose import nobody disturbed."""
    committed = {path for paths in LakeReader(lake).tables().values() for path in paths}
    found.torn_segments += len(set(lake.glob("table=*/date=*/*")) - committed)
    tables = tables_of(lake)
    for name in expected.keys() | tables.keys():
        ours, theirs = tables.get(name), expected.get(name)
        if ours is not None and theirs is not None and ours.equals(theirs):
            continue
        there, wanted = _counted(ours), _counted(theirs)
        found.lost_rows += (wanted - there).total()
        found.doubled_rows += (there - wanted).total()
        found.misplaced_tables += there == wanted


def tables_of(lake: Path) -> dict[str, pa.Table]:
    """Every table in its landed order, the numbers of batches with it."""
    return {
        name: pa.concat_tables(pq.read_table(path, partitioning=None) for path in paths)
        for name, paths in LakeReader(lake).tables().items()
    }


def _counted(table: pa.Table | None) -> Counter[str]:
    if table is None:
        return Counter()
    return Counter(repr(row) for row in table.drop_columns("landed").to_pylist())
