"""What can be named on the command line, as units: data sets, logs, files of events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from relume.dataset import AttemptEntry, LogFile
from relume.errors import InputError
from relume.identity import AttemptId
from relume.ingest.attempts import find_attempts
from relume.ingest.datasets import Dataset, is_dataset, read_dataset
from relume.ingest.forms import NODE_FORMS, SACCT, SLURMCTLD
from relume.ingest.importing.events import accounting_part, events_part, holds_events
from relume.ingest.importing.nodes import daemon_part, nodes_part
from relume.ingest.importing.scheduler import ended, started
from relume.ingest.importing.unit import EventsPart, LogPart, Part, Unit
from relume.ingest.lake.about import ORIGIN, ZONE
from relume.ingest.opening import STDIN, is_special
from relume.ingest.skips import SkipCounts


def units_of(
    paths: Sequence[Path | str],
    *,
    attempt: str | None = None,
    cluster: str = "local",
    zone: str = "UTC",
    skipped: SkipCounts | None = None,
) -> Iterator[Unit]:
    """Yield the units of the sources, in their order.

    Parameters
    ----------
    paths
        Data set folders, files of events, accounting (`sacct -P`), what Slurm says of nodes
        (`sinfo`, `sacctmgr show event -P`), log files, folders of logs.
    attempt
        Whose logs they are; null when nobody knows. A data set says it itself.
    cluster
        Of logs that belong to no attempt, and of tables that don't say it.
    zone
        IANA name of the zone of the times in tables and in the logs of Slurm's daemons.
    skipped
        Where files of folders that are no logs are counted.

    Raises
    ------
    InputError
        For what isn't there or can't be read more than once, for a file that is no log, and for an
        `attempt` that is no identity or is given with a data set.
    """
    if attempt is not None:
        cluster = AttemptId.parse(attempt).job_key.cluster
    for path in paths:
        _require_lasting(path)
        if not is_dataset(Path(path)):
            found = _Found(attempt, cluster, zone)
            yield from found.units(Path(path), skipped)
        elif attempt is None:
            yield from dataset_units(read_dataset(path))
        else:
            raise InputError(
                f"import of the data set {path}",
                found="an attempt for it",
                expected="the attempts that it names itself",
                hint="leave --attempt out",
            )


def facts_of(path: Path | str, zone: str) -> dict[str, str]:
    """Return what `relume.ingest.lake.about` notes of a source.

    A data set says in which zone its clocks are and where it comes from; of everything else `zone`
    is the zone, and the origin isn't known.

    Raises
    ------
    InputError
        When the data set can't be read.
    """
    if not is_dataset(Path(path)):
        return {ZONE: zone}
    header = read_dataset(path).header
    return {ZONE: header.timezone, ORIGIN: header.origin.value}


def dataset_units(dataset: Dataset) -> Iterator[Unit]:
    """Yield the logs of the nodes, then the attempts, each with its start and its end.

    Raises
    ------
    InputError
        When the data set can't be read.
    """
    first = next(dataset.attempts(), None)
    cluster = "local" if first is None else first.job_key.cluster
    for log in dataset.node_logs:
        yield _log_unit(_log_part(log, None, cluster), dataset.header.timezone)
    for entry in dataset.attempts():
        yield attempt_unit(entry)


def attempt_unit(entry: AttemptEntry) -> Unit:
    """Return the unit of one attempt of a data set: its start, its logs, its end."""
    cluster = entry.job_key.cluster
    before, after = started(entry), ended(entry)
    parts: list[Part] = [EventsPart(read=lambda _: (before,))]
    parts += [_log_part(log, entry.attempt, cluster) for log in entry.files]
    if after is not None:
        parts.append(EventsPart(read=lambda _: (after,)))
    name = f"attempt {entry.attempt}"
    return Unit(name=name, parts=tuple(parts), facts=repr((before, after)))


@dataclass(frozen=True, slots=True)
class _Found:
    """Files that are no data set: each is a unit of its own."""

    attempt: str | None
    cluster: str
    zone: str

    def units(self, path: Path, skipped: SkipCounts | None) -> Iterator[Unit]:
        if path.is_file() and holds_events(path):
            yield self._of_events("events", path, events_part(path))
            return
        [found] = find_attempts([path])
        if skipped is not None:
            skipped.merge(found.skipped)
            for dump in found.dumps:
                skipped.add("dump", file=dump.path)
        for file in found.files:
            yield self._unit(Path(file.path), file.form)

    def _unit(self, path: Path, form: str) -> Unit:
        if form == SACCT:
            table = accounting_part(path, self.cluster, self.zone)
            return self._of_events("accounting", path, table)
        if form in NODE_FORMS:
            table = nodes_part(path, form, self.cluster, self.zone)
            return self._of_events(form, path, table)
        part = LogPart(path=path, stream=form, attempt=self.attempt, cluster=self.cluster)
        return _log_unit(part, self.zone)

    def _of_events(self, what: str, path: Path, part: EventsPart) -> Unit:
        facts = repr((what, self.cluster, self.zone))
        return Unit(name=f"{what} {path.absolute()}", parts=(part,), facts=facts)


def _log_part(log: LogFile, attempt: str | None, cluster: str) -> LogPart:
    return LogPart(
        path=Path(log.path), stream=log.stream, attempt=attempt, node=log.node, cluster=cluster
    )


def _log_unit(part: LogPart, zone: str) -> Unit:
    """Return a log as a unit: its lines, and of a daemon of Slurm what they say of nodes."""
    owner = part.attempt or part.node
    name = f"log {part.path.absolute()}" + (f" of {owner}" if owner else "")
    if part.stream != SLURMCTLD:
        return Unit(name=name, parts=(part,))
    return Unit(name=name, parts=(part, daemon_part(part, zone)), facts=repr((SLURMCTLD, zone)))


def _require_lasting(path: Path | str) -> None:
    """Refuse what can be read only once: an import that was killed reads it again."""
    if str(path) == STDIN or (Path(path).exists() and is_special(Path(path))):
        raise InputError(
            f"import of {path}",
            found="a stream",
            expected="a file or folder, which can be read again after an interruption",
            hint="write it to a file first",
        )
