"""One attempt being watched: lines and scheduler facts in, Advice out, by the clock of the ticks.

Nothing here reads a clock or a file. A live run and the replay of its landed events feed the same
calls in the same order, and so they write the same Advice (DESIGN 4).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from relume.advice import Advice, Mode, Operation
from relume.events import Sample
from relume.identity import AttemptId
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.episode import (
    ADVANCES_TO_RECOVER,
    SchedulerFacts,
)
from relume.models.diagnosis.settings import DiagnosisSettings
from relume.models.family.attempt import AttemptGaps, FamilyKey
from relume.models.family.prior import Family
from relume.models.hang.settings import HangSettings
from relume.models.hang.signs import Sign
from relume.models.lemons.quarantine import QuarantineSettings
from relume.models.policy.decide import decide
from relume.models.policy.fingerprint import fingerprint
from relume.models.policy.guards import blast_radius
from relume.models.policy.policy import Policy
from relume.models.policy.record import to_advice
from relume.models.policy.view import (
    Decision,
    JobWishes,
    PastAttempt,
    PolicyView,
    Surroundings,
)
from relume.models.straggler.settings import StragglerSettings
from relume.models.templates.history import TemplateHistory
from relume.reasons import Reason, ReasonCode
from relume.serve.analysis import AttemptAnalysis
from relume.serve.live.history import RunKey
from relume.serve.live.jobfacts import JobFacts
from relume.serve.live.measured import Measured
from relume.serve.live.naming import log_source
from relume.serve.live.pace import Pace
from relume.serve.live.silence import NO_CAPTURE, Silence
from relume.serve.progress import Progress
from relume.verdict import JOB_STREAMS, Domain, Kind, Locator, Retry, Verdict

if TYPE_CHECKING:
    from relume.models.hang.detector import HangDetector
    from relume.models.straggler.detector import StragglerDetector

log = logging.getLogger(__name__)
Around: TypeAlias = Callable[[], Surroundings]
"""Tells what goes on around an attempt."""
MICROSECONDS = 1_000_000
SETTLE_SECONDS = 10.0
"""After the first sign of a failure more evidence is waited for, at most so long (DESIGN 5)."""
_NO_FAULT = frozenset({"PREEMPTED", "CANCELLED", "REVOKED", "COMPLETED", "TIMEOUT", "DEADLINE"})
"""Ends that say nothing of what a job runs on."""
_DECIDED = frozenset({Kind.CRASH, Kind.HANG})
_ENDING = frozenset({Operation.RESTART, Operation.RESTART_EXCLUDING, Operation.STOP})
"""Operations that end an attempt which runs on."""
_NO_FINDING: dict[str, Any] = {
    "kind": Kind.UNKNOWN,
    "cause": None,
    "domain": Domain.UNKNOWN,
    "root_line": None,
    "root_file": None,
    "culprit": Locator(),
    "retry": Retry.UNCLEAR,
    "operation": Operation.OBSERVE,
    "rule": None,
    "exclude_nodes": (),
}
"""The fields of a verdict that names nothing."""
DIAGNOSIS_FAILED = "diagnosis: it failed on this log, see the service's own log"


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
        self.attempt = attempt
        self.run = run or RunKey(attempt.job_key.cluster, None, str(attempt.job_key))
        self.history = history
        self.family_key = FamilyKey(*self.run)
        self.facts: JobFacts | None = None
        self.verdict: Verdict | None = None
        self.last: Advice | None = None
        self.run_nodes: set[str] = set()
        self._analysis = analysis
        self._is_degraded = False
        self._wishes = wishes or JobWishes()
        self._settings = settings or WatchSettings()
        self._silence = Silence(self._settings.hang, family)
        self._measured = Measured()
        self._pace = Pace(
            str(attempt),
            analysis.progress,
            self._settings.straggler,
            suspicions=self._settings.suspects_stragglers,
            conditions=lambda since, now: self._measured.conditions(self.nodes, since, now),
        )
        self._started_at: int | None = None
        self._first_step_at: int | None = None
        self.last_step_at = 0
        self._seen_steps = 0
        self._first_sign: int | None = None
        self._steps_at_sign = 0
        self._refuted: set[tuple[object, ...]] = set()
        self._blind: set[str] = set()
        self._end_seen: int | None = None
        self._looked: Verdict | None = None
        self._hand: str | None = None
        self.landed = False
        self.is_held = False
        self.is_settled_for_good = False
        self.ended_at: int | None = None

    def start(self, event_time: int) -> None:
        """Take the start of the attempt (UTC microseconds)."""
        self._silence.start(event_time)
        self._started_at = event_time

    def feed(self, block: Block, parser: LineParser, event_time: int) -> None:
        """Take lines that were landed by `event_time`; a new step in them ends a silence."""
        try:
            self._analysis.feed(block, parser)
        except Exception:  # a defect of ours must not cost the job its Advice
            log.exception("%s: diagnosis failed on %s", self.attempt, block.file)
            self._is_degraded = True
        steps = self._analysis.progress.new_steps - self._seen_steps
        if steps and log_source(str(self.attempt), block.file) in self._blind:
            self._steps_at_sign += steps  # read late: nobody knows that they came after a sign
        self._seen_steps = self._analysis.progress.new_steps
        self._silence.note_lines(self._analysis.progress, steps, event_time)
        if steps:
            self._first_step_at = self._first_step_at or event_time
            self.last_step_at = event_time
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

    def note_over(self, now: int) -> AttemptGaps | None:
        """Take that it is known at `now`, by the clock of the ticks, that it is over.

        Returns what it leaves to its family, null for one that isn't over.
        """
        if self._is_ended():
            self._silence.note_end(str(self.attempt), now)
        return self._silence.left

    @property
    def nodes(self) -> tuple[str, ...]:
        """Where it runs now; empty when it is over, or nobody knows."""
        return () if self.facts is None or self.facts.ended else self.facts.nodes

    @property
    def left(self) -> AttemptGaps | None:
        """What it leaves to its family; null until it is known to be over."""
        return self._silence.left

    def note_job(self, facts: JobFacts, event_time: int) -> None:
        """Take what the scheduler says; the nodes of a running attempt are remembered."""
        self.facts = facts
        self.run_nodes |= set(facts.nodes)
        self._silence.note_nodes(facts.needed_nodes or len(facts.nodes))
        if facts.ended and self.ended_at is None:
            self.ended_at = event_time
        self._note_scheduler(facts)

    def _note_scheduler(self, facts: JobFacts) -> None:
        """Tell the diagnosis where and when the attempt ran, and its end only when it has come."""
        nodes = tuple(sorted(self.run_nodes))
        if facts.ended:
            said = facts.outcome, facts.exit_code, facts.signal
            told = SchedulerFacts(*said, nodes, self._started_at, self.ended_at)
        else:
            told = SchedulerFacts(nodes=nodes, start=self._started_at)
        self._analysis.note_scheduler(told)

    def note_landed(self) -> None:
        """Take that the logs of the ended attempt were read to their end."""
        self.landed = True

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
        if self.is_held and self._is_ended() and self.landed and self._looked is not None:
            return  # nothing more can come: it only waits
        self._looked = None
        if self.is_settled_for_good:
            return
        if self._is_ended() and self._end_seen is None:
            self._end_seen = event_time
        if not self._is_ended() and not self._blind:
            self._silence.hear(self._measured, len(self.nodes), event_time)
            self._silence.advance(event_time)
        verdict = self._judge()
        if self._is_answered(verdict):
            return
        if self._went_on(verdict):
            self._refuted.add(_identity(verdict))
            verdict = _without_cause(verdict)
        self.verdict = self._looked = verdict

    def decide(self, event_time: int, around: Around = Surroundings) -> Advice | None:
        """Return a new generation of Advice when the mind is made up or changed.

        `around` is asked for what goes on around the attempt, where that matters.
        """
        if self.is_settled_for_good:
            return None
        advice = None if self._looked is None else self._decide(self._looked, event_time, around)
        # It is over and its log is read up: whatever was said just now, or before, stands, but for
        # a hold of many, which ends when what struck them all is over.
        self.is_settled_for_good = self._is_ended() and self.landed and not self.is_held
        return advice

    def _decide(self, verdict: Verdict, event_time: int, around: Around) -> Advice | None:
        is_sign = self._is_sign(verdict)
        if not is_sign and (self.last is None or self.last.operation is Operation.OBSERVE):
            return self._suspect(verdict, event_time)
        if self._first_sign is None or not is_sign:
            self._first_sign = event_time if is_sign else None
            self._steps_at_sign = self._analysis.progress.new_steps
        view = self._view(verdict, settled=self._may_settle(event_time), around=around())
        decision = decide(view, self._settings.policy)
        self.is_held = self._holds(decision, event_time)
        if self.last is not None and not (
            _changes(self.last, decision, view) or self._knows_better(verdict)
        ):
            return None
        return self._decided(decision, view, event_time)

    def _holds(self, decision: Decision, event_time: int) -> bool:
        """Whether it waits for the end of an incident, and its hold has not expired."""
        if not any(guard.name == blast_radius.__name__ for guard in decision.guards):
            return False
        last = self.last
        is_hold = last is not None and last.operation is Operation.HOLD
        return not (is_hold and last is not None and last.expires_at <= event_time)

    @property
    def failing(self) -> Verdict | None:
        """By what it failed, or hangs, as of the last look; null for neither, or nobody's fault."""
        verdict, facts = self._looked, self.facts
        if verdict is None or facts is None or facts.outcome in _NO_FAULT:
            return None
        return verdict if self._is_sign(verdict) else None

    @property
    def has_been_looked_at(self) -> bool:
        """Whether the last look judged it: not, when all is said about it."""
        return self._looked is not None

    @property
    def is_silent(self) -> bool:
        """Whether it runs and is suspiciously silent, or more."""
        return not self._is_ended() and self._silence.is_suspected

    @property
    def hand(self) -> str | None:
        """What a person did about it since it failed, in words; null for nothing known."""
        if self.facts is not None and self.facts.held_by_hand:
            return "the job is held by hand"
        return self._hand

    @property
    def queue_seconds(self) -> float | None:
        """How long it waited for its nodes, the best guess for the next wait; null if unknown."""
        ends = [past.ended_at for past in self.history if past.ended_at is not None]
        began = max([self.attempt.job_key.first_submit_time, *ends])
        known = self.attempt.restart_count == 0 or bool(ends)
        if self._started_at is None or not known or self._started_at < began:
            return None
        return (self._started_at - began) / MICROSECONDS

    @property
    def restart_seconds(self) -> float | None:
        """From its start to its first new step; null where either isn't known."""
        if self._started_at is None or self._first_step_at is None:
            return None
        return max(0, self._first_step_at - self._started_at) / MICROSECONDS

    def _suspect(self, verdict: Verdict, event_time: int) -> Advice | None:
        """Ask for evidence when a silence begins to be suspicious; nothing is done about it."""
        suspected = None if self._is_ended() else self._silence.suspicion(verdict)
        if suspected is None:
            return self._observe_pace(verdict, event_time)
        if not self._wishes.requests:
            missing = (*suspected.missing_evidence, NO_CAPTURE)
            suspected = replace(suspected, missing_evidence=missing)
        view = self._view(suspected, settled=True)
        return self._decided(decide(view, self._settings.policy), view, event_time)

    def _observe_pace(self, verdict: Verdict, event_time: int) -> Advice | None:
        """Say that the job became slow; nothing is done about it while it runs."""
        slow = None if self._is_ended() else self._pace.finding(verdict, event_time)
        if slow is None:
            return None
        self.verdict = slow
        view = self._view(slow, settled=True)
        return self._decided(decide(view, self._settings.policy), view, event_time)

    def _decided(self, decision: Decision, view: PolicyView, event_time: int) -> Advice:
        self.last = to_advice(
            decision,
            view,
            generation=1 if self.last is None else self.last.generation + 1,
            mode=self._settings.mode,
            now=event_time,
        )
        return self.last

    def next_change(self, event_time: int) -> int | None:
        """Return a time up to which ticks change nothing, if nothing is taken in till then.

        `event_time` where something is being waited for; null when nothing is at all.
        """
        is_calm = self.last is None or self.last.operation is Operation.OBSERVE
        waits = self._first_sign is not None or self._pace.has_news
        if self._is_ended() or waits or not is_calm:
            return event_time
        return None if self._blind else self._silence.next_change()

    def adopt(self, advice: Advice) -> None:
        """Take what the ledger holds as the newest word; further generations follow it."""
        if self.last is None or advice.generation >= self.last.generation:
            self.last = advice

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
        return self._analysis.progress

    @property
    def steps(self) -> tuple[int | None, int | None]:
        """The first and the last step it showed, null for none."""
        return self._analysis.progress.first_step, self._analysis.progress.last_step

    @property
    def has_new_progress(self) -> bool:
        """Whether it came further than every attempt of its run before."""
        before = [past.last_step for past in self.history if past.last_step is not None]
        last = self._analysis.progress.last_step
        if last is None or not before:
            return self._analysis.progress.new_steps > 0
        return last > max(before)

    def full_verdict(self) -> Verdict:
        """Return the verdict on everything seen, stragglers and numeric troubles included."""
        try:
            return self._analysis.verdict(self._settings.diagnosis)
        except Exception:
            log.exception("%s: diagnosis failed", self.attempt)
            return self._failed_diagnosis()

    def shown_verdict(self) -> Verdict | None:
        """Return the present verdict with its unrecognised lines; null before there is one."""
        try:
            return None if self.verdict is None else self._analysis.with_lines(self.verdict)
        except Exception:
            log.exception("%s: no lines to show", self.attempt)
            return self.verdict

    def teach(self, history: TemplateHistory) -> bool:
        """Take what the attempt printed into `history`, if it ended well; say whether it did."""
        try:
            return self._analysis.teach(history, self._settings.diagnosis)
        except Exception:
            log.exception("%s: nothing learned", self.attempt)
            return False

    def outcome(self) -> PastAttempt:
        """How this attempt ended, for the decisions about the next ones."""
        verdict = self.verdict
        failed = verdict is not None and (verdict.kind in _DECIDED or self._is_failed())
        name = fingerprint(verdict) if verdict is not None and failed else None
        return PastAttempt(self.attempt.restart_count, name, *self.steps, self.ended_at)

    def _judge(self) -> Verdict:
        verdict = self._diagnose()
        if _identity(verdict) in self._refuted:
            verdict = _without_cause(verdict)
        return verdict if verdict.kind in _DECIDED else self._silence.hang(verdict)

    def _diagnose(self) -> Verdict:
        """Return the verdict on the logs; where our own code fails, Slurm's word is left."""
        if not self._is_degraded:
            try:
                knows = self._is_ended() or self._silence.is_hang
                if not (knows or self._analysis.shows_failure()):
                    return Verdict(attempt=str(self.attempt), confidence=0.0, **_NO_FINDING)
                # Nothing is done yet about slow jobs that run: that they are slow may wait.
                return self._analysis.verdict(self._settings.diagnosis, pace=self._is_ended())
            except Exception:
                log.exception("%s: diagnosis failed", self.attempt)
                self._is_degraded = True
        return self._failed_diagnosis()

    def _failed_diagnosis(self) -> Verdict:
        name, missing = str(self.attempt), (DIAGNOSIS_FAILED,)
        return Verdict(attempt=name, confidence=0.0, missing_evidence=missing, **_NO_FINDING)

    def _is_sign(self, verdict: Verdict) -> bool:
        """Whether there is anything to decide about: what the scheduler decided is no failure."""
        if verdict.domain is Domain.SCHEDULER and not self._wishes.restart_on_time_limit:
            return False
        ended_badly = self.facts is not None and self.facts.ended_badly
        return verdict.kind in _DECIDED or ended_badly

    def _went_on(self, verdict: Verdict) -> bool:
        """Whether steps came after the first sign of a crash: by the order in which they landed.

        It holds over all files and streams, with clocks or without.
        """
        steps = self._analysis.progress.new_steps - self._steps_at_sign
        is_crash = verdict.kind is Kind.CRASH and not self._is_ended()
        return is_crash and self._first_sign is not None and steps >= ADVANCES_TO_RECOVER

    def _knows_better(self, verdict: Verdict) -> bool:
        """Whether the end of the log, which was waited for in vain before, says another cause."""
        last = self.last
        differs = last is not None and (last.rule, last.cause) != (verdict.rule, verdict.cause)
        return differs and self._is_ended() and self.landed

    def _is_answered(self, verdict: Verdict) -> bool:
        """Whether it ended as was advised: what its log says of that end is no other finding.

        Who ended it, and whether the Advice is still worth carrying out, the controller sees.
        """
        advised = self.last is not None and self.last.settled and self.last.operation in _ENDING
        return advised and verdict.domain is Domain.SCHEDULER

    def _is_ended(self) -> bool:
        return self.facts is not None and self.facts.ended

    def _is_failed(self) -> bool:
        return self.facts is not None and self.facts.ended_badly

    def _may_settle(self, event_time: int) -> bool:
        """While the attempt runs, a failure line alone never settles: it must have gone quiet too.

        Programs print failures that they get over, and the next step may just take its time.
        """
        waited = self._waited(event_time)
        if self._is_ended():
            return self.landed or waited
        if self.last is not None and self._first_sign is None:
            return True  # taken back
        return waited and (self._silence.is_hang or self._silence.is_quiet(event_time))

    def _waited(self, event_time: int) -> bool:
        """Whether the first sign, and an end that came after it, have had their time to settle."""
        since = max(self._first_sign or event_time, self._end_seen or 0)
        return event_time - since >= self._settings.settle_seconds * MICROSECONDS

    def _view(
        self, verdict: Verdict, *, settled: bool, around: Surroundings | None = None
    ) -> PolicyView:
        facts = self.facts or JobFacts(state="UNKNOWN")
        return PolicyView(
            attempt=self.attempt,
            verdict=verdict,
            history=self.history,
            last_step=self._analysis.progress.last_step,
            settled=settled,
            ended=facts.ended,
            scheduler_state=facts.outcome,
            run_nodes=tuple(sorted(self.run_nodes)),
            excluded_by_user=facts.excluded_by_user,
            required_nodes=facts.required_nodes,
            needed_nodes=facts.needed_nodes,
            wishes=self._wishes,
            around=around or Surroundings(),
        )


def _identity(verdict: Verdict) -> tuple[object, ...]:
    """What tells two findings apart."""
    return verdict.kind, verdict.rule, verdict.cause, verdict.root_file, verdict.root_line


def _without_cause(verdict: Verdict) -> Verdict:
    """Return the verdict without a finding that the job got over."""
    reasons = (*verdict.reasons, Reason(ReasonCode.NEW_STEPS))
    return replace(verdict, confidence=0.3, reasons=reasons, **_NO_FINDING)


def _changes(last: Advice, decision: Decision, view: PolicyView) -> bool:
    """Whether a decision is a new generation: settled at last, or another operation or nodes."""
    if view.settled and not last.settled:
        return True
    operation = decision.operation
    if operation is Operation.RESTART_EXCLUDING and not view.settled:
        operation = Operation.RESTART
    nodes = decision.exclude_nodes if view.settled else ()
    return (last.operation, last.exclude_nodes) != (operation, nodes)
