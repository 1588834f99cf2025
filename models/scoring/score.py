"""Scoring of a replay by metrics sections 2 to 6: attempts in, one report out. Pure.

Counts only are kept, so that a replay of any length can be scored while it runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from relume.dataset import Origin
from relume.errors import InputError
from relume.models.scoring.attempt import ScoredAttempt, ScoreSettings
from relume.models.scoring.attribution import Attribution
from relume.models.scoring.detection import DetectionTable
from relume.models.scoring.exposure import Exposure, exposure_of
from relume.models.scoring.intervals import Rate
from relume.models.scoring.latency import LatencyTable
from relume.models.scoring.matching import Matching, group_alarms, match
from relume.models.scoring.scoreboard import Scoreboard
from relume.verdict import Kind


@dataclass(slots=True)
class Counts:
    """How many of what there were.

    Attributes
    ----------
    attempts, labelled, healthy
        All; those with a label; those of them without an incident.
    without_exposure
        Labelled attempts of which nobody knows how long they ran quietly.
    nodes_unknown
        Labelled attempts with a clock whose number of nodes isn't known.
    alarms, unscored_alarms
        Alarms on labelled attempts, and on the others, once each.
    told_by_scheduler
        Alarms on labelled attempts that only repeat the scheduler's word, but for ignored ones.
        They are in no other count.
    deduplicated
        Alarms that only said again what was said within `dedup_seconds`.
    repeats, ignored, transient, transient_missed
        As in `Matching`; incidents without a clock are in none of these.
    without_clock
        Incidents without an onset.
    incidents_by_kind
        Transient ones included.
    """

    attempts: int = 0
    labelled: int = 0
    healthy: int = 0
    without_exposure: int = 0
    nodes_unknown: int = 0
    alarms: int = 0
    unscored_alarms: int = 0
    told_by_scheduler: int = 0
    deduplicated: int = 0
    repeats: int = 0
    ignored: int = 0
    transient: int = 0
    transient_missed: int = 0
    without_clock: int = 0
    incidents_by_kind: Counter[Kind] = field(default_factory=Counter)


@dataclass(slots=True)
class FalseAlarms:
    """False alarms and what they are counted by (metrics section 4).

    Attributes
    ----------
    with_exposure, with_node_exposure
        False alarms on attempts of which it is known how long they ran, and on how many nodes: only
        these make a rate.
    elsewhere
        All others. They count in precision as any does.
    jobs, nodes
        How long jobs and nodes ran.
    incidents
        Incidents of the attempts whose exposure is known: the prevalence beside precision.
    """

    with_exposure: int = 0
    with_node_exposure: int = 0
    elsewhere: int = 0
    jobs: Exposure = field(default_factory=Exposure)
    nodes: Exposure = field(default_factory=Exposure)
    incidents: int = 0

    @property
    def per_job_day(self) -> Rate:
        """False alarms for each quiet job-day."""
        return Rate(self.with_exposure, self.jobs.quiet_days)

    @property
    def per_1000_node_days(self) -> Rate:
        """False alarms for each 1000 quiet node-days."""
        return Rate(self.with_node_exposure, self.nodes.quiet_days / 1000)

    @property
    def incidents_per_job_day(self) -> Rate:
        """Incidents for each job-day, quiet or not."""
        return Rate(self.incidents, self.jobs.days)


@dataclass(slots=True)
class ScoreReport:
    """Everything that was counted; `relume.models.scoring.document` gives its JSON form.

    Attributes
    ----------
    sure
        How sure each alarm was and whether it was true, for its calibration.
    """

    settings: ScoreSettings
    origin: Origin | None = None
    counts: Counts = field(default_factory=Counts)
    detection: DetectionTable = field(default_factory=DetectionTable)
    false_alarms: FalseAlarms = field(default_factory=FalseAlarms)
    latency: LatencyTable = field(default_factory=LatencyTable)
    attribution: Attribution = field(default_factory=Attribution)
    scoreboard: Scoreboard = field(default_factory=Scoreboard)
    sure: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, attempt: ScoredAttempt) -> Matching | None:
        """Score one more attempt and return how it was matched; null for an unlabelled one.

        Raises
        ------
        InputError
            For an attempt of another origin than those before it.
        """
        self._require_origin(attempt)
        self.counts.attempts += 1
        if attempt.incidents is None:
            self.counts.unscored_alarms += len(group_alarms(attempt.alarms, self.settings))
            return None
        matching = match(attempt, self.settings)
        self._count(attempt, matching)
        self._expose(attempt, matching)
        self.detection.add(matching)
        self.latency.add(matching, attempt.end)
        self.attribution.add(matching)
        self.scoreboard.add(matching)
        self.sure += [(one.alarm.first.confidence, True) for one in matching.found]
        self.sure += [(one.first.confidence, False) for one in matching.false_alarms]
        return matching

    def _require_origin(self, attempt: ScoredAttempt) -> None:
        if self.origin not in {None, attempt.origin}:
            raise InputError(
                f"attempt {attempt.attempt}",
                found=f"origin {attempt.origin.value} beside {self.origin}",
                expected="one origin: recorded, simulated and production results are never pooled",
                hint="score each data set by itself",
            )
        self.origin = attempt.origin

    def _count(self, attempt: ScoredAttempt, matching: Matching) -> None:
        counts, incidents = self.counts, attempt.incidents or ()
        counts.labelled += 1
        counts.healthy += not incidents
        counts.incidents_by_kind.update(one.kind for one in incidents)
        counts.without_clock += sum(one.onset is None for one in incidents)
        found = (*matching.found, *matching.transient)
        repeats = [group for one in found for group in one.repeats]
        groups = [one.alarm for one in found] + repeats
        groups += [*matching.false_alarms, *matching.ignored]
        told = [group for one in found for group in one.told]
        told += [group for one in matching.told for group in one.groups]
        counts.told_by_scheduler += len(told)
        counts.alarms += len(groups)
        counts.deduplicated += sum(len(group.alarms) - 1 for group in groups)
        counts.repeats += len(repeats)
        counts.ignored += len(matching.ignored)
        counts.transient += len(matching.transient) + len(matching.transient_missed)
        counts.transient_missed += len(matching.transient_missed)

    def _expose(self, attempt: ScoredAttempt, matching: Matching) -> None:
        false, made_up = self.false_alarms, len(matching.false_alarms)
        exposure = exposure_of(attempt, self.settings)
        if exposure is None:
            self.counts.without_exposure += 1
            false.elsewhere += made_up
            return
        false.with_exposure += made_up
        false.incidents += len(attempt.incidents or ())
        false.jobs.add(exposure)
        if attempt.nodes is None:
            self.counts.nodes_unknown += 1
            return
        false.with_node_exposure += made_up
        false.nodes.add(exposure, attempt.nodes)


def score(attempts: Iterable[ScoredAttempt], settings: ScoreSettings | None = None) -> ScoreReport:
    """Score attempts, one after the other, in any order.

    Raises
    ------
    InputError
        When their origins differ.

    Examples
    --------
    >>> from relume.dataset import Incident
    >>> from relume.models.scoring.alarm import Alarm
    >>> crash = Incident(incident_id="1", attempt="lab/1@0.0", kind=Kind.CRASH, onset=5_000_000)
    >>> report = score(
    ...     [
    ...         ScoredAttempt(
    ...             attempt="lab/1@0.0",
    ...             title="first",
    ...             start=0,
    ...             end=9_000_000,
    ...             incidents=(crash,),
    ...             alarms=(Alarm(attempt="lab/1@0.0", kind=Kind.CRASH, time=8_000_000),),
    ...         )
    ...     ]
    ... )
    >>> report.detection.all.recall, report.latency.by_kind[Kind.CRASH].detect
    (Proportion(right=1, total=1), [3.0])
    """
    report = ScoreReport(settings or ScoreSettings())
    for attempt in attempts:
        report.add(attempt)
    return report
