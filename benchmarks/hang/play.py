"""One recorded run, through the judge of the live service: at another speed, cut, with pauses."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter

import numpy as np

from relume.advice import Advice, Operation
from relume.benchmarks.false_alarms.nodes import (
    NODES,
    SCRAPE_SECONDS,
    USUAL_SCRAPES,
    Doing,
    Exporters,
    Traits,
)
from relume.benchmarks.hang.recordings import Run
from relume.clock import MICROSECONDS_PER_SECOND
from relume.events import Sample, SchedulerEvent, SourceStatus
from relume.ingest.lake.batches import Landing, LineBatch
from relume.models.family.attempt import AttemptGaps
from relume.models.hang.signs import Sign
from relume.models.policy.rules import SUSPECTED_HANG_RULE
from relume.serve.backtest.replay import ticked
from relume.serve.live.judge import Judge
from relume.serve.live.naming import log_source
from relume.serve.live.watch import WatchSettings
from relume.serve.offline import Analyzer
from relume.verdict import Health, Kind

CLUSTER, USER = "recorded", "somebody"
_BEGIN = 1_700_000_000
_APART = 90 * 86_400
"""Seconds from the start of one attempt of a family to that of the next."""
_SIGN = "sign"


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """How a run is played.

    Attributes
    ----------
    run
        What was recorded.
    speed
        Seconds played for one recorded.
    cut
        Place in `Run.steps` after which nothing comes any more; -1 for one that never comes to its
        first step, null plays it to its end.
    silent_seconds
        How long the attempt goes on after what came last.
    pauses
        Places in `Run.steps` after which nothing comes for so many seconds.
    sign_seconds
        From the cut on, when another source begins to see that nothing works; null for never.
    breaks_pipe
        Whether it is the log that can't be read any more after the cut.
    has_metrics
        Whether its nodes are measured, from five minutes before the cut on.
    """

    run: Run
    speed: float = 1.0
    cut: int | None = None
    silent_seconds: float = 0.0
    pauses: tuple[tuple[int, float], ...] = ()
    sign_seconds: float | None = None
    breaks_pipe: bool = False
    has_metrics: bool = False

    def gaps(self) -> list[int]:
        """Return the seconds from steps to the next ones before the cut, as a service sees them."""
        places = self.run.steps if self.cut is None else self.run.steps[: self.cut + 1]
        return [later - earlier for earlier, later in pairwise(map(self._second, places))]

    def gaps_like_this(self) -> list[int]:
        """Return those of `gaps` that began in the phase in which the cut comes."""
        phases = self.run.phases
        last = phases[-1 if self.cut is None else self.cut]
        return [gap for gap, phase in zip(self.gaps(), phases, strict=False) if phase == last]

    def seconds_of(self, step: int) -> int:
        """Return when the steps at a place of `Run.steps` are read, seconds from the start."""
        return self._second(self.run.steps[step])

    @property
    def onset(self) -> int:
        """When the last steps before the cut were read, seconds from the start."""
        if self.cut == -1:
            return 0
        return self._second(self._blocks - 1)

    @property
    def end(self) -> int:
        """When the attempt ends, seconds from the start."""
        last = self._second(self._blocks - 1) if self._blocks else 0
        return last + math.ceil(self.silent_seconds) + 1

    def blocks(self) -> Iterator[tuple[int, LineBatch]]:
        """Yield what is read, with its second."""
        for place, (_, block) in enumerate(self.run.blocks[: self._blocks]):
            yield self._second(place), LineBatch(block=block, stream="stdout", cluster=CLUSTER)

    @property
    def _blocks(self) -> int:
        """How many blocks are read."""
        if self.cut is None:
            return len(self.run.blocks)
        return self.run.steps[0] if self.cut == -1 else self.run.steps[self.cut] + 1

    def _second(self, place: int) -> int:
        """When a block is read: a service polls at every whole second."""
        later = sum(seconds for step, seconds in self.pauses if self.run.steps[step] < place)
        return math.ceil(self.run.blocks[place][0] * self.speed + later)


@dataclass(frozen=True, slots=True)
class Played:
    """What was said, in seconds from the start of the attempt; and what the attempt leaves.

    `left` is null for one that was cut: nobody looks further than to the first claim of a hang.
    """

    suspected: tuple[int, ...]
    acted: tuple[int, ...]
    left: AttemptGaps | None


def play(
    one: Play, analyzer: Analyzer, settings: WatchSettings, family: Sequence[AttemptGaps] = ()
) -> Played:
    """Play a run as an attempt after others of its family."""
    number = len(family)
    begin = _BEGIN + number * _APART
    name = f"{CLUSTER}/1@{_BEGIN}.{number}"
    judge = Judge(analyzer, settings, recall_gaps=lambda _key, _time: family)
    suspected, acted, left = [], [], None
    for landing in ticked(_landings(one, name, begin), judge, CLUSTER):
        watch = judge.watches.get(name)
        if isinstance(landing, Sample) and landing.metric == _SIGN and watch is not None:
            watch.note_sign(_sign(one, begin, landing))
        for advice in judge.take(landing):
            second = advice.created_at // MICROSECONDS_PER_SECOND - begin
            if advice.rule == SUSPECTED_HANG_RULE:
                suspected.append(second)
            elif _acts(advice):
                acted.append(second)
        left = left if watch is None else watch.left or left
        if acted and one.cut is not None:
            break
    return Played(tuple(suspected), tuple(acted), left)


def _acts(advice: Advice) -> bool:
    return advice.kind is Kind.HANG and advice.operation is not Operation.OBSERVE


def _landings(one: Play, name: str, begin: int) -> Iterator[tuple[int, Landing]]:
    """Yield what lands of an attempt, in the order of time."""
    landings = _without_metrics(one, name, begin)
    if not one.has_metrics:
        return landings
    return heapq.merge(landings, _metrics(one, begin), key=itemgetter(0))


def _metrics(one: Play, begin: int) -> Iterator[tuple[int, Landing]]:
    """Yield what is measured of an attempt that trains up to the cut, and stands still then."""
    draws = np.random.default_rng([*f"{one.run.name}/{one.speed}/{one.cut}".encode()])
    first = max(one.seconds_of(0), one.onset - USUAL_SCRAPES * SCRAPE_SECONDS)

    def doing(second: float) -> Doing:
        return Doing.TRAIN if second <= one.onset else Doing.HANG

    start = begin * MICROSECONDS_PER_SECOND
    exporters = Exporters(Traits.drawn(draws), doing, draws, start)
    for _, samples in exporters.scrapes(first + draws.uniform(0.0, SCRAPE_SECONDS), one.end - 1):
        for sample in samples:
            yield _whole(sample.event_time or 0), sample


def _without_metrics(one: Play, name: str, begin: int) -> Iterator[tuple[int, Landing]]:
    start = begin * MICROSECONDS_PER_SECOND
    nodes = NODES if one.has_metrics else ()
    yield start, _event(name, "RUNNING", start, one.run.nodes, nodes)
    for second, batch in one.blocks():
        time = start + second * MICROSECONDS_PER_SECOND
        yield time, replace(batch, attempt=name, observed_at=time)
    onset = start + one.onset * MICROSECONDS_PER_SECOND
    if one.breaks_pipe:
        yield onset, _broken(name, onset)
    end = start + one.end * MICROSECONDS_PER_SECOND
    if one.sign_seconds is not None:
        yield from _signs(onset, end, one.sign_seconds)
    yield end, _event(name, "CANCELLED", end, one.run.nodes)


def _signs(onset: int, end: int, after: float) -> Iterator[tuple[int, Landing]]:
    time = onset + int(after * MICROSECONDS_PER_SECOND)
    while time < end:
        whole = _whole(time)
        yield whole, Sample(source=_SIGN, metric=_SIGN, value=1.0, event_time=whole)
        time += SCRAPE_SECONDS * MICROSECONDS_PER_SECOND


def _whole(time: int) -> int:
    """The first whole second at or after a time: a service looks once a second."""
    return -(-time // MICROSECONDS_PER_SECOND) * MICROSECONDS_PER_SECOND


def _sign(one: Play, begin: int, sample: Sample) -> Sign:
    since = begin + one.onset + math.ceil(one.sign_seconds or 0.0)
    return Sign(
        source=_SIGN,
        health=Health.UNHEALTHY,
        since=since * MICROSECONDS_PER_SECOND,
        event_time=sample.event_time or 0,
        reason="nothing works on any node",
    )


def _broken(name: str, time: int) -> SourceStatus:
    return SourceStatus(
        source=log_source(name, "run.out"),
        cluster=CLUSTER,
        event_time=time,
        observed_at=time,
        status=Health.UNHEALTHY,
        reason="stale file handle",
    )


def _event(
    name: str, state: str, time: int, count: int, nodes: tuple[str, ...] = ()
) -> SchedulerEvent:
    return SchedulerEvent(
        source="played",
        cluster=CLUSTER,
        event_time=time,
        observed_at=time,
        attempt=name,
        state=state,
        user=USER,
        num_nodes=count,
        nodes=nodes,
        name="played",
    )
