"""Attempts of accounting with the logs that are found for them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from relume.clock import MICROSECONDS_PER_SECOND
from relume.dataset import AttemptEntry
from relume.errors import InputError
from relume.identity import AttemptId
from relume.ingest.accounting.row import AccountingRow
from relume.ingest.blocks import Block
from relume.ingest.opening import read_blocks
from relume.ingest.skips import SkipCounts
from relume.models.diagnosis.scheduler import ALIVE_STATES, FAILED_STATES
from relume.serve.backtest.sources import AttemptSource, LogSource, Unit, grouped, make_unit
from relume.serve.backtest.together import Crowd
from relume.serve.scan.places import LogPlaces, Place, no_paths, refusal

Told = Mapping[tuple[str, int], Sequence[tuple[str, str]]]
"""Paths and streams that slurmctld gives, by job id and submit time."""


@dataclass(slots=True)
class _Found:
    """The logs of one attempt as they are found."""

    logs: list[LogSource] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def accounting_units(
    attempts: Iterable[tuple[AttemptId, AccountingRow]],
    places: LogPlaces,
    *,
    told: Told | None = None,
    asked_at: int | None = None,
) -> Iterator[Unit]:
    """Yield the runs of accounting with their logs.

    Attempts that never started, and didn't fail to, are left out. Holds every attempt's entry.

    Parameters
    ----------
    attempts
        As `relume.ingest.accounting.events.identify` gives them.
    places
        Where logs are looked for.
    told
        Where slurmctld says that they are.
    asked_at
        When accounting was asked (UTC microseconds): till then the attempts that run had time to
        show progress. Null for records of an unknown age.
    """
    known = {
        str(attempt): (entry_of(attempt, row, asked_at), row)
        for attempt, row in attempts
        if row.start is not None or row.state in FAILED_STATES
    }
    found = _logs(known, places, told or {})
    crowd = Crowd([entry for entry, _ in known.values()])
    for run, entries in grouped(crowd.entries).items():
        sources = [
            AttemptSource(
                entry=entry,
                logs=tuple(found[entry.attempt].logs),
                missing=tuple(found[entry.attempt].missing),
            )
            for entry in entries
        ]
        yield make_unit(run, sources, partial(_node_logs, places), crowd)


def entry_of(attempt: AttemptId, row: AccountingRow, asked_at: int | None) -> AttemptEntry:
    """Return a row as an attempt; a step that ran out of memory says why its job FAILED."""
    start, end = row.start, row.end
    if row.state in ALIVE_STATES:
        end = asked_at
    if start is not None and end is not None and end < start:
        end = start
    return AttemptEntry(
        attempt=str(attempt),
        name=row.name,
        job_name=row.name,
        user=row.user,
        nodes=row.nodes,
        num_nodes=None if row.nodes else row.num_nodes or None,
        gpus=row.gpus,
        eligible=row.eligible,
        start=start,
        end=end,
        state=row.outcome,
        exit_code=row.exit_code,
        signal=row.signal,
        reason=row.reason,
        comment=row.comment,
        time_limit_seconds=row.time_limit_seconds,
    )


def _logs(
    known: Mapping[str, tuple[AttemptEntry, AccountingRow]], places: LogPlaces, told: Told
) -> dict[str, _Found]:
    """Find the logs of each attempt; a file that several write to is that of the last of them."""
    found: dict[str, _Found] = defaultdict(_Found)
    writers: dict[str, list[tuple[AttemptEntry, Place]]] = defaultdict(list)
    for name, (entry, row) in known.items():
        wanted = places.of_job(row, told.get((row.job_id, row.submit or 0), ()))
        if not wanted:
            found[name].missing.append(no_paths(row))
        for place in wanted:
            writers[place.path].append((entry, place))
    for claims in writers.values():
        claims.sort(key=lambda claim: claim[0].start or 0, reverse=True)
        _assign(claims, found)
    return found


def _assign(claims: Sequence[tuple[AttemptEntry, Place]], found: Mapping[str, _Found]) -> None:
    """Give a file to the newest of those that claim it and began before it was last written."""
    owner: str | None = None
    for entry, place in claims:
        mine = found[entry.attempt]
        if owner is not None:  # Slurm truncates the file at each start, unless it is told not to
            mine.missing.append(f"log {place.path!r}: it is that of {owner} by now")
            continue
        try:
            modified, size = _look(place)
        except (OSError, InputError) as error:
            mine.missing.append(refusal(place, error))
            continue
        if entry.start is not None and modified * MICROSECONDS_PER_SECOND < entry.start:
            mine.missing.append(f"log {place.path!r}: it is older than the attempt")
        elif size == 0:
            mine.missing.append(f"log {place.path!r}: it is empty")
            owner = entry.attempt
        else:
            mine.logs.append(_source(place, None, modified))
            owner = entry.attempt


def _node_logs(places: LogPlaces, node: str) -> Iterator[LogSource]:
    for place in places.of_node(node):
        try:
            modified, _ = _look(place)
        except (OSError, InputError):
            continue  # the verdict says itself that a kernel log would have helped
        yield _source(place, node, modified)


def _look(place: Place) -> tuple[float, int]:
    """Open a log and return when it was last written (POSIX seconds), and its size."""
    descriptor = place.opener(Path(place.path))
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return status.st_mtime, status.st_size


def _source(place: Place, node: str | None, modified: float) -> LogSource:
    skipped = SkipCounts()

    def read() -> Iterator[Block]:
        try:
            yield from read_blocks(place.path, skipped=skipped, opener=place.opener)
        except InputError:  # it was there a moment ago
            skipped.add("unreadable", file=place.path)

    return LogSource(
        name=place.path,
        stream=place.stream,
        node=node,
        read=read,
        modified=modified,
        skipped=skipped,
    )
