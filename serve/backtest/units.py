"""The units of a data set: its runs, each with the logs of its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from relume.dataset import AttemptEntry
from relume.errors import InputError
from relume.ingest.datasets import Dataset
from relume.ingest.joining import short_name
from relume.serve.backtest.sources import (
    LogSource,
    Planned,
    Unit,
    file_source,
    grouped,
    make_unit,
    unit_name,
    with_files,
)
from relume.serve.live.history import RunKey


def dataset_units(dataset: Dataset) -> Iterator[Unit]:
    """Yield the runs of a data set, each put together when it is asked for; see `dataset_plans`."""
    return (planned.make() for planned in dataset_plans(dataset))


def dataset_plans(dataset: Dataset) -> list[Planned]:
    """Return the runs of a data set, in the order in which they come first.

    Holds the entries of all attempts, and opens the logs of the nodes.

    Raises
    ------
    InputError
        When the data set can't be read. Logs that can't be are named in `AttemptSource.missing`.
    """
    logs: dict[str, list[LogSource]] = {}
    for file in dataset.node_logs:
        with suppress(InputError):  # a log that isn't there: the others are all there is
            logs.setdefault(short_name(file.node or ""), []).append(file_source(file))

    def logs_of(node: str) -> Iterator[LogSource]:
        return (replace(log, node=node) for log in logs.get(short_name(node), ()))

    def unit(run: RunKey, entries: Sequence[AttemptEntry]) -> Unit:
        return make_unit(run, list(map(with_files, entries)), logs_of)

    runs = grouped(dataset.attempts())
    return [Planned(unit_name(run), partial(unit, run, entries)) for run, entries in runs.items()]
