"""Whose pushed entries are, by the labels that agents give them (DESIGN 3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import shown
from relume.events import SchedulerEvent
from relume.identity import AttemptId
from relume.ingest.lake.samplebatches import NO_TIME
from relume.ingest.push.labels import NAMES, plain
from relume.serve.ledger import AttemptRecord
from relume.serve.live.jobfacts import OVER
from relume.verdict import JOB_STREAMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOCAL = "local"
"""Cluster of events and lines that name none."""
KERNEL = "kernel"
STREAMS = JOB_STREAMS | {KERNEL}
"""What a label may call the stream; any other word is that of the sender's own."""
SLACK_SECONDS = 5.0
"""How far the clocks of scheduler and sender may be apart at the ends of an attempt."""
MAX_JOBS = 100_000
MAX_TRIES = 16
"""Attempts of one job that are told apart by time: the newest."""
_NUMBER = re.compile(r"\d{1,7}", re.ASCII)
_JOB_ID = re.compile(r"(?:0|[1-9][0-9]{0,9})(?:[_+](?:0|[1-9][0-9]{0,9}))?", re.ASCII)
_PORT = re.compile(r":\d{1,5}$", re.ASCII)
_SLACK = int(SLACK_SECONDS * MICROSECONDS_PER_SECOND)


@dataclass(frozen=True, slots=True)
class Named:
    """What the labels of a stream say, null where they don't.

    Raises
    ------
    InputError
        From `of`, for an attempt that is none.
    """

    file: str
    stream: str = "stdout"
    attempt: str | None = None
    job_id: str | None = None
    node: str | None = None
    cluster: str | None = None

    @classmethod
    def of(cls, labels: Mapping[str, str]) -> Named:
        """Read labels, whatever their case and whether dots or underscores join their words.

        Examples
        --------
        >>> Named.of({"slurm.job.id": "12", "host": "gpu1", "stream": "stderr"}).job_id
        '12'
        >>> Named.of({"host": "gpu1", "transport": "kernel"}).stream
        'kernel'
        """
        known = {plain(name): labels[name] for name in labels}
        attempt, job = _first(known, "attempt"), _first(known, "job")
        if attempt is not None:
            attempt = str(AttemptId.parse(attempt))
        if job is not None and _JOB_ID.fullmatch(job) is None:
            job = None
        node = _first(known, "node")
        node = None if node is None else _PORT.sub("", node)
        return cls(
            file=_file(known, labels, node),
            stream=_stream(known, is_job=bool(attempt or job), node=node),
            attempt=attempt,
            job_id=job,
            node=node,
            cluster=_first(known, "cluster"),
        )

    @property
    def owner(self) -> str | None:
        """Cluster of the attempt; null where none is named."""
        return None if self.attempt is None else AttemptId.parse(self.attempt).job_key.cluster


def foreign(what: str, watched: str, cluster: str | None, owner: str | None) -> str | None:
    """Say why a service doesn't take something of another cluster than its own; null: it does.

    Parameters
    ----------
    what
        What it is, for the words.
    watched
        The service's cluster, empty until somebody says it.
    cluster
        The one that a label or a field names; null or `LOCAL` for none.
    owner
        The one of the attempt that is named; null for none.

    Examples
    --------
    >>> foreign("lines", "lab", "lab", None)
    >>> foreign("lines", "lab", None, "other")
    "lines of cluster 'other'; expected 'lab', which this service watches"
    """
    cluster = None if cluster == LOCAL else cluster
    found = next((one for one in (cluster, owner) if one and watched and one != watched), None)
    if found is not None:
        return f"{what} of cluster {shown(found)}; expected {watched!r}, which this service watches"
    if cluster and owner and cluster != owner:
        return (
            f"{what} of cluster {shown(cluster)} and of an attempt of cluster {shown(owner)}; "
            "expected one cluster"
        )
    return None


@dataclass(slots=True)
class _Stay:
    attempt: str
    began: int | None
    ended: int | None = None

    def holds(self, time: int) -> bool:
        began = self.began is None or time >= self.began - _SLACK
        return began and (self.ended is None or time <= self.ended + _SLACK)


@dataclass(slots=True)
class Intervals:
    """When each attempt of a job ran, as far as the scheduler said it. Bounded.

    Parameters
    ----------
    newest, record
        Ask the ledger about what was said before a restart: the newest attempt of a job id of a
        cluster, and an attempt by its name.
    """

    newest: Callable[[str, str], AttemptRecord | None] = lambda _cluster, _job: None
    record: Callable[[str], AttemptRecord | None] = lambda _: None
    _jobs: dict[tuple[str, str], list[_Stay]] = field(default_factory=dict)

    def note(self, event: SchedulerEvent) -> None:
        """Take what the scheduler says of an attempt."""
        key = AttemptId.parse(event.attempt).job_key
        stays = self._of(key.cluster, key.job_id)
        stay = next((one for one in stays if one.attempt == event.attempt), None)
        is_over = event.state in OVER
        if stay is None:
            before = stays[-1].ended if stays else None  # one that nobody saw begin
            stay = _Stay(event.attempt, before if is_over else event.event_time)
            stays.append(stay)
            del stays[:-MAX_TRIES]
        if is_over and stay.ended is None:
            stay.ended = event.event_time

    def owner(self, cluster: str, job_id: str, time: int) -> str | None:
        """Return the newest attempt of a job that ran at `time`, null for none that is known."""
        stays = self._of(cluster, job_id)
        return next((stay.attempt for stay in reversed(stays) if stay.holds(time)), None)

    def _of(self, cluster: str, job_id: str) -> list[_Stay]:
        key = cluster, job_id
        stays = self._jobs.pop(key, None)
        if not stays:
            stays = list(self._remembered(cluster, job_id))
        while len(self._jobs) >= MAX_JOBS:
            del self._jobs[next(iter(self._jobs))]
        self._jobs[key] = stays
        return stays

    def _remembered(self, cluster: str, job_id: str) -> Iterator[_Stay]:
        """What the ledger says of the attempts of a job, the oldest first."""
        found: list[_Stay] = []
        record = self.newest(cluster, job_id)
        while record is not None and len(found) < MAX_TRIES:
            if record.start_time is not None or record.ended:
                found.append(_Stay(record.attempt, record.start_time, record.end_time))
            attempt = AttemptId.parse(record.attempt)
            if not attempt.restart_count:
                break
            before = AttemptId(attempt.job_key, attempt.restart_count - 1)
            record = self.record(str(before))
        yield from reversed(found)


def owners_of(
    named: Named, times: NDArray[np.int64], now: int, cluster: str, intervals: Intervals
) -> Iterator[tuple[str | None, int, int]]:
    """Yield runs of entries of one owner: the owner, the first, and the one after the last.

    It is the attempt that is named, or that the job id was then; null for none that is known.
    """
    job, count = named.job_id, len(times)
    if named.attempt is not None or job is None:
        yield named.attempt, 0, count
        return
    known = times[times != NO_TIME]
    times = np.where(times == NO_TIME, now, times)
    ends = [times[0], times[-1]]  # one without a time among others is theirs
    if len(known):
        ends += [known.min(), known.max()]
    found = {intervals.owner(cluster, job, int(time)) for time in ends}
    if len(found) == 1:
        yield found.pop(), 0, count
        return
    start = 0
    for owner, run in groupby(intervals.owner(cluster, job, time) for time in times.tolist()):
        end = start + sum(1 for _ in run)
        yield owner, start, end
        start = end


def _first(known: Mapping[str, str], what: str) -> str | None:
    return next((known[name] for name in NAMES[what] if known.get(name)), None)


def _stream(known: Mapping[str, str], *, is_job: bool, node: str | None) -> str:
    said = _first(known, "stream")
    if _first(known, "transport") == KERNEL or said == KERNEL:
        return KERNEL
    if said in JOB_STREAMS:
        return said
    return "stdout" if is_job or node is None else KERNEL


def _file(known: Mapping[str, str], labels: Mapping[str, str], node: str | None) -> str:
    """Name of the log that a stream is; its last part tells the rank where a label does."""
    path = _first(known, "file")
    if path is None:
        told = ",".join(f"{name}={labels[name]}" for name in sorted(labels))
        path = told.replace("/", "|")[:200] or "stream"
    rank = _first(known, "rank")
    if rank is not None and _NUMBER.fullmatch(rank):
        path = f"{path}/rank_{int(rank)}.log"
    return path if node is None else f"{node}:{path}"
