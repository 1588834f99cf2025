"""Attempts of a lake, to be replayed: by their own clocks, or as a live service landed them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from relume.dataset import AttemptEntry
from relume.events import LogLine, SchedulerEvent, Tick
from relume.identity import AttemptId
from relume.ingest.blocks import Block
from relume.ingest.datasets.scheduler import RUNNING
from relume.ingest.joining import short_name
from relume.ingest.lake import LakeReader, LineBatch
from relume.ingest.lake.index import LakeIndex, Selection, logs_in
from relume.ingest.lake.segments import TABLES
from relume.serve.backtest.measured import LakeMetrics
from relume.serve.backtest.sources import (
    AttemptSource,
    LogSource,
    Planned,
    Unit,
    grouped,
    make_unit,
    plan,
)
from relume.serve.backtest.together import Crowd
from relume.serve.live.history import RunKey
from relume.serve.live.jobfacts import OVER
from relume.slurm.job import UNKNOWN_STATE

_LINES, _TICKS, _SCHEDULER = TABLES[LogLine], TABLES[Tick], TABLES[SchedulerEvent]


def is_live(reader: LakeReader) -> bool:
    """Whether a service landed the lake: then its ticks are there, and replay is as it was."""
    return _TICKS in reader.tables()


def lake_units(reader: LakeReader) -> Iterator[Unit]:
    """Yield the runs of a lake, each put together when it is asked for; see `lake_plans`."""
    return (planned.make() for planned in lake_plans(reader))


def lake_plans(reader: LakeReader) -> list[Planned]:
    """Return the runs of a lake of recordings, the one that was submitted first before the others.

    Holds an index of the lake, and the entries of all attempts. A unit's lines are read from its
    own row groups when it is replayed.

    Raises
    ------
    LakeError
        When the lake can't be read.
    """
    index = reader.index()
    logs = LakeLogs(reader, index)
    names: dict[str, list[str]] = {}
    for name in index.nodes:  # a kernel has its domain, where Slurm has none
        names.setdefault(short_name(name), []).append(name)

    def logs_of(node: str) -> Iterator[LogSource]:
        for name in names.get(short_name(node), ()):
            yield from (replace(log, node=node) for log in logs.of(Selection(nodes=_one(name))))

    def unit(run: RunKey, entries: Sequence[AttemptEntry]) -> Unit:
        sources = [
            AttemptSource(entry=entry, logs=logs.of(Selection(attempts=_one(entry.attempt))))
            for entry in entries
        ]
        return replace(make_unit(run, sources, logs_of, crowd), samples=metrics.of(entries))

    every = list(lake_entries(reader, index))
    crowd, metrics = Crowd(every), LakeMetrics(reader, index, every)
    runs = grouped(every)
    return [plan(run, entries, partial(unit, run, entries)) for run, entries in runs.items()]


def lake_entries(reader: LakeReader, index: LakeIndex) -> Iterator[AttemptEntry]:
    """Yield what the scheduler said of each attempt, the oldest first; null where it said nothing.

    Attempts of which only logs are there are among them.
    """
    scheduler = LakeIndex([group for group in index.groups if group.table == _SCHEDULER])
    for attempt in sorted(index.attempts, key=lambda one: AttemptId.parse(one).age):
        told = reader.landings_about((attempt,), index=scheduler)
        yield entry_of(attempt, [one for one in told if isinstance(one, SchedulerEvent)])


def entry_of(attempt: str, told: list[SchedulerEvent]) -> AttemptEntry:
    """Return what scheduler events say of an attempt; nulls where they don't.

    >>> entry_of("lab/7@0.0", []).state is None
    True
    """
    if not told:
        return AttemptEntry(attempt=attempt)
    last = told[-1]
    over = next((one for one in reversed(told) if one.state in OVER), None)
    runs = [one.event_time for one in told if one.state == RUNNING]
    nodes = dict.fromkeys(node for one in told for node in one.nodes)
    state = RUNNING if over is None else over.state
    return AttemptEntry(
        attempt=attempt,
        user=last.user,
        nodes=tuple(nodes),
        num_nodes=None if nodes else last.num_nodes,
        job_name=last.name,
        gpus=next((one.gpus for one in reversed(told) if one.gpus is not None), None),
        eligible=next((one.eligible_time for one in told if one.eligible_time is not None), None),
        start=next(iter(runs), None),
        end=over.event_time if over is not None else _recording_end(runs),
        state=None if state == UNKNOWN_STATE else state,
        exit_code=None if over is None else over.exit_code,
        signal=None if over is None else over.signal,
        reason=None if over is None else over.reason,
        comment=last.comment,
        time_limit_seconds=last.time_limit_seconds,
    )


@dataclass(frozen=True, slots=True)
class LakeLogs:
    """The logs that are in a lake."""

    reader: LakeReader
    index: LakeIndex

    def of(self, wanted: Selection) -> tuple[LogSource, ...]:
        """Return the logs of an attempt, or those of a node, in the order in which they landed."""
        found: dict[tuple[str, str, str | None], list[int]] = {}
        groups = [group for group in self.index.groups_of(wanted) if group.table == _LINES]
        for position, group in enumerate(groups):
            for key in logs_in(self.reader.folder, group, wanted):
                found.setdefault(key, []).append(position)
        return tuple(
            _log(self.reader, wanted, key, LakeIndex([groups[at] for at in positions]))
            for key, positions in found.items()
        )


def _log(
    reader: LakeReader, wanted: Selection, key: tuple[str, str, str | None], index: LakeIndex
) -> LogSource:
    name, stream, node = key

    def read() -> Iterator[Block]:
        landings = reader.landings_about(wanted.attempts, wanted.nodes, index=index, file=name)
        return (one.block for one in landings if isinstance(one, LineBatch))

    return LogSource(name=name, stream=stream, node=node, read=read)


def _recording_end(runs: list[int | None]) -> int | None:
    """When it was last told to run, if that is later than the first time: the recording's end."""
    times = [time for time in runs if time is not None]
    return max(times) if len(set(times)) > 1 else None


def _one(name: str) -> frozenset[str]:
    return frozenset((name,))
