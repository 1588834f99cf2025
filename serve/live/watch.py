"""One attempt being watched: lines and scheduler facts in, Advice out, by the clock of the ticks.

Nothing here reads a clock or a file. A live run and the replay of its landed events feed the same
calls in the same order, and so they write the same Advice (DESIGN 4).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from relume.advice import Advice, Mode
from relume.events import CollectiveDump, Sample
from relume.identity import AttemptId
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.family.attempt import AttemptGaps, FamilyKey
from relume.models.family.prior import Family
from relume.models.hang.settings import HangSettings
from relume.models.hang.signs import Sign
from relume.models.lemons.quarantine import QuarantineSettings
from relume.models.policy.fingerprint import fingerprint
from relume.models.policy.policy import Policy
from relume.models.policy.view import JobWishes, PastAttempt, Surroundings
from relume.models.straggler.settings import StragglerSettings
from relume.models.templates.history import TemplateHistory
from relume.serve.analysis import AttemptAnalysis
from relume.serve.live.course import Course
from relume.serve.live.history import RunKey
from relume.serve.live.jobfacts import JobFacts
from relume.serve.live.measured import Heard, Measured, NodeConditions
from relume.serve.live.mind import DECIDED, Around, Mind
from relume.serve.live.naming import log_source
from relume.serve.live.pace import Pace
from relume.serve.live.silence import NO_CAPTURE, Silence
from relume.serve.live.verdicts import Verdicts, identity, without_cause
from relume.serve.progress import Progress
from relume.verdict import JOB_STREAMS, Verdict

if TYPE_CHECKING:
    from relume.models.hang.detector import HangDetector
    from relume.models.straggler.detector import StragglerDetector

FOREVER = 2**63 - 1
"""Later than any time in microseconds."""
SETTLE_SECONDS = 10.0
"""After the first sign of a failure more evidence is waited for, at most so long (DESIGN 5)."""
_NO_FAULT = frozenset({"PREEMPTED", "CANCELLED", "REVOKED", "COMPLETED", "TIMEOUT", "DEADLINE"})
"""Ends that say nothing of what a job runs on."""


@dataclass(slots=True, kw_only=True)
class WatchSettings:
    """How decisions are made.

    The policy, thresholds of the diagnosis, of hangs and of the quarantine of nodes, the mode, and
    how long a first sign is left to settle.
    """

    policy: Policy = field(default_factory=Policy)
    diagnosis: DiagnosisSettings = field(default_factory=DiagnosisSettings)
    hang: HangSettings = field(default_factory=HangSettings.of_budget)
    straggler: StragglerSettings = field(default_factory=StragglerSettings)
    suspects_stragglers: bool = False
    quarantine: QuarantineSettings = field(
        default_factory=partial(QuarantineSettings, min_faults=2)
    )
    mode: Mode = Mode.MONITOR
    settle_seconds: float = SETTLE_SECONDS


class AttemptWatch:
    """The evidence and the decisions of one attempt. Bounded state; not thread-safe.

    Parameters
    ----------
    attempt
        Which attempt.
    analysis
        Where its log lines are collected.
    run
        Whose attempt it is; a run of its own when null.
    history
        How the earlier attempts of its run ended.
    wishes
        What its job's comment asks for, clamped by the site.
    family
        How long attempts of the same job that ended before it began were silent.
    """

    def __init__(  # noqa: PLR0913 - what is known beforehand, each by its name
        self,
        attempt: AttemptId,
        analysis: AttemptAnalysis,
        *,
        run: RunKey | None = None,
        history: tuple[PastAttempt, ...] = (),
        wishes: JobWishes | None = None,
        settings: WatchSettings | None = None,
        family: Family | None = None,
    ) -> None:
        known = settings or WatchSettings()
        self.attempt, self.name = attempt, str(attempt)
        self.run = run or RunKey(attempt.job_key.cluster, None, str(attempt.job_key))
        self.family_key = FamilyKey(*self.run)
        self.course = Course(attempt, history)
        self.verdict: Verdict | None = None
        self._wishes = wishes or JobWishes()
        self._verdicts = Verdicts(self.name, analysis, known.diagnosis)
        self._silence = Silence(known.hang, family)
        self._measured = Measured()
        self._pace = Pace(
            self.name,
            self.progress,
            known.straggler,
            suspicions=known.suspects_stragglers,
            conditions=NodeConditions(self.course, self._measured),
        )
        self._mind = Mind(
            self.course,
            self.progress,
            self._silence,
            wishes=self._wishes,
            policy=known.policy,
            mode=known.mode,
            settle_seconds=known.settle_seconds,
        )
        self._seen_steps = 0
        self._refuted: set[tuple[object, ...]] = set()
        self._blind: set[str] = set()
        self._looked: Verdict | None = None
        self._hand: str | None = None
        self.is_settled_for_good = False

    def start(self, event_time: int) -> None:
        """Take the start of the attempt (UTC microseconds)."""
        self._silence.start(event_time)
        self.course.started_at = event_time

    def feed(self, block: Block, parser: LineParser, event_time: int) -> None:
        """Take lines that were landed by `event_time`; a new step in them ends a silence."""
        self._verdicts.feed(block, parser)
        steps = self.progress.new_steps - self._seen_steps
        if log_source(self.name, block.file) in self._blind:
            self._mind.note_late(steps)
        self._seen_steps = self.progress.new_steps
        self._silence.note_lines(self.progress, steps, event_time)
        if steps:
            self.course.note_step(event_time)
            self._measured.note_progress(event_time)
        self._pace.note_lines(event_time)
        if not steps and parser.stream in JOB_STREAMS:
            self._silence.note_other_lines(block, event_time)

    def note_source(self, source: str, *, healthy: bool, event_time: int) -> None:
        """Take the health of one of the attempt's logs: what isn't read is no silence."""
        if not healthy:
            self._blind.add(source)
        elif source in self._blind:
            self._blind.discard(source)
            self.excuse(event_time)

    def excuse(self, event_time: int) -> None:
        """Take that nobody looked at the attempt until now."""
        self._silence.excuse(event_time)

    def note_sign(self, sign: Sign) -> None:
        """Take what another source than its logs says about whether it works."""
        self._silence.note_sign(sign)

    def note_sample(self, sample: Sample, now: int) -> None:
        """Take a metric of a node that the attempt has for itself, as of `now`.

        It can only agree with a silence that is suspected, or show that the job works.
        """
        if sample.node in self.run_nodes:
            self._measured.take(sample, now)

    def hear(self, heard: Heard, now: int) -> None:
        """Take many metrics of nodes that the attempt has for itself and runs on, as of `now`."""
        self._measured.hear(heard, now)

    def note_dump(self, dump: CollectiveDump) -> None:
        """Take the flight recorder of one of its ranks."""
        self._verdicts.note_dump(dump)

    def note_over(self, now: int) -> AttemptGaps | None:
        """Take that it is known at `now`, by the clock of the ticks, that it is over.

        Returns what it leaves to its family, null for one that isn't over.
        """
        if self.course.is_over:
            self._silence.note_end(self.name, now)
        return self._silence.left

    def note_job(self, facts: JobFacts, event_time: int) -> None:
        """Take what the scheduler says; the nodes of a running attempt are remembered."""
        self.course.note_job(facts, event_time)
        self._silence.note_nodes(facts.needed_nodes or len(facts.nodes))
        self._verdicts.note_scheduler(self.course.told)

    def note_landed(self) -> None:
        """Take that the logs of the ended attempt were read to their end."""
        self.course.landed = True

    def note_hand(self, words: str) -> None:
        """Take that a person did something about it while it waits for what was advised."""
        if self.failing is not None or self.is_held:
            self._hand = words

    def blames(self, node: str) -> bool:
        """Whether what it fails by is this node's doing."""
        verdict = self.failing
        return verdict is not None and node in (verdict.culprit.node, *verdict.exclude_nodes)

    def look(self, event_time: int) -> None:
        """Take the clock: judge what is known by now; `decide` follows, when all were looked at."""
        course = self.course
        if self.is_held and course.is_over and course.landed and self._looked is not None:
            return  # nothing more can come: it only waits
        self._looked = None
        if self.is_settled_for_good:
            return
        if course.is_over and course.end_seen is None:
            course.end_seen = event_time
        if not course.is_over and not self._blind:
            self._silence.hear(self._measured, len(course.nodes), event_time)
            self._silence.advance(event_time)
        verdict = self._judge()
        if self._mind.is_answered(verdict):
            return
        if self._mind.went_on(verdict):
            self._refuted.add(identity(verdict))
            verdict = without_cause(verdict)
        self.verdict = self._looked = verdict

    def _judge(self) -> Verdict:
        over, hangs = self.course.is_over, self._silence.is_hang
        verdict = self._verdicts.present(is_over=over, is_hang=hangs)
        if identity(verdict) in self._refuted:
            verdict = without_cause(verdict)
        return verdict if verdict.kind in DECIDED else self._silence.hang(verdict)

    def decide(self, event_time: int, around: Around = Surroundings) -> Advice | None:
        """Return a new generation of Advice when the mind is made up or changed.

        `around` is asked for what goes on around the attempt, where that matters.
        """
        if self.is_settled_for_good:
            return None
        advice = None if self._looked is None else self._decide(self._looked, event_time, around)
        # It is over and its log is read up: whatever was said just now, or before, stands, but for
        # a hold of many, which ends when what struck them all is over.
        self.is_settled_for_good = self.course.is_over and self.landed and not self.is_held
        return advice

    def _decide(self, verdict: Verdict, event_time: int, around: Around) -> Advice | None:
        if self._mind.is_sign(verdict) or not self._mind.is_calm:
            return self._mind.decide(verdict, event_time, around)
        return None if self.course.is_over else self._suspect(verdict, event_time)

    def _suspect(self, verdict: Verdict, event_time: int) -> Advice | None:
        """Ask for evidence when a silence begins to be suspicious; nothing is done about it."""
        suspected = self._silence.suspicion(verdict)
        if suspected is None:
            return self._observe_pace(verdict, event_time)
        if not self._wishes.requests:
            missing = (*suspected.missing_evidence, NO_CAPTURE)
            suspected = replace(suspected, missing_evidence=missing)
        return self._mind.say(suspected, event_time)

    def _observe_pace(self, verdict: Verdict, event_time: int) -> Advice | None:
        """Say that the job became slow; nothing is done about it while it runs."""
        slow = self._pace.finding(verdict, event_time)
        if slow is None:
            return None
        self.verdict = slow
        return self._mind.say(slow, event_time)

    @property
    def facts(self) -> JobFacts | None:
        """What the scheduler said last; null before it says anything."""
        return self.course.facts

    @property
    def nodes(self) -> tuple[str, ...]:
        """Where it runs now; empty when it is over, or nobody knows."""
        return self.course.nodes

    @property
    def run_nodes(self) -> set[str]:
        """Where it was at any time."""
        return self.course.run_nodes

    @property
    def ended_at(self) -> int | None:
        """When it ended, by the scheduler; null while it hasn't."""
        return self.course.ended_at

    @property
    def last_step_at(self) -> int:
        """When its newest step landed; 0 before there is one."""
        return self.course.last_step_at

    @property
    def landed(self) -> bool:
        """Whether the logs of the ended attempt were read to their end."""
        return self.course.landed

    @property
    def last(self) -> Advice | None:
        """The newest Advice; null before there is any."""
        return self._mind.last

    @property
    def is_held(self) -> bool:
        """Whether it waits for the end of an incident."""
        return self._mind.is_held

    @property
    def left(self) -> AttemptGaps | None:
        """What it leaves to its family; null until it is known to be over."""
        return self._silence.left

    @property
    def failing(self) -> Verdict | None:
        """By what it failed, or hangs, as of the last look; null for neither, or nobody's fault."""
        verdict, facts = self._looked, self.facts
        if verdict is None or facts is None or facts.outcome in _NO_FAULT:
            return None
        return verdict if self._mind.is_sign(verdict) else None

    @property
    def has_been_looked_at(self) -> bool:
        """Whether the last look judged it: not, when all is said about it."""
        return self._looked is not None

    @property
    def is_silent(self) -> bool:
        """Whether it runs and is suspiciously silent, or more."""
        return not self.course.is_over and self._silence.is_suspected

    @property
    def hand(self) -> str | None:
        """What a person did about it since it failed, in words; null for nothing known."""
        if self.facts is not None and self.facts.held_by_hand:
            return "the job is held by hand"
        return self._hand

    def next_change(self, event_time: int) -> int | None:
        """Return a time up to which ticks change nothing, if nothing is taken in till then.

        `event_time` where something is being waited for; null when nothing is at all.
        """
        if self.course.is_over or self._mind.is_waiting or self._pace.has_news:
            return event_time
        return None if self._blind else self._silence.next_change()

    def quiet_until(self, event_time: int) -> int:
        """Return up to when this needs no look if nothing is taken in: `event_time` for not at all.

        To be asked when it was looked at and decided about.
        """
        looked = self._looked
        is_settled = looked is not None and not self._mind.is_sign(looked) and self._mind.is_calm
        if not is_settled or self.is_silent:
            return event_time
        change = self.next_change(event_time)
        return FOREVER if change is None else change

    @property
    def due_at(self) -> int | None:
        """When what was advised may settle, without anything new; null for never."""
        return self._mind.due_at

    def adopt(self, advice: Advice) -> None:
        """Take what the ledger holds as the newest word; further generations follow it."""
        self._mind.adopt(advice)

    @property
    def is_read(self) -> bool:
        """Whether all of its logs can be read: what isn't read is no silence."""
        return not self._blind

    @property
    def detectors(self) -> tuple[HangDetector, StragglerDetector | None]:
        """Who judges silences and pace, for explanations, which only look."""
        return self._silence.detector, self._pace.detector

    @property
    def progress(self) -> Progress:
        """What its lines say of its progress, for those who only look."""
        return self._verdicts.progress

    @property
    def steps(self) -> tuple[int | None, int | None]:
        """The first and the last step it showed, null for none."""
        return self.progress.first_step, self.progress.last_step

    @property
    def has_new_progress(self) -> bool:
        """Whether it came further than every attempt of its run before."""
        before = [past.last_step for past in self.course.history if past.last_step is not None]
        last = self.progress.last_step
        if last is None or not before:
            return self.progress.new_steps > 0
        return last > max(before)

    def full_verdict(self) -> Verdict:
        """Return the verdict on everything seen, stragglers and numeric troubles included."""
        return self._verdicts.full()

    def shown_verdict(self) -> Verdict | None:
        """Return the present verdict with its unrecognised lines; null before there is one."""
        return None if self.verdict is None else self._verdicts.with_lines(self.verdict)

    def teach(self, history: TemplateHistory) -> bool:
        """Take what the attempt printed into `history`, if it ended well; say whether it did."""
        return self._verdicts.teach(history)

    def outcome(self) -> PastAttempt:
        """How this attempt ended, for the decisions about the next ones."""
        verdict = self.verdict
        failed = verdict is not None and (verdict.kind in DECIDED or self.course.is_failed)
        name = fingerprint(verdict) if verdict is not None and failed else None
        return PastAttempt(self.attempt.restart_count, name, *self.steps, self.ended_at)
