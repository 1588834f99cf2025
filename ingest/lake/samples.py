"""The samples of a lake in the order of their times, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from relume.events import Sample
from relume.ingest.lake.sql import connect

_ROWS = 10_000
"""Rows held at once."""


def read_samples(
    lake: Path, columns: Sequence[str], where: str, values: Mapping[str, Any] | None = None
) -> Iterator[Sample]:
    """Yield samples; of equal times in the order of their `columns`.

    Parameters
    ----------
    lake
        Its folder.
    columns
        What else than the time is read; the rest is as in a sample that doesn't say it.
    where
        Which rows, in SQL of ours; `values` are those of its parameters.

    Raises
    ------
    LakeError
        When there is no lake.
    """
    with connect(lake) as connection:
        found = connection.execute(_query(columns, where), values)
        while rows := found.fetchmany(_ROWS):
            for at, *cells in rows:
                named = dict(zip(columns, cells, strict=True))
                yield Sample(source="lake", event_time=at, **named)


def read_sample_tables(
    lake: Path, columns: Sequence[str], where: str, values: Mapping[str, Any] | None = None
) -> Iterator[pa.Table]:
    """Yield the same samples as rows of tables, with their time as microseconds.

    Raises
    ------
    LakeError
        When there is no lake.
    """
    with connect(lake) as connection:
        found = connection.sql(_query(columns, where), params=values)
        batches: pa.RecordBatchReader = found.to_arrow_reader(_ROWS)
        for batch in batches:
            if batch.num_rows:
                yield pa.Table.from_batches([batch])


def _query(columns: Sequence[str], where: str) -> str:
    names = ", ".join(columns)
    return (
        f"SELECT epoch_us(event_time) AS event_time, {names} FROM sample "  # noqa: S608 - our names
        f"WHERE {where} ORDER BY sample.event_time, {names}"
    )
