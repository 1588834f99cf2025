"""The units of a data set: its runs, each with the logs of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from relume.errors import InputError
from relume.ingest.datasets import Dataset
from relume.ingest.joining import short_name
from relume.serve.backtest.sources import (
    LogSource,
    Unit,
    file_source,
    grouped,
    unit_name,
    with_files,
)


def dataset_units(dataset: Dataset) -> Iterator[Unit]:
    """Yield the runs of a data set, in the order in which they come first.

    Holds the entries of all attempts; logs are opened when a unit is replayed.

    Raises
    ------
    InputError
        When the data set can't be read. Logs that can't be are named in `AttemptSource.missing`.
    """
    logs: dict[str, list[LogSource]] = {}
    for file in dataset.node_logs:
        with suppress(InputError):  # a log that isn't there: the others are all there is
            logs.setdefault(short_name(file.node or ""), []).append(file_source(file))
    for run, entries in grouped(dataset.attempts()).items():
        attempts = tuple(map(with_files, entries))
        nodes = sorted({node for entry in entries for node in entry.nodes})
        yield Unit(
            name=unit_name(run),
            attempts=attempts,
            node_logs=tuple(
                replace(log, node=node) for node in nodes for log in logs.get(short_name(node), ())
            ),
        )
