"""One attempt being watched: lines and scheduler facts in, Advice out, by the clock of the ticks.

Nothing here reads a clock or a file. A live run and the replay of its landed events feed the same
calls in the same order, and so they write the same Advice (DESIGN 4).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from relume.advice import Advice, Mode, Operation
from relume.identity import AttemptId
from relume.ingest.blocks import Block
from relume.ingest.loglines import LineParser
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.hang.gap import GapDetector, HangDetection, Level
from relume.models.policy.decide import CONFIRMED_HANG_RULE, decide
from relume.models.policy.fingerprint import fingerprint
from relume.models.policy.record import to_advice
from relume.models.policy.view import Decision, JobWishes, PastAttempt, Policy, PolicyView
from relume.serve.analysis import AttemptAnalysis
from relume.verdict import Domain, Kind, Retry, Verdict

MICROSECONDS = 1_000_000
SETTLE_SECONDS = 10.0
"""After the first sign of a failure more evidence is waited for, at most so long (DESIGN 5)."""
_FAILED_STATES = frozenset(
    {"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "BOOT_FAIL", "SPECIAL_EXIT"}
)
_DECIDED = frozenset({Kind.CRASH, Kind.HANG})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """What the scheduler says of the attempt at one moment; nulls are unknown."""

    state: str
    nodes: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    excluded_by_user: tuple[str, ...] = ()
    required_nodes: tuple[str, ...] = ()
    needed_nodes: int | None = None
    placeable_nodes: int | None = None
    ended: bool = False


@dataclass(slots=True, kw_only=True)
class WatchSettings:
    """How decisions are made: the policy, the mode, and how long a first sign is left to settle."""

    policy: Policy = field(default_factory=Policy)
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
    history
        How the earlier attempts of its run ended.
    wishes
        What its job's comment asks for, clamped by the site.
    """

    def __init__(
        self,
        attempt: AttemptId,
        analysis: AttemptAnalysis,
        *,
        history: tuple[PastAttempt, ...] = (),
        wishes: JobWishes | None = None,
        settings: WatchSettings | None = None,
    ) -> None:
        self.attempt = attempt
        self.history = history
        self.facts: JobFacts | None = None
        self.verdict: Verdict | None = None
        self.last: Advice | None = None
        self.run_nodes: set[str] = set()
        self._analysis = analysis
        self._wishes = wishes or JobWishes()
        self._settings = settings or WatchSettings()
        self._gaps = GapDetector()
        self._hang: HangDetection | None = None
        self._seen_steps = 0
        self._first_sign: int | None = None
        self._landed = False

    def start(self, event_time: int) -> None:
        """Take the start of the attempt (UTC microseconds)."""
        self._gaps.start(event_time)

    def feed(self, block: Block, parser: LineParser, event_time: int) -> None:
        """Take lines that were landed by `event_time`; a new step in them ends a silence."""
        self._analysis.feed(block, parser)
        if self._analysis.new_steps > self._seen_steps:
            self._seen_steps = self._analysis.new_steps
            self._gaps.progress(event_time, "train")
            self._hang = None

    def note_job(self, facts: JobFacts) -> None:
        """Take what the scheduler says; the nodes of a running attempt are remembered."""
        self.facts = facts
        self.run_nodes |= set(facts.nodes)
        if facts.ended:
            self._analysis.note_scheduler(
                SchedulerFacts(facts.state, facts.exit_code, facts.signal, facts.nodes)
            )

    def note_landed(self) -> None:
        """Take that the logs of the ended attempt were read to their end."""
        self._landed = True

    def advance(self, event_time: int) -> Advice | None:
        """Take the clock; return a new generation of Advice when the mind is made up or changed."""
        if self._is_settled_for_good():
            return None
        for detection in self._gaps.advance(event_time) if not self._is_ended() else ():
            self._hang = detection
        verdict = self._judge()
        if not self._is_sign(verdict):
            return None
        self.verdict = verdict
        if self._first_sign is None:
            self._first_sign = event_time
        view = self._view(verdict, settled=self._may_settle(event_time))
        decision = decide(view, self._settings.policy)
        if self.last is not None and not _changes(self.last, decision, view):
            return None
        self.last = to_advice(
            decision,
            view,
            generation=1 if self.last is None else self.last.generation + 1,
            mode=self._settings.mode,
            now=event_time,
        )
        return self.last

    def outcome(self) -> PastAttempt:
        """How this attempt ended, for the decisions about the next ones."""
        name = fingerprint(self.verdict) if self.verdict is not None else None
        count = self.attempt.restart_count
        return PastAttempt(count, name, self._analysis.first_step, self._analysis.last_step)

    def _judge(self) -> Verdict:
        verdict = self._analysis.verdict()
        hang = self._hang
        if verdict.kind in _DECIDED or hang is None or hang.level is not Level.ACTIONABLE:
            return verdict
        return replace(
            verdict,
            kind=Kind.HANG,
            cause="no_progress",
            domain=Domain.UNKNOWN,
            retry=Retry.YES,
            rule=CONFIRMED_HANG_RULE,
            confidence=0.9,
            why=(*verdict.why, hang.reason),
        )

    def _is_sign(self, verdict: Verdict) -> bool:
        """Whether there is anything to decide about: what the scheduler decided is no failure."""
        if verdict.domain is Domain.SCHEDULER and not self._wishes.restart_on_time_limit:
            return False
        ended_badly = self.facts is not None and self.facts.state in _FAILED_STATES
        return verdict.kind in _DECIDED or (self._is_ended() and ended_badly)

    def _is_ended(self) -> bool:
        return self.facts is not None and self.facts.ended

    def _may_settle(self, event_time: int) -> bool:
        if self._is_ended():
            return self._landed or self._waited(event_time)
        return self._waited(event_time)

    def _waited(self, event_time: int) -> bool:
        waited = event_time - (event_time if self._first_sign is None else self._first_sign)
        return waited >= self._settings.settle_seconds * MICROSECONDS

    def _is_settled_for_good(self) -> bool:
        """Whether all has been said: the attempt is over, its log read, the Advice settled."""
        return self.last is not None and self.last.settled and self._is_ended() and self._landed

    def _view(self, verdict: Verdict, *, settled: bool) -> PolicyView:
        facts = self.facts or JobFacts(state="UNKNOWN")
        return PolicyView(
            attempt=self.attempt,
            verdict=verdict,
            history=self.history,
            last_step=self._analysis.last_step,
            settled=settled,
            ended=facts.ended,
            scheduler_state=facts.state,
            run_nodes=tuple(sorted(self.run_nodes)),
            excluded_by_user=facts.excluded_by_user,
            required_nodes=facts.required_nodes,
            needed_nodes=facts.needed_nodes,
            placeable_nodes=facts.placeable_nodes,
            wishes=self._wishes,
        )


def _changes(last: Advice, decision: Decision, view: PolicyView) -> bool:
    """Whether a decision is a new generation: settled at last, or another operation or nodes."""
    if view.settled and not last.settled:
        return True
    operation = decision.operation
    if operation is Operation.RESTART_EXCLUDING and not view.settled:
        operation = Operation.RESTART
    nodes = decision.exclude_nodes if view.settled else ()
    return (last.operation, last.exclude_nodes) != (operation, nodes)
