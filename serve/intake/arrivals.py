"""From requests to what lands: whose it is, what of it is new, in the order it came."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from relume.clock import MICROSECONDS_PER_SECOND
from relume.errors import InputError
from relume.events import Event, LogLine, SchedulerEvent, Tick
from relume.identity import AttemptId
from relume.ingest.blocks import Block
from relume.ingest.lake import LandedBlock, Landing, LineBatch, SampleBatch
from relume.ingest.lake.samplebatches import NO_TIME
from relume.ingest.push.lines import PushedLines
from relume.serve.intake.bodies import Body, Outcome
from relume.serve.intake.records import record_of
from relume.serve.intake.seen import Seen, keys_of, log_key
from relume.serve.intake.senders import Senders
from relume.serve.intake.streams import Courses, LandingLines, block_of, landing_lines
from relume.serve.intake.whose import LOCAL, Intervals, Named, foreign, owners_of
from relume.serve.ledger import AttemptRecord
from relume.serve.live.naming import push_source

WATERMARK_SECONDS = 300.0
"""An entry that is older than the newest of its stream by more than this is late."""
MAX_ATTEMPTS = 100_000
"""Attempts of which it is known when a line was pushed last; the first goes first."""
_WATERMARK = int(WATERMARK_SECONDS * MICROSECONDS_PER_SECOND)
Lookup = Callable[[str], AttemptRecord | None]


@dataclass(slots=True)
class Arrived:
    """What requests led to: landings in order, what the ledger is to know, and the answers."""

    landings: list[Landing] = field(default_factory=list)
    records: dict[str, AttemptRecord] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)


class Arrivals:
    """Takes requests in, one at a time. Not thread-safe.

    Parameters
    ----------
    cluster
        Whose they are; empty until somebody says it.
    intervals
        When attempts ran.
    record
        Asks the ledger for an attempt.
    positions
        Of the lake, from before a restart.
    """

    def __init__(
        self,
        cluster: str,
        intervals: Intervals,
        record: Lookup,
        positions: Mapping[str, str] | None = None,
    ) -> None:
        self.cluster = cluster
        self.senders = Senders(cluster or LOCAL)
        self.intervals = intervals
        self.courses = Courses(positions or {})
        self._record = record
        self._seen = Seen()
        self._pushed: dict[str, int] = {}
        self._ended: dict[str, None] = {}

    def use(self, cluster: str) -> None:
        """Take whose attempts these are."""
        self.cluster = self.senders.cluster = cluster

    def recall(self, landing: Landing, now: int) -> None:
        """Take what landed before a restart, in the last minutes."""
        if isinstance(landing, SchedulerEvent):
            self.note(landing)
        if isinstance(landing, LineBatch):
            if not landing.source.startswith("push "):
                return
            if landing.attempt is not None:
                self._note_pushed(landing.attempt, now)
            self.courses.recall(landing)
            self.senders.recall(landing)
        elif isinstance(landing, Tick):
            return
        self._seen.recall(landing, now)

    def take(self, bodies: Sequence[Body], now: int) -> Arrived:
        """Return what some requests, read at `now`, lead to."""
        arrived = Arrived()
        for body in bodies:
            outcome = Outcome(refused=body.refused, reasons=list(body.reasons))
            arrived.landings += self.senders.heard(body.sender, now)
            for event in body.events:
                if not isinstance(event, LogLine):
                    arrived.landings += self._event(event, now, outcome, arrived.records)
            arrived.landings += self._lines(body, now, outcome)
            for stream in body.streams:
                arrived.landings += self._stream(body.sender, stream, now, outcome)
            for samples in body.samples:
                arrived.landings += self._samples(samples, now, outcome)
            arrived.outcomes.append(outcome)
        return arrived

    def quiet(self, now: int, settle_seconds: float) -> Iterator[str]:
        """Yield attempts that are over and of which no line was pushed for a while, once each."""
        oldest = now - int(settle_seconds * MICROSECONDS_PER_SECOND)
        for attempt in [one for one in self._ended if self._pushed.get(one, 0) < oldest]:
            del self._ended[attempt]
            if self._pushed.pop(attempt, None) is not None:
                self.senders.over(attempt)
                yield attempt

    def _event(
        self, event: Event, now: int, outcome: Outcome, records: dict[str, AttemptRecord]
    ) -> Iterator[Landing]:
        refusal = self._refusal(event)
        if refusal is not None:
            outcome.refuse(refusal)
            return
        event = self._placed(event)
        if not self._seen.is_new(event, now):
            outcome.duplicates += 1
            return
        outcome.accepted += 1
        if isinstance(event, SchedulerEvent):
            self.note(event)
            before = records.get(event.attempt) or self._record(event.attempt)
            records[event.attempt] = record_of(event, before)
        yield event

    def _placed(self, event: Event) -> Event:
        """Give an event the cluster that it doesn't name; who names the first one decides it."""
        named, cluster = getattr(event, "attempt", None), event.cluster
        if cluster == LOCAL and named is not None:
            cluster = AttemptId.parse(named).job_key.cluster
        if not self.cluster and isinstance(event, SchedulerEvent):
            self.use(cluster)
        if cluster == LOCAL and self.cluster:
            cluster = self.cluster
        return event if cluster == event.cluster else replace(event, cluster=cluster)

    def _lines(self, body: Body, now: int, outcome: Outcome) -> Iterator[Landing]:
        logs: dict[tuple[str | None, ...], list[LogLine]] = {}
        for event in body.events:
            if not isinstance(event, LogLine):
                continue
            refusal = self._refusal(event)
            if refusal is None:
                logs.setdefault(_same_log(event), []).append(event)
            else:
                outcome.refuse(refusal)
        for lines in logs.values():
            yield from self._logged(body.sender, lines, now, outcome)

    def note(self, event: SchedulerEvent) -> None:
        """Take what the scheduler says of an attempt, pushed or not."""
        self.intervals.note(event)
        if record_of(event, None).ended:
            self._ended[event.attempt] = None
        else:
            self._ended.pop(event.attempt, None)

    def _refusal(self, event: Event) -> str | None:
        """Why an event isn't taken, null when it is."""
        if isinstance(event, Tick):
            return "a Tick: the service has the only clock"
        named = getattr(event, "attempt", None)
        try:
            owner = None if named is None else AttemptId.parse(named).job_key.cluster
        except InputError as error:
            return str(error)
        return foreign("an event", self.cluster, event.cluster, owner)

    def _samples(self, batch: SampleBatch, now: int, outcome: Outcome) -> Iterator[Landing]:
        refusal = foreign("samples", self.cluster, batch.cluster, None)
        if refusal is not None:
            outcome.refuse(refusal, len(batch))
            return
        cluster = self.cluster if batch.cluster == LOCAL and self.cluster else batch.cluster
        batch = replace(batch, cluster=cluster, observed_at=now)
        if not self._seen.is_new(batch, now):
            outcome.duplicates += len(batch)
            return
        outcome.accepted += len(batch)
        yield batch

    def _stream(
        self, sender: str, stream: PushedLines, now: int, outcome: Outcome
    ) -> Iterator[Landing]:
        try:
            named = Named.of(stream.labels)
        except InputError as error:
            outcome.refuse(str(error), len(stream))
            return
        refusal = foreign("lines", self.cluster, named.cluster, named.owner)
        if refusal is not None:
            outcome.refuse(refusal, len(stream))
            return
        lines = self._fresh(named.file, landing_lines(stream), outcome)
        if not len(lines):
            return
        oldest = self.courses.of(named.file).newest - _WATERMARK
        outcome.late += int(((lines.times < oldest) & (lines.times != NO_TIME)).sum())
        outcome.accepted += len(lines)
        self._seen.note(named.file, lines.data, keys_of(lines.times), now)
        cluster = self.cluster or named.cluster or ""
        for owner, start, end in owners_of(named, lines.times, now, cluster, self.intervals):
            part, course = lines.part(start, end), self.courses.of(named.file)
            block, whose = block_of(named.file, part, course), replace(named, attempt=owner)
            yield from self._land(sender, whose, block, part, now)

    def _fresh(self, name: str, lines: LandingLines, outcome: Outcome) -> LandingLines:
        """What of the lines of a stream didn't land before."""
        again = self._seen.repeated(name, lines.data, keys_of(lines.times))
        if not again.any():
            return lines
        outcome.duplicates += int(again.sum())
        return lines.chosen(~again)

    def _land(
        self, sender: str, named: Named, block: Block, lines: LandingLines, now: int
    ) -> Iterator[Landing]:
        """Land lines of the attempt that `named` says, of nobody when it says none."""
        newest = lines.newest
        yield from self.senders.brought(sender, named.attempt, newest, now)
        if named.attempt is not None:
            self._note_pushed(named.attempt, now)
        yield LineBatch(
            block=block,
            attempt=named.attempt,
            stream=named.stream,
            node=named.node,
            observed_at=now,
            cluster=self.cluster or named.owner or named.cluster or LOCAL,
            source=push_source(sender, named.job_id if named.attempt is None else None),
            event_times=None if newest is None else lines.times,
        )

    def _note_pushed(self, attempt: str, now: int) -> None:
        while attempt not in self._pushed and len(self._pushed) >= MAX_ATTEMPTS:
            del self._pushed[next(iter(self._pushed))]
        self._pushed[attempt] = now

    def _logged(
        self, sender: str, lines: Sequence[LogLine], now: int, outcome: Outcome
    ) -> Iterator[Landing]:
        """Land lines of one log that came as events, under the numbers that they have."""
        first = lines[0]
        name = log_key(first.attempt, first.node, first.file)
        all_lines = _landing(lines)
        keys = keys_of(all_lines.times, [line.offset for line in lines])
        again = self._seen.repeated(name, all_lines.data, keys)
        fresh = [line for line, known in zip(lines, again, strict=True) if not known]
        outcome.duplicates += len(lines) - len(fresh)
        outcome.accepted += len(fresh)
        if not fresh:
            return
        self._seen.note(name, all_lines.data, keys, now)
        words = [line.text.replace("\n", " ") for line in fresh]
        numbers = [line.line for line in fresh], [line.offset for line in fresh]
        named = Named(first.file, first.stream, first.attempt, None, first.node)
        block = LandedBlock(first.file, words, *numbers)
        yield from self._land(sender, named, block, _landing(fresh), now)


def _landing(lines: Sequence[LogLine]) -> LandingLines:
    """Lines of one log that came as events."""
    texts = [line.text.replace("\n", " ").encode("utf-8", "replace") for line in lines]
    times = [NO_TIME if line.event_time is None else line.event_time for line in lines]
    return LandingLines(b"\n".join([*texts, b""]), np.array(times, np.int64))


def _same_log(line: LogLine) -> tuple[str | None, ...]:
    return line.file, line.attempt, line.node, line.stream, line.cluster
