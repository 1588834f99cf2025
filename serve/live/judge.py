"""Everything that lands goes through here, live and in a replay: landings in, Advice out.

A live run judges what it has landed, in landed order; a replay reads the same landings back. Both
feed this one class, which knows no clock but the ticks among them: so they write the same Advice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from relume.advice import Advice
from relume.events import SchedulerEvent, SourceStatus, Tick
from relume.identity import AttemptId, read_comment, run_name
from relume.ingest.lake.batches import Landing, LineBatch, Parsers
from relume.models.policy.view import JobWishes, PastAttempt
from relume.serve.live.watch import AttemptWatch, JobFacts, WatchSettings
from relume.serve.offline import Analyzer

LOG_ENDED = "read to its end"
"""Reason of the status that lands when the logs of an ended attempt were read to their end."""
MAX_ATTEMPTS = 20_000
"""Attempts watched at once; the one that began first goes first, since it is most likely over."""
MAX_RUNS = 50_000
_ENDED = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REQUEUED",
        "REVOKED",
        "SPECIAL_EXIT",
        "TIMEOUT",
    }
)


def log_source(attempt: str) -> str:
    """Name of the source that the logs of one attempt are.

    >>> log_source("lab/7@1767323045.0")
    'log lab/7@1767323045.0'
    """
    return f"log {attempt}"


@dataclass(slots=True)
class Judge:
    """The attempts being watched, and the history of their runs. Bounded; not thread-safe."""

    analyzer: Analyzer
    settings: WatchSettings = field(default_factory=WatchSettings)
    zone: str = "UTC"
    watches: dict[str, AttemptWatch] = field(default_factory=dict)
    _runs: dict[str, dict[int, PastAttempt]] = field(default_factory=dict)
    _run_of: dict[str, str] = field(default_factory=dict)
    _parsers: Parsers | None = None
    _now: int = 0

    def take_all(self, landings: Iterable[Landing]) -> Iterator[Advice]:
        """Take landings in order and yield the Advice they lead to."""
        for landing in landings:
            yield from self.take(landing)

    def take(self, landing: Landing) -> list[Advice]:
        """Take one landing; Advice comes with ticks only."""
        if isinstance(landing, Tick):
            return self._tick(landing)
        if isinstance(landing, LineBatch):
            self._lines(landing)
        elif isinstance(landing, SchedulerEvent):
            self._job(landing)
        elif isinstance(landing, SourceStatus) and landing.reason == LOG_ENDED:
            watch = self.watches.get(landing.source.removeprefix("log "))
            if watch is not None:
                watch.note_landed()
        return []

    def _tick(self, tick: Tick) -> list[Advice]:
        self._now = tick.event_time
        made = (watch.advance(tick.event_time) for watch in list(self.watches.values()))
        return [advice for advice in made if advice is not None]

    def _lines(self, batch: LineBatch) -> None:
        watch = self.watches.get(batch.attempt or "")
        if watch is None:
            return
        self._parsers = self._parsers or Parsers(self.zone)
        when = self._now if batch.observed_at is None else batch.observed_at
        watch.feed(batch.block, self._parsers.of(batch), when)

    def _job(self, event: SchedulerEvent) -> None:
        watch = self.watches.get(event.attempt) or self._begin(event)
        watch.note_job(
            JobFacts(
                state=event.state,
                nodes=event.nodes,
                exit_code=event.exit_code,
                signal=event.signal,
                ended=event.state in _ENDED,
            )
        )

    def _begin(self, event: SchedulerEvent) -> AttemptWatch:
        attempt = AttemptId.parse(event.attempt)
        run = run_name(read_comment(event.comment), attempt.job_key)
        self._remember_outcomes(run)
        history = tuple(
            past
            for count, past in sorted(self._runs.get(run, {}).items())
            if count < attempt.restart_count
        )
        while len(self.watches) >= MAX_ATTEMPTS:
            gone = next(iter(self.watches))
            del self.watches[gone], self._run_of[gone]
        # One name for whatever the job writes: an attempt's files are known only as they appear.
        watch = AttemptWatch(
            attempt,
            self.analyzer.begin(event.attempt, ()),
            history=history,
            wishes=JobWishes(),
            settings=self.settings,
        )
        watch.start(self._now if event.event_time is None else event.event_time)
        self.watches[event.attempt], self._run_of[event.attempt] = watch, run
        return watch

    def _remember_outcomes(self, run: str) -> None:
        """Note how the run's earlier attempts ended, when a new one begins."""
        while len(self._runs) >= MAX_RUNS:
            del self._runs[next(iter(self._runs))]
        outcomes = self._runs.setdefault(run, {})
        for name, watch in self.watches.items():
            if self._run_of[name] == run:
                outcomes[watch.attempt.restart_count] = watch.outcome()
