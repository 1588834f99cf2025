"""Looks at the detectors of one attempt while it is replayed. It only looks."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Final

from relume.advice import Advice
from relume.events import Tick
from relume.ingest.lake.batches import Landing
from relume.models.hang.detector import HangDetector, Level
from relume.models.hang.known import LAUNCH, MICROSECONDS
from relume.models.hang.patience import Thresholds
from relume.models.straggler.detector import Slowdown, StragglerDetector
from relume.serve.explain.spread import Course, Spread
from relume.serve.live.judge import Judge
from relume.serve.live.watch import AttemptWatch

MAX_SILENCES: Final = 10
"""Silences that are told of one by one: those that came furthest."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence, how long it might have been, and what came of it. UTC microseconds, seconds.

    `level` is what was told of it, null for nothing. `ended` is whether a step ended it: else the
    attempt, or its recording, did.
    """

    since: int
    seconds: float
    phase: str
    limits: Thresholds
    level: Level | None
    ended: bool

    @property
    def rank(self) -> tuple[bool, float, int]:
        """How far it came: what was called a hang first, then by its share of a suspicion."""
        share = self.seconds / max(1.0, self.limits.suspicion_seconds)
        return self.level is Level.ACTIONABLE, share, -self.since


@dataclass(slots=True)
class Stream:
    """The pace of one regime.

    Its steps, what is usual (null before it is known), and the most evidence of a slowdown there
    ever was, as a share of what is an alarm.
    """

    steps: int = 0
    usual: float | None = None
    is_calibrated: bool = False
    evidence: float = 0.0


@dataclass(slots=True)
class Recorder:
    """What was seen of one attempt. Bounded.

    Attributes
    ----------
    attempt
        Which.
    phases
        Silences that ended, by the phase in which they began.
    silences
        Those that came furthest.
    gaps, paces
        Silences, and times of steps, over time.
    limits
        How long the last silence might have been; null for an attempt that was never watched.
    relatives
        Attempts of its family that it knew of.
    streams
        The pace, by regime.
    slowdown
        The last slowdown, null for none.
    advice
        What was advised.
    calibration
        Steps that calibrate the mode that keeps a budget.
    unread
        How often nobody could tell when its lines came, or they could not be read.
    """

    attempt: str
    phases: dict[str, Spread] = field(default_factory=dict)
    silences: list[Silence] = field(default_factory=list)
    gaps: Course = field(default_factory=Course)
    paces: Course = field(default_factory=Course)
    limits: Thresholds | None = None
    relatives: int = 0
    streams: dict[str, Stream] = field(default_factory=dict)
    slowdown: Slowdown | None = None
    advice: list[Advice] = field(default_factory=list)
    calibration: int = 0
    unread: int = 0
    _now: int | None = None
    _since: int | None = None
    _lines: int = 0
    _phase: str = LAUNCH
    _level: Level | None = None
    _key: tuple[str, int] | None = None
    _watch: AttemptWatch | None = None
    _is_lost: bool = False

    def look(self, judge: Judge, landing: Landing) -> None:
        """Look at the attempt before something lands."""
        watch = judge.watches.get(self.attempt)
        if watch is None or _is_over(watch):
            return
        self._watch = watch
        if not watch.is_read:  # what isn't read is no silence
            self.unread += not self._is_lost
            self._is_lost = True
        else:
            self._look_at(watch)
            if isinstance(landing, Tick):
                self._now = landing.event_time

    def _look_at(self, watch: AttemptWatch) -> None:
        hang, straggler = watch.detectors
        self._look_at_silence(hang)
        if straggler is not None:
            self._look_at_pace(straggler)

    def finish(self) -> None:
        """Take that it is over: the silence that goes on is one that no step ended."""
        if self._watch is not None and self._watch.is_read and not _is_over(self._watch):
            self._look_at(self._watch)  # what the last landing changed
        if self._since is not None and self._now is not None and self._now > self._since:
            self._note((self._now - self._since) / MICROSECONDS, ended=False)
        self.silences = heapq.nlargest(MAX_SILENCES, self.silences, key=lambda one: one.rank)

    def _look_at_silence(self, detector: HangDetector) -> None:
        known = detector.known
        since, lines = known.silent_since, known.lines
        self.relatives = len(detector.family.members)
        if since is None:
            return
        if self._is_lost or (since != self._since and lines == self._lines):
            self._excuse()
        if (since, lines) != (self._since, self._lines):
            if self._since is not None and lines > self._lines:
                self._note((since - self._since) / MICROSECONDS, ended=True)
            self._since, self._lines, self._level, self._key = since, lines, None, None
        key = known.phase, detector.refuted
        if key != self._key:  # nothing else changes it while the silence lasts
            self._key, self._phase, self.limits = key, known.phase, detector.thresholds()
        self._level = detector.reported or self._level

    def _excuse(self) -> None:
        """Take that nobody looked till now: only what was told of a silence before stays."""
        if self._level is not None and self._since is not None and self._now is not None:
            self._note((self._now - self._since) / MICROSECONDS, ended=False)
        self._since, self._level, self._is_lost = None, None, False

    def _note(self, seconds: float, *, ended: bool) -> None:
        if self.limits is None or self._since is None:
            return
        found = Silence(self._since, seconds, self._phase, self.limits, self._level, ended)
        if ended:
            self.phases.setdefault(self._phase, Spread()).add(seconds)
        self.gaps.add(self._since, seconds)
        self.silences.append(found)
        if len(self.silences) > 2 * MAX_SILENCES:
            self.silences = heapq.nlargest(MAX_SILENCES, self.silences, key=lambda one: one.rank)

    def _look_at_pace(self, detector: StragglerDetector) -> None:
        self.calibration = detector.settings.calibration
        for name, stream in zip(detector.regimes, detector.streams, strict=True):
            seen = self.streams.setdefault(name, Stream())
            if stream.count != seen.steps and stream.last is not None and self._now is not None:
                self.paces.add(self._now, stream.last)
            seen.steps, seen.usual = stream.count, stream.usual
            seen.is_calibrated = stream.is_guaranteed
            seen.evidence = max(seen.evidence, stream.evidence)
        self.slowdown = detector.slowdown or self.slowdown


def _is_over(watch: AttemptWatch) -> bool:
    return watch.facts is not None and watch.facts.ended
