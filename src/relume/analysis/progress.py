"""One attempt step by step: what its log shows of pace, silence and loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from relume.errors import InputError
from relume.features.progress.parse import parse_progress
from relume.identity import AttemptId
from relume.ingest.lake import LakeReader, LineBatch
from relume.ingest.lake.about import zone_of_lake
from relume.ingest.lake.batches import Parsers
from relume.verdict import JOB_STREAMS

SCHEMA = pl.Schema(
    {
        "file": pl.String(),
        "line": pl.Int64(),
        "rank": pl.Int64(),
        "event_time": pl.Datetime("us", "UTC"),
        "step": pl.Int64(),
        "loss": pl.Float64(),
        "step_seconds": pl.Float64(),
        "gap_seconds": pl.Float64(),
    }
)


def progress(lake: Path | str, attempt: str, *, zone: str = "UTC") -> pl.DataFrame:
    """Return the progress lines of one attempt of a lake, in the order of the log.

    Takes some 50 microseconds a line of its log. Bounded by nothing: a row for each step printed.

    Parameters
    ----------
    lake
        Its folder.
    attempt
        Text form of its identity.
    zone
        IANA name of the zone of clocks that name none, where the lake doesn't say itself.

    Returns
    -------
    pl.DataFrame
        ``step_seconds`` is the printed time of one step, ``gap_seconds`` the time since the line
        before of the same file, by its clock: a silence. Null where nothing is printed.

    Raises
    ------
    InputError
        For what is no identity, and for an attempt that is not in the lake.
    LakeError
        When the lake can't be read.
    """
    AttemptId.parse(attempt)
    zone = zone_of_lake(Path(lake), zone)
    reader = LakeReader(lake, zone=zone)
    index = reader.index()
    if attempt not in index.attempts:
        raise InputError(
            f"progress of {attempt}",
            found="no such attempt",
            expected="one that is in the lake",
            hint="see the column `attempt` of relume.analysis.attempts.attempts",
        )
    rows = list(_rows(reader.landings_about((attempt,), index=index), zone))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").with_columns(
        gap_seconds=pl.col("event_time").diff().over("file").dt.total_microseconds() / 1e6
    )


def _rows(landings: Iterator[Any], zone: str) -> Iterator[dict[str, Any]]:
    parsers = Parsers(zone)
    for landing in landings:
        if not isinstance(landing, LineBatch) or landing.stream not in JOB_STREAMS:
            continue
        for line in parsers.lines(landing):
            point = parse_progress(line.message)
            if point is None or point.step is None:
                continue
            yield {
                **dict.fromkeys(SCHEMA),
                "file": line.file,
                "line": line.line,
                "rank": line.rank,
                "event_time": line.event_time,
                "step": point.step,
                "loss": point.loss,
                "step_seconds": point.step_time_seconds,
            }
