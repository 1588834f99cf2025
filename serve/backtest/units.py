"""The units of a data set: its runs, each with the logs of its nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from relume.dataset import AttemptEntry
from relume.errors import InputError
from relume.ingest.datasets import Dataset
from relume.ingest.joining import short_name
from relume.serve.backtest.sources import (
    AttemptSource,
    LogSource,
    Planned,
    Unit,
    file_source,
    grouped,
    make_unit,
    plan,
    with_files,
)
from relume.serve.backtest.together import Crowd
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
    logs: defaultdict[str, list[LogSource]] = defaultdict(list)
    unread: defaultdict[str, list[str]] = defaultdict(list)
    for file in dataset.node_logs:
        node = short_name(file.node or "")
        try:
            logs[node].append(file_source(file))
        except InputError as error:
            unread[node].append(str(error))

    def logs_of(node: str) -> Iterator[LogSource]:
        return (replace(log, node=node) for log in logs.get(short_name(node), ()))

    def source(entry: AttemptEntry) -> AttemptSource:
        found = with_files(entry)
        of_nodes = [words for node in entry.nodes for words in unread.get(short_name(node), ())]
        return replace(found, missing=(*found.missing, *of_nodes))

    def unit(run: RunKey, entries: Sequence[AttemptEntry]) -> Unit:
        return make_unit(run, [source(entry) for entry in entries], logs_of, crowd)

    crowd = Crowd(list(dataset.attempts()))
    runs = grouped(crowd.entries)
    return [plan(run, entries, partial(unit, run, entries)) for run, entries in runs.items()]
