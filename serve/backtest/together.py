"""Which runs of a recording are replayed together, and who else ran: by the scheduler's record.

A service sees all jobs of a cluster at once. A replay takes runs one by one, but for those that
failed together: only side by side do they show one incident.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND
from relume.dataset import AttemptEntry
from relume.models.diagnosis.scheduler import FAILED_STATES
from relume.models.policy.guards import trips
from relume.models.policy.policy import Policy, Preset
from relume.slurm.job import UNKNOWN_STATE

LOOSEST = Policy.of(Preset.CAUTIOUS)
"""Whose breaker trips first: which runs are replayed together doesn't depend on the site's."""
Beside = Callable[[int], int]
"""Tells how many attempts ran at a time (UTC microseconds) that are not replayed here."""


@dataclass(frozen=True, slots=True)
class Running:
    """How many attempts ran when; those of which nobody knows both times are not counted.

    Examples
    --------
    >>> entries = [
    ...     AttemptEntry(attempt=f"lab/{n}@0.0", start=n * 10, end=n * 10 + 15) for n in (0, 1)
    ... ]
    >>> [Running.of(entries).at(time) for time in (0, 12, 20, 25)]
    [1, 2, 1, 0]
    """

    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, entries: Iterable[AttemptEntry]) -> Running:
        """Return the times of attempts."""
        known = [(e.start, e.end) for e in entries if e.start is not None and e.end is not None]
        return cls(sorted(start for start, _ in known), sorted(end for _, end in known))

    def at(self, time: int) -> int:
        """Return how many ran at a time."""
        return bisect_right(self.starts, time) - bisect_right(self.ends, time)


@dataclass(slots=True)
class Crowd:
    """All attempts of a recording, by cluster."""

    entries: Sequence[AttemptEntry]
    _running: dict[str, Running] = field(init=False)

    def __post_init__(self) -> None:
        of_cluster: defaultdict[str, list[AttemptEntry]] = defaultdict(list)
        for entry in self.entries:
            of_cluster[entry.job_key.cluster].append(entry)
        self._running = {name: Running.of(entries) for name, entries in of_cluster.items()}

    def beside(self, mine: Iterable[AttemptEntry], cluster: str) -> Beside:
        """Return what tells how many others of a cluster ran."""
        own, every = Running.of(mine), self._running.get(cluster, Running((), ()))
        return lambda time: every.at(time) - own.at(time)

    def storms(self, run_of: Callable[[AttemptEntry], str]) -> Iterator[list[AttemptEntry]]:
        """Yield the attempts that ended badly within a short time, where they could be one thing.

        `run_of` names the run of an attempt. An attempt may come more than once.
        """
        failed: defaultdict[str, list[AttemptEntry]] = defaultdict(list)
        for entry in self.entries:
            if _failed(entry):
                failed[entry.job_key.cluster].append(entry)
        for cluster, entries in failed.items():
            entries.sort(key=lambda one: (_end(one), one.attempt))
            yield from _storms(entries, self._running[cluster], run_of)


def _storms(
    failed: Sequence[AttemptEntry], running: Running, run_of: Callable[[AttemptEntry], str]
) -> Iterator[list[AttemptEntry]]:
    """Slide over the failures of one cluster, in the order of their ends."""
    window = round(LOOSEST.breaker_seconds * MICROSECONDS_PER_SECOND)
    runs: Counter[str] = Counter()
    first = 0
    for place, entry in enumerate(failed):
        runs[run_of(entry)] += 1
        while _end(failed[first]) < _end(entry) - window:
            runs -= Counter([run_of(failed[first])])  # those of nobody are gone
            first += 1
        if trips(len(runs), running.at(_end(entry)), LOOSEST):
            yield list(failed[first : place + 1])


def _end(entry: AttemptEntry) -> int:
    return entry.end or 0


def _failed(entry: AttemptEntry) -> bool:
    state = UNKNOWN_STATE if entry.state is None else entry.state.partition(" ")[0]
    return entry.end is not None and state in FAILED_STATES
