"""What a session needs for what is pushed: the same before and after a restart."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import LogLine, Sample, SchedulerEvent, SourceStatus
from relume.ingest.lake import LakeReader
from relume.ingest.lake.journal import Commit
from relume.ingest.lake.segments import TABLES
from relume.serve.intake.arrivals import Arrivals, Arrived
from relume.serve.intake.bodies import Body
from relume.serve.intake.records import record_of
from relume.serve.intake.seen import WINDOW_SECONDS
from relume.serve.intake.whose import LOCAL, Intervals
from relume.serve.ledger import Ledger
from relume.serve.live.judge import Judge
from relume.serve.live.naming import LOG_ENDED, log_source
from relume.verdict import Health

WINDOW = "pushes"
"""Position of the lake: the commit after which everything of the last minutes has landed."""
SNAPSHOTS = "snapshots"
"""Position of the lake that says that snapshots of the scheduler came, too."""
QUIET_SECONDS = 30.0
"""How long nothing of an attempt that is over may be pushed before its log is complete; senders
that were cut off for longer are late."""
RECALL_ROWS = 1_000_000
"""Lines and samples that are read back at a start: some seconds of it."""
_MANY = frozenset({TABLES[LogLine], TABLES[Sample]})
KEEP_SECONDS = 5.0
"""How often the positions of streams are kept: what is newer is in the window."""


class Pushes:
    """Everything that was pushed, and who pushes. Not thread-safe.

    Parameters
    ----------
    cluster
        Whose it is; empty until somebody says it.
    ledger
        What is known of attempts.
    judge
        Which of them are watched.
    positions
        Of the lake.

    Attributes
    ----------
    are_all
        Whether nothing but pushes tells of attempts: then no snapshot is waited for.
    newest
        When something was pushed last; 0 for never.
    """

    def __init__(
        self, cluster: str, ledger: Ledger, judge: Judge, positions: Mapping[str, str]
    ) -> None:
        self._ledger, self._judge = ledger, judge
        intervals = Intervals(ledger.newest_attempt, ledger.get_attempt)
        self._arrivals = Arrivals(cluster, intervals, ledger.get_attempt, positions)
        self._window: deque[tuple[int, int]] = deque()
        self._begin = int(positions.get(WINDOW, "0"))
        self._is_used = WINDOW in positions
        self._has_snapshots = self._snapshots_are_kept = SNAPSHOTS in positions
        self._is_blind = False
        self._kept_at = 0
        self.newest = 0

    @property
    def cluster(self) -> str:
        """Whose attempts they are; empty when nobody has said it."""
        return self._arrivals.cluster

    @property
    def are_all(self) -> bool:
        """Whether nothing but pushes tells of attempts."""
        return self._is_used and not self._has_snapshots

    @property
    def stale(self) -> list[str]:
        """Who has stopped to push."""
        return self._arrivals.senders.stale

    @property
    def missed(self) -> list[str]:
        """Who has stopped though jobs run whose logs it brought."""
        return self._arrivals.senders.missed

    def lag_seconds(self, now: int) -> float | None:
        """How far the sender that is furthest behind is behind; null for none."""
        return self._arrivals.senders.lag_seconds(now)

    def __len__(self) -> int:
        return len(self._arrivals.senders)

    def recall(self, lake: Path, zone: str, last: int) -> None:
        """Take the last minutes of the lake, so that what is sent again lands once."""
        if not self._is_used or not last:
            return
        reader = LakeReader(lake, zone=zone)
        events: dict[str, SchedulerEvent] = {}
        for commit in _newest(reader.commits(self._begin)):
            self._window.append((commit.sequence, commit.committed_at))
            for landing in reader.landings_of(commit):
                self._arrivals.recall(landing, commit.committed_at)
                if isinstance(landing, SchedulerEvent):
                    events[landing.attempt] = landing
        for event in events.values():  # the ledger comes after the lake
            known = self._ledger.get_attempt(event.attempt)
            record = record_of(event, known)
            if known is None or (record.ended and not known.ended):
                self._ledger.put_attempt(record)

    def use(self, cluster: str) -> None:
        """Take whose attempts these are."""
        self._arrivals.use(cluster)

    def note(self, event: SchedulerEvent) -> None:
        """Take what a snapshot says of an attempt."""
        self._arrivals.note(event)

    def note_snapshot(self) -> None:
        """Take that snapshots of the scheduler come."""
        self._has_snapshots = True
        self._is_blind = False

    def note_blind(self) -> bool:
        """Whether snapshots came before a restart and none since; true once."""
        is_new = self._has_snapshots and not self._is_blind
        self._is_blind = True
        return is_new

    def take(self, bodies: Sequence[Body], now: int) -> Arrived:
        """Return what some requests lead to."""
        if bodies:
            self._is_used, self.newest = True, now
        return self._arrivals.take(bodies, now)

    def look(
        self, now: int, settle_seconds: float, is_read: Callable[[str], bool]
    ) -> Iterator[SourceStatus]:
        """Tell of senders that stopped, and of attempts whose pushed logs have ended."""
        yield from self._arrivals.senders.look(now)
        for attempt in self._arrivals.quiet(now, max(settle_seconds, QUIET_SECONDS)):
            if attempt in self._judge.watches and not is_read(attempt):
                yield SourceStatus(
                    source=log_source(attempt),
                    cluster=self.cluster or LOCAL,
                    event_time=now,
                    observed_at=now,
                    status=Health.HEALTHY,
                    reason=LOG_ENDED,
                )

    def positions(self, sequence: int, now: int) -> dict[str, str | None]:
        """Return what is to be kept with commit `sequence`."""
        kept: dict[str, str | None] = {}
        if self._has_snapshots and not self._snapshots_are_kept:
            self._snapshots_are_kept = True
            kept[SNAPSHOTS] = "1"
        if not self._is_used:
            return kept
        self._window.append((sequence, now))
        oldest = now - int(WINDOW_SECONDS * MICROSECONDS_PER_SECOND)
        while len(self._window) > 1 and self._window[1][1] < oldest:
            self._window.popleft()
        kept[WINDOW] = str(self._window[0][0] - 1)
        if now - self._kept_at >= KEEP_SECONDS * MICROSECONDS_PER_SECOND:
            self._kept_at = now
            kept |= self._arrivals.courses.positions()
        return kept


def _newest(commits: Iterable[Commit]) -> list[Commit]:
    """Return commits, the older ones without lines and samples: a start mustn't take long."""
    found, rows = list(commits), 0
    for index in range(len(found) - 1, -1, -1):
        segments = found[index].segments
        rows += sum(segment.rows for segment in segments if segment.table in _MANY)
        if rows > RECALL_ROWS:
            rest = tuple(segment for segment in segments if segment.table not in _MANY)
            found[index] = replace(found[index], segments=rest)
    return found
