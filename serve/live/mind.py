"""From the verdicts on one attempt to its Advice: when a mind is made up, and when it changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from relume.advice import ENDING, Advice, Mode, Operation
from relume.clock import MICROSECONDS_PER_SECOND
from relume.models.diagnosis.episode import ADVANCES_TO_RECOVER
from relume.models.policy.decide import decide
from relume.models.policy.guards import blast_radius
from relume.models.policy.policy import Policy
from relume.models.policy.record import to_advice
from relume.models.policy.view import Decision, JobWishes, PolicyView, Surroundings
from relume.serve.live.course import Course
from relume.serve.live.jobfacts import JobFacts
from relume.serve.live.silence import Silence
from relume.serve.progress import Progress
from relume.verdict import Domain, Kind, Verdict

Around: TypeAlias = Callable[[], Surroundings]
"""Tells what goes on around an attempt."""
DECIDED = frozenset({Kind.CRASH, Kind.HANG})
"""Kinds of findings that something is decided about."""


class Mind:
    """What was advised about one attempt, and what is waited for. Bounded state.

    Parameters
    ----------
    course, progress, silence
        What else is known of the attempt; only looked at.
    wishes
        What its job's comment asks for, clamped by the site.
    policy, mode
        By which it is decided, and for whom.
    settle_seconds
        How long a first sign is left to settle.

    Attributes
    ----------
    last
        The newest Advice; null before there is any.
    is_held
        Whether it waits for the end of an incident.
    """

    def __init__(  # noqa: PLR0913 - what is known, each by its name
        self,
        course: Course,
        progress: Progress,
        silence: Silence,
        *,
        wishes: JobWishes,
        policy: Policy,
        mode: Mode,
        settle_seconds: float,
    ) -> None:
        self._course, self._progress, self._silence = course, progress, silence
        self._wishes, self._policy, self._mode = wishes, policy, mode
        self._settle_seconds = settle_seconds
        self._first_sign: int | None = None
        self._steps_at_sign = 0
        self.last: Advice | None = None
        self.is_held = False

    @property
    def is_calm(self) -> bool:
        """Whether nothing was advised that would change the attempt."""
        return self.last is None or self.last.operation is Operation.OBSERVE

    @property
    def is_waiting(self) -> bool:
        """Whether a first sign is left to settle, or what was advised has not come."""
        return self._first_sign is not None or not self.is_calm

    @property
    def due_at(self) -> int | None:
        """When a first sign has had its time to settle; null while nothing is left to settle."""
        if self._first_sign is None or (self.last is not None and self.last.settled):
            return None
        since = max(self._first_sign, self._course.end_seen or 0)
        return since + int(self._settle_seconds * MICROSECONDS_PER_SECOND)

    def adopt(self, advice: Advice) -> None:
        """Take what the ledger holds as the newest word; further generations follow it."""
        if self.last is None or advice.generation >= self.last.generation:
            self.last = advice

    def note_late(self, steps: int) -> None:
        """Take steps that were read late: nobody knows that they came after a sign."""
        self._steps_at_sign += steps

    def is_sign(self, verdict: Verdict) -> bool:
        """Whether there is anything to decide about: what the scheduler decided is no failure."""
        if verdict.domain is Domain.SCHEDULER and not self._wishes.restart_on_time_limit:
            return False
        return verdict.kind in DECIDED or self._course.is_failed

    def went_on(self, verdict: Verdict) -> bool:
        """Whether steps came after the first sign of a crash: by the order in which they landed.

        It holds over all files and streams, with clocks or without.
        """
        steps = self._progress.new_steps - self._steps_at_sign
        is_crash = verdict.kind is Kind.CRASH and not self._course.is_over
        return is_crash and self._first_sign is not None and steps >= ADVANCES_TO_RECOVER

    def is_answered(self, verdict: Verdict) -> bool:
        """Whether it ended as was advised: what its log says of that end is no other finding.

        Who ended it, and whether the Advice is still worth carrying out, the controller sees.
        """
        advised = self.last is not None and self.last.settled and self.last.operation in ENDING
        return advised and verdict.domain is Domain.SCHEDULER

    def decide(self, verdict: Verdict, event_time: int, around: Around) -> Advice | None:
        """Return a new generation of Advice about a failure, or that it was none after all.

        `around` is asked for what goes on around the attempt.
        """
        is_sign = self.is_sign(verdict)
        if self._first_sign is None or not is_sign:
            self._first_sign = event_time if is_sign else None
            self._steps_at_sign = self._progress.new_steps
        view = self._view(verdict, settled=self._may_settle(event_time), around=around())
        decision = decide(view, self._policy)
        self.is_held = self._holds(decision, event_time)
        if self.last is not None and not (
            _changes(self.last, decision, view) or self._knows_better(verdict)
        ):
            return None
        return self._decided(decision, view, event_time)

    def say(self, verdict: Verdict, event_time: int) -> Advice:
        """Return a new generation of Advice about what is no failure: nothing is waited for."""
        view = self._view(verdict, settled=True, around=Surroundings())
        return self._decided(decide(view, self._policy), view, event_time)

    def _decided(self, decision: Decision, view: PolicyView, event_time: int) -> Advice:
        self.last = to_advice(
            decision,
            view,
            generation=1 if self.last is None else self.last.generation + 1,
            mode=self._mode,
            now=event_time,
        )
        return self.last

    def _holds(self, decision: Decision, event_time: int) -> bool:
        """Whether it waits for the end of an incident, and its hold has not expired."""
        if not any(guard.name == blast_radius.__name__ for guard in decision.guards):
            return False
        last = self.last
        if last is None or last.operation is not Operation.HOLD:
            return True
        return last.expires_at > event_time

    def _knows_better(self, verdict: Verdict) -> bool:
        """Whether the end of the log, which was waited for in vain before, says another cause."""
        last = self.last
        differs = last is not None and (last.rule, last.cause) != (verdict.rule, verdict.cause)
        return differs and self._course.is_over and self._course.landed

    def _may_settle(self, event_time: int) -> bool:
        """While the attempt runs, a failure line alone never settles: it must have gone quiet too.

        Programs print failures that they get over, and the next step may just take its time.
        """
        waited = self._waited(event_time)
        if self._course.is_over:
            return self._course.landed or waited
        if self.last is not None and self._first_sign is None:
            return True  # taken back
        return waited and (self._silence.is_hang or self._silence.is_quiet(event_time))

    def _waited(self, event_time: int) -> bool:
        """Whether the first sign, and an end that came after it, have had their time to settle."""
        since = max(self._first_sign or event_time, self._course.end_seen or 0)
        return event_time - since >= self._settle_seconds * MICROSECONDS_PER_SECOND

    def _view(self, verdict: Verdict, *, settled: bool, around: Surroundings) -> PolicyView:
        course = self._course
        facts = course.facts or JobFacts(state="UNKNOWN")
        return PolicyView(
            attempt=course.attempt,
            verdict=verdict,
            history=course.history,
            last_step=self._progress.last_step,
            settled=settled,
            ended=facts.ended,
            scheduler_state=facts.outcome,
            run_nodes=tuple(sorted(course.run_nodes)),
            excluded_by_user=facts.excluded_by_user,
            required_nodes=facts.required_nodes,
            needed_nodes=facts.needed_nodes,
            wishes=self._wishes,
            around=around,
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
