"""Attempts with their logs, wherever they are kept: files of a data set, or a lake."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from relume.dataset import AttemptEntry, LogFile
from relume.errors import InputError
from relume.events import Sample
from relume.identity import AttemptId, read_comment, run_name
from relume.ingest.blocks import Block
from relume.ingest.datasets.scheduler import comment_of
from relume.ingest.forms import form_of_file
from relume.ingest.lake.samplebatches import SampleBatch
from relume.ingest.opening import probe, read_blocks
from relume.ingest.skips import DAMAGED, SkipCounts
from relume.models.family.attempt import FamilyKey
from relume.serve.backtest.together import Beside, Crowd
from relume.serve.live.history import RunKey


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """One log that can be read from its start, more than once.

    Attributes
    ----------
    name
        How its lines are named in evidence.
    stream
        ``stdout``, ``stderr``, ``kernel`` or ``slurmctld``.
    node
        Where all of it was written, null if that isn't known.
    read
        Yields its blocks.
    modified
        When it was last written (POSIX seconds), null if unknown.
    skipped
        Counts what `read` had to leave out.
    """

    name: str
    stream: str
    read: Callable[[], Iterator[Block]]
    node: str | None = None
    modified: float | None = None
    skipped: SkipCounts = field(default_factory=SkipCounts)

    @property
    def lost_end(self) -> bool:
        """Whether its end could not be read."""
        return DAMAGED in self.skipped.as_dict()


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSource:
    """One attempt, and its logs.

    `missing` names logs that should be there and can't be read.
    """

    entry: AttemptEntry
    logs: tuple[LogSource, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def skipped(self) -> dict[str, int]:
        """What was left out of the logs that were read so far, by reason."""
        counts = SkipCounts()
        for log in self.logs:
            counts.merge(log.skipped)
        return counts.as_dict()

    @property
    def run(self) -> RunKey:
        """Whose try it is."""
        key = AttemptId.parse(self.entry.attempt).job_key
        return RunKey(
            key.cluster, self.entry.user, run_name(read_comment(comment_of(self.entry)), key)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What is replayed together: attempts of some runs, and the logs of their nodes.

    `beside` tells how many other attempts of the cluster ran at a time. `samples` reads the metrics
    of their nodes from a time on, in the order of time; null where there are none.
    """

    name: str
    attempts: tuple[AttemptSource, ...]
    node_logs: tuple[LogSource, ...] = ()
    samples: Callable[[int], Iterator[Sample | SampleBatch]] | None = None
    beside: Beside = lambda _: 0


def make_unit(
    run: RunKey,
    attempts: Sequence[AttemptSource],
    logs_of_node: Callable[[str], Iterable[LogSource]],
    crowd: Crowd | None = None,
) -> Unit:
    """Return the unit of a run, with the logs of every node that one of its attempts ran on.

    `crowd` are all attempts of the recording, null where nobody knows of others.
    """
    nodes = sorted({node for source in attempts for node in source.entry.nodes})
    return Unit(
        name=unit_name(run),
        attempts=tuple(attempts),
        node_logs=tuple(log for node in nodes for log in logs_of_node(node)),
        beside=(crowd or Crowd(())).beside((one.entry for one in attempts), run.cluster),
    )


class Planned(NamedTuple):
    """A unit that is put together when it is replayed: that looks into each of its logs."""

    name: str
    make: Callable[[], Unit]
    attempts: tuple[str, ...] = ()


def plan(run: RunKey, entries: Sequence[AttemptEntry], make: Callable[[], Unit]) -> Planned:
    """Return the plan of the unit of a run."""
    return Planned(unit_name(run), make, tuple(one.attempt for one in entries))


def file_source(file: LogFile) -> LogSource:
    """Return a file as a log.

    Raises
    ------
    InputError
        When it isn't there, or is no text.
    """
    path = Path(file.path)
    stream = file.stream
    modified = None
    try:
        modified = path.stat().st_mtime
        stream = stream or form_of_file(path.name, probe(path))
    except OSError as error:
        raise InputError(
            f"cannot read {path}",
            found=(error.strerror or str(error)).lower(),
            expected="a log",
        ) from error
    skipped = SkipCounts()
    return LogSource(
        name=file.path,
        stream=stream,
        node=file.node,
        modified=modified,
        read=lambda: read_blocks(path, skipped=skipped),
        skipped=skipped,
    )


def with_files(entry: AttemptEntry) -> AttemptSource:
    """Return an attempt of a data set with its files; those that can't be read are named."""
    logs, missing = [], []
    for file in entry.files:
        try:
            logs.append(file_source(file))
        except InputError as error:
            missing.append(str(error))
    return AttemptSource(entry=entry, logs=tuple(logs), missing=tuple(missing))


def grouped(entries: Iterable[AttemptEntry]) -> dict[RunKey, list[AttemptEntry]]:
    """Return the attempts that are replayed together, by the first of their runs.

    These are the attempts of a run; those of a family, which teach each other: two of them are
    judged as a service would have judged them only if what ended first comes first; and runs that
    failed together, which may be one incident.
    """
    of_run: dict[RunKey, list[AttemptEntry]] = {}
    for entry in entries:
        of_run.setdefault(AttemptSource(entry=entry).run, []).append(entry)
    order = {run: number for number, run in enumerate(of_run)}
    joined = {run: run for run in of_run}

    def leader(run: RunKey) -> RunKey:
        while joined[run] != run:
            joined[run] = run = joined[joined[run]]
        return run

    def join(*runs: RunKey) -> None:
        first, *others = sorted(map(leader, runs), key=order.__getitem__)
        joined.update(dict.fromkeys(others, first))

    family_of: dict[FamilyKey, RunKey] = {}
    for run, mine in of_run.items():
        for entry in mine:
            family = FamilyKey(run.cluster, run.user, entry.job_name or run.name)
            join(family_of.setdefault(family, run), run)
    every = [entry for mine in of_run.values() for entry in mine]
    for storm in Crowd(every).storms(lambda entry: unit_name(AttemptSource(entry=entry).run)):
        join(*(AttemptSource(entry=entry).run for entry in storm))
    groups: dict[RunKey, list[AttemptEntry]] = {}
    for run, mine in of_run.items():
        groups.setdefault(leader(run), []).extend(mine)
    return groups


def unit_name(run: RunKey) -> str:
    """Return the name of a run's unit: unique in a data set.

    >>> unit_name(RunKey("lab", None, "opus 2"))
    'lab - opus 2'
    """
    return f"{run.cluster} {run.user or '-'} {run.name}"
