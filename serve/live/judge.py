"""Everything that lands goes through here, live and in a replay: landings in, Advice out.

A live run judges what it lands, in landed order; a replay reads the same landings back. Both feed
this one class, which knows no clock but the ticks among them: so they write the same Advice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from relume.advice import Advice, Mode
from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import CollectiveDump, NodeEvent, Sample, SchedulerEvent, SourceStatus, Tick
from relume.identity import AttemptId, read_comment, run_name
from relume.ingest.lake.batches import Landing, LineBatch, Parsers
from relume.ingest.lake.samplebatches import SampleBatch
from relume.models.family.attempt import AttemptGaps, FamilyKey
from relume.models.fleet.nodes import Turn
from relume.models.policy.view import PastAttempt
from relume.models.policy.wishes import read_wishes
from relume.models.templates.history import TemplateHistory
from relume.serve.healthy import run_of
from relume.serve.live.aftermath import Aftermath, Told
from relume.serve.live.families import Families
from relume.serve.live.fleet import Fleet, FleetState
from relume.serve.live.history import Histories, RunKey
from relume.serve.live.incidents import incident_advice
from relume.serve.live.jobfacts import JobFacts
from relume.serve.live.judged import Judged
from relume.serve.live.listening import Listening
from relume.serve.live.naming import (
    LOG_ENDED,
    SCHEDULER,
    attempt_of_source,
    log_source,
    sender_of,
)
from relume.serve.live.quarantine import node_advice
from relume.serve.live.recent import RecentLines
from relume.serve.live.stays import Stays
from relume.serve.live.watch import AttemptWatch, WatchSettings
from relume.serve.offline import Analyzer
from relume.verdict import Health

MAX_ATTEMPTS = 20_000
"""Attempts watched at once; the one that began first goes first, since it is most likely over."""
MAX_OVER = 100_000
"""Attempts remembered as over: what is told of them later is no new attempt."""
BLIND_SECONDS = 10.0
"""A longer time between two landings is one in which nobody looked: it shows no silence."""
LINGER_SECONDS = 600.0
"""How long an attempt that ended is watched on when nothing is left to decide."""


@dataclass(slots=True)
class Judge:
    """The attempts being watched, and the history of their runs. Bounded; not thread-safe.

    Attributes
    ----------
    recall
        What is known of a run from before the first landing that this judge takes; nothing when it
        takes all of them.
    recall_gaps
        The same of a family: its attempts that were over before a time.
    recall_fleet
        What was known of a cluster (its name) when the service was stopped; null for nothing.
    beside
        How many attempts ran at a time that this judge isn't told of.
    retired
        Called with each attempt that isn't watched any more.
    history, teaches
        What healthy attempts print, null for what the analyzer knows; whom attempts that aren't
        watched any more teach what they printed, null for nobody.
    is_done
        Whether an attempt was done with before the first landing that this judge takes: what comes
        of it is only its end, which would make another finding.
    """

    analyzer: Analyzer
    settings: WatchSettings = field(default_factory=WatchSettings)
    zone: str = "UTC"
    recall: Callable[[RunKey], Iterable[tuple[AttemptId, PastAttempt]]] = lambda _: ()
    recall_gaps: Callable[[FamilyKey, int], Iterable[AttemptGaps]] = lambda _key, _time: ()
    retired: Callable[[AttemptWatch], None] = lambda _: None
    is_done: Callable[[str], bool] = lambda _: False
    recall_fleet: Callable[[str], FleetState | None] = lambda _: None
    beside: Callable[[int], int] = lambda _: 0
    history: TemplateHistory | None = None
    teaches: TemplateHistory | None = None
    watches: dict[str, AttemptWatch] = field(default_factory=dict)
    _aftermath: Aftermath = field(default_factory=Aftermath)
    _histories: Histories = field(init=False)
    _families: Families = field(init=False)
    _recent: RecentLines = field(default_factory=RecentLines)
    _unclaimed: RecentLines = field(default_factory=RecentLines)
    _stays: Stays = field(default_factory=Stays)
    _fleets: dict[str, Fleet] = field(default_factory=dict)
    _over: dict[str, None] = field(default_factory=dict)
    _of_run: dict[RunKey, set[str]] = field(default_factory=dict)
    _parsers: Parsers | None = None
    _listening: Listening = field(default_factory=Listening)
    _quiet: dict[str, int] = field(default_factory=dict)
    _now: int = 0
    _still: tuple[float, int | None] = 0, None
    """Until when ticks only pass the time, if nothing lands; and what `next_change` says."""

    def __post_init__(self) -> None:
        self._histories = Histories(self.recall)
        self._families = Families(self.recall_gaps)

    def judged(self) -> Judged:
        """Return all that it knows by now; it is the judge's own, not a copy."""
        return Judged(
            watches=self.watches,
            aftermath=self._aftermath,
            runs=self._histories.runs,
            left=self._families.left,
            recent=self._recent,
            unclaimed=self._unclaimed,
            stays=self._stays,
            fleets=self._fleets,
            over=self._over,
            of_run=self._of_run,
            parsers=self._parsers,
            now=self._now,
        )

    def resume(self, known: Judged) -> None:
        """Go on from what another judge of the same rules and settings knew."""
        self._quiet.clear()
        self.watches, self._aftermath = known.watches, known.aftermath
        self._histories.runs, self._families.left = known.runs, known.left
        self._recent, self._unclaimed = known.recent, known.unclaimed
        self._stays, self._fleets = known.stays, known.fleets
        self._over, self._of_run = known.over, known.of_run
        self._parsers, self._now = known.parsers, known.now
        for fleet in self._fleets.values():
            fleet.beside = self.beside

    def take_all(self, landings: Iterable[Landing]) -> Iterator[Advice]:
        """Take landings in order and yield the Advice they lead to."""
        for landing in landings:
            yield from self.take(landing)

    def take(self, landing: Landing) -> list[Advice]:
        """Take one landing; Advice about attempts comes with ticks only."""
        self._aftermath.told.clear()
        if isinstance(landing, Tick):
            self._look(landing.event_time)
            return self._tick(landing.event_time)
        self._still = 0, None
        if isinstance(landing, LineBatch):
            self._look(landing.observed_at)
            self._lines(landing)
            return []
        if isinstance(landing, SampleBatch):
            self._samples(landing)
            return []
        self._quiet.clear()  # whom it touches isn't worth finding out: these are few
        if isinstance(landing, SchedulerEvent):
            self._look(landing.observed_at)
            self._job(landing)
        elif isinstance(landing, SourceStatus):
            self._look(landing.observed_at)
            self._source(landing)
        elif isinstance(landing, NodeEvent):
            return self._node(landing)
        else:
            self._measure(landing)
        return []

    def _measure(self, landing: Landing) -> None:
        """Take what was measured, or dumped by a rank."""
        if isinstance(landing, Sample):  # who measures a node doesn't look at its jobs' logs
            self._sample(landing)
        elif isinstance(landing, CollectiveDump):
            dumped = self.watches.get(landing.attempt)
            if dumped is not None:
                dumped.note_dump(landing)

    def _samples(self, batch: SampleBatch) -> None:
        for watch, heard in self._listening.split(batch, self._alone_on):
            self._quiet.pop(watch.name, None)
            watch.hear(heard, self._now)

    def due_at(self, after: int) -> int | None:
        """Return when Advice may settle next, of what becomes due after a time; null for none."""
        due = (watch.due_at for watch in self.watches.values())
        return min((at for at in due if at is not None and at > after), default=None)

    @property
    def told(self) -> tuple[Told, ...]:
        """What the last landing tells of earlier Advice, and of the one it led to."""
        return tuple(self._aftermath.told)

    @property
    def fleets(self) -> Mapping[str, Fleet]:
        """What is known of each cluster, by its name."""
        return self._fleets

    def next_change(self, event_time: int) -> int | None:
        """Return a time up to which ticks change nothing, if nothing lands till then.

        Null when they never will. Ticks must still come every `BLIND_SECONDS`.
        """
        until, change = self._still
        if event_time < until:
            return change
        times = (watch.next_change(event_time) for watch in self.watches.values())
        change = min((time for time in times if time is not None), default=None)
        if self._is_idle():
            self._still = math.inf if change is None else change, change
        return change

    def _is_idle(self) -> bool:
        """Whether nothing but the silence of an attempt goes on that a tick could end."""
        is_waited = self._aftermath.is_waiting or any(
            one.is_silent for one in self.watches.values()
        )
        return not is_waited and all(fleet.is_idle for fleet in self._fleets.values())

    def _look(self, observed_at: int | None) -> None:
        """Notice a time in which nothing landed, not even a tick."""
        if observed_at is None:
            return
        if self._now and observed_at - self._now > BLIND_SECONDS * MICROSECONDS_PER_SECOND:
            self._quiet.clear()
            for watch in self.watches.values():
                watch.excuse(observed_at)
            self._aftermath.missed()
            self._still = 0, None
        self._now = max(self._now, observed_at)

    def _tick(self, now: int) -> list[Advice]:
        if now < self._still[0]:
            for fleet in self._fleets.values():
                fleet.pass_time(now)
            return []
        quiet = self._quiet
        noisy = [watch for name, watch in self.watches.items() if quiet.get(name, now) <= now]
        for watch in noisy:
            watch.look(now)
        advice = [one for fleet in self._fleets.values() for one in self._survey(fleet, now)]
        for watch in noisy:
            name, fleet = watch.name, self._fleet(watch.run.cluster)
            made = watch.decide(now, partial(fleet.around, watch, self.watches))
            fleet.decided(watch, is_new=made is not None)
            if made is not None:
                advice.append(made)
                self._aftermath.note(watch, made, fleet.incident)
            self._aftermath.look(watch, now)
            waits = made is not None or self._aftermath.waits_for(name)
            quiet[name] = now if waits else watch.quiet_until(now)
            if _is_over(watch, now):
                self._retire(name)
                while len(self._over) >= MAX_OVER:
                    del self._over[next(iter(self._over))]
                self._over[name] = None
        return advice

    def _survey(self, fleet: Fleet, now: int) -> list[Advice]:
        """Look at a cluster, after its attempts; return what is advised about it and its nodes."""
        before = fleet.incident
        changes = fleet.advance(now, self.watches)
        told = incident_advice(before, fleet.incident, self.settings.policy, now)
        return [*([] if told is None else [told]), *node_advice(changes, fleet.lemons, now)]

    def _node(self, event: NodeEvent) -> list[Advice]:
        fleet = self._fleet(event.cluster)
        turn, changes = fleet.take(event)
        if turn is Turn.RESUMED:
            for watch in self.watches.values():
                if watch.run.cluster == event.cluster and watch.blames(event.node):
                    watch.note_hand(f"{event.node} was given back to jobs")
        return list(node_advice(changes, fleet.lemons, self._now))

    def _fleet(self, cluster: str) -> Fleet:
        if cluster not in self._fleets:
            state = self.recall_fleet(cluster)
            self._fleets[cluster] = Fleet(self.settings, state, beside=self.beside)
        return self._fleets[cluster]

    def _lines(self, batch: LineBatch) -> None:
        for watch in self._readers(batch):
            self._feed(watch, batch)
        if _is_of_node(batch):
            self._recent.add(batch)
        elif self._is_unclaimed(batch):
            self._unclaimed.add(batch)

    def _is_unclaimed(self, batch: LineBatch) -> bool:
        """Whether lines are of an attempt or a job of which the scheduler hasn't said anything."""
        if batch.attempt is None:
            return sender_of(batch.source)[1] is not None
        return batch.attempt not in self.watches and batch.attempt not in self._over

    def _feed(self, watch: AttemptWatch, batch: LineBatch) -> None:
        self._parsers = self._parsers or Parsers(self.zone)
        when = self._now if batch.observed_at is None else batch.observed_at
        self._quiet.pop(watch.name, None)
        watch.feed(batch.block, self._parsers.of(batch), when)

    def _readers(self, batch: LineBatch) -> Iterator[AttemptWatch]:
        """The attempt whose log it is; of a node's log, every attempt that was on the node."""
        if batch.attempt is not None:
            watch = self.watches.get(batch.attempt)
            if watch is not None:
                yield watch
        elif _is_of_node(batch):
            yield from (w for w in self.watches.values() if batch.node in w.run_nodes)

    def _sample(self, sample: Sample) -> None:
        """Tell a metric to the attempt that has the node for itself; else it is nobody's."""
        watch = None if sample.node is None else self._alone_on(sample.node)
        if watch is None or sample.cluster != watch.run.cluster:
            return
        if sample.attempt is None or sample.attempt == watch.name:
            watch.note_sample(sample, self._now)

    def _alone_on(self, node: str) -> AttemptWatch | None:
        """Return who has a node for itself, as far as it is watched."""
        watch = self.watches.get(self._stays.alone_on(node) or "")
        return watch if watch is not None and node in watch.run_nodes else None

    def _source(self, status: SourceStatus) -> None:
        if status.source == SCHEDULER:
            healthy = status.status is Health.HEALTHY
            for one in self.watches.values():
                one.note_source(SCHEDULER, healthy=healthy, event_time=self._now)
            return
        watch = self.watches.get(attempt_of_source(status.source) or "")
        if watch is None:
            return
        if status.source == log_source(watch.name) and status.reason == LOG_ENDED:
            watch.note_landed()
        else:
            healthy = status.status is Health.HEALTHY
            watch.note_source(status.source, healthy=healthy, event_time=self._now)

    def _job(self, event: SchedulerEvent) -> None:
        watch = self.watches.get(event.attempt)
        is_new = watch is None
        if watch is None:
            is_held = event.attempt in self._fleet(event.cluster).held
            if event.attempt in self._over or (self.is_done(event.attempt) and not is_held):
                return
            watch = self._begin(event)
            job_id = watch.attempt.job_key.job_id
            for batch in self._unclaimed.take_of(event.attempt, job_id, self._now):
                self._feed(watch, batch)
        facts = JobFacts.of(event)
        new_nodes = set(event.nodes) - watch.run_nodes
        time = self._now if event.event_time is None else event.event_time
        watch.note_job(facts, time)
        if is_new and self._now - time > BLIND_SECONDS * MICROSECONDS_PER_SECOND:
            watch.excuse(self._now)  # it ran already: what it said before, nobody may have read
        self._stays.move(event.attempt, watch.nodes)
        if watch.left is None and (left := watch.note_over(self._now)) is not None:
            self._families.put(watch.family_key, left)
        for batch in self._recent.of(new_nodes, self._now):
            self._feed(watch, batch)
        watch.note_source("work", healthy=facts.works, event_time=self._now)

    def _begin(self, event: SchedulerEvent) -> AttemptWatch:
        attempt = AttemptId.parse(event.attempt)
        opt_in = read_comment(event.comment)
        run = RunKey(event.cluster, event.user, run_name(opt_in, attempt.job_key))
        family = FamilyKey(event.cluster, event.user, event.name or run.name)
        for name in self._of_run.get(run, ()):  # those that are not retired yet
            earlier = self.watches[name]
            if earlier.is_held and earlier.attempt.job_key == attempt.job_key:
                earlier.note_hand("the job was started again")
            self._histories.put(run, earlier.attempt, earlier.outcome())
        while len(self.watches) >= MAX_ATTEMPTS:
            self._retire(next(iter(self.watches)))
        settings = self.settings
        if not opt_in.opted_in:  # nobody may act on it, so nobody is told to
            settings = replace(settings, mode=Mode.MONITOR)
        # One name for whatever the job writes: an attempt's files are known only as they appear.
        analysis = self.analyzer.begin(event.attempt, (), history=self.history)
        analysis.note_job(run_of(event))
        watch = AttemptWatch(
            attempt,
            analysis,
            run=run,
            history=self._histories.before(run, attempt),
            wishes=read_wishes(event.comment),
            settings=settings,
            family=self._families.before(family, self._now, str(attempt.job_key)),
        )
        watch.family_key = family
        watch.start(self._now if event.event_time is None else event.event_time)
        self.watches[event.attempt] = watch
        self._of_run.setdefault(run, set()).add(event.attempt)
        return watch

    def _retire(self, name: str) -> None:
        watch = self.watches.pop(name)
        self._listening.forget(name)
        self._quiet.pop(name, None)
        self._stays.move(name, ())
        self._of_run[watch.run].discard(name)
        if not self._of_run[watch.run]:
            del self._of_run[watch.run]
        self._histories.put(watch.run, watch.attempt, watch.outcome())
        if self.teaches is not None:
            watch.teach(self.teaches)
        self._aftermath.over(watch, self._now)
        self.retired(watch)


def _is_of_node(batch: LineBatch) -> bool:
    """Whether lines are of a node as such: not of a job, known or not."""
    is_jobs = batch.attempt is not None or sender_of(batch.source)[1] is not None
    return batch.node is not None and not is_jobs


def _is_over(watch: AttemptWatch, now: int) -> bool:
    """Whether nothing is left to decide, or to wait for, about an attempt that ended."""
    if watch.ended_at is None:
        return False
    lingered = now - watch.ended_at > LINGER_SECONDS * MICROSECONDS_PER_SECOND
    return watch.is_settled_for_good or (lingered and not watch.is_held)
