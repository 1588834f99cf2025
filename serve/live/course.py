"""The course of one attempt: where and when it ran, when it made steps, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from relume.clock import MICROSECONDS_PER_SECOND
from relume.identity import AttemptId
from relume.models.diagnosis.episode import SchedulerFacts
from relume.models.policy.view import PastAttempt
from relume.serve.live.jobfacts import JobFacts


@dataclass(slots=True)
class Course:
    """What is known of it by now. Times are UTC microseconds, null for not yet, or not known.

    Attributes
    ----------
    attempt, history
        Which attempt, and how the earlier ones of its run ended.
    facts
        What the scheduler said last; null before it says anything.
    run_nodes
        Where it was at any time.
    started_at, ended_at
        By the scheduler.
    end_seen
        The first tick after its end.
    first_step_at
        When its first new step landed.
    last_step_at
        When its newest step landed; 0 before there is one.
    landed
        Whether the logs of the ended attempt were read to their end.
    """

    attempt: AttemptId
    history: tuple[PastAttempt, ...] = ()
    facts: JobFacts | None = None
    run_nodes: set[str] = field(default_factory=set)
    started_at: int | None = None
    ended_at: int | None = None
    end_seen: int | None = None
    first_step_at: int | None = None
    last_step_at: int = 0
    landed: bool = False

    def note_job(self, facts: JobFacts, event_time: int) -> None:
        """Take what the scheduler says; the nodes of a running attempt are remembered."""
        self.facts = facts
        self.run_nodes |= set(facts.nodes)
        if facts.ended and self.ended_at is None:
            self.ended_at = event_time

    def note_step(self, event_time: int) -> None:
        """Take that new steps landed by then."""
        self.first_step_at = self.first_step_at or event_time
        self.last_step_at = event_time

    @property
    def is_over(self) -> bool:
        """Whether it has ended, by the scheduler."""
        return self.facts is not None and self.facts.ended

    @property
    def is_failed(self) -> bool:
        """Whether the scheduler itself says that it failed."""
        return self.facts is not None and self.facts.ended_badly

    @property
    def nodes(self) -> tuple[str, ...]:
        """Where it runs now; empty when it is over, or nobody knows."""
        return () if self.facts is None or self.facts.ended else self.facts.nodes

    @property
    def told(self) -> SchedulerFacts:
        """What the diagnosis may know: its end only when it has come."""
        nodes, facts = tuple(sorted(self.run_nodes)), self.facts
        if facts is None or not facts.ended:
            return SchedulerFacts(nodes=nodes, start=self.started_at)
        said = facts.outcome, facts.exit_code, facts.signal
        return SchedulerFacts(*said, nodes, self.started_at, self.ended_at)

    @property
    def queue_seconds(self) -> float | None:
        """How long it waited for its nodes, the best guess for the next wait; null if unknown."""
        ends = [past.ended_at for past in self.history if past.ended_at is not None]
        began = max([self.attempt.job_key.first_submit_time, *ends])
        known = self.attempt.restart_count == 0 or bool(ends)
        if self.started_at is None or not known or self.started_at < began:
            return None
        return (self.started_at - began) / MICROSECONDS_PER_SECOND

    @property
    def restart_seconds(self) -> float | None:
        """From its start to its first new step; null where either isn't known."""
        if self.started_at is None or self.first_step_at is None:
            return None
        return max(0, self.first_step_at - self.started_at) / MICROSECONDS_PER_SECOND
