"""What a decision is made from, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field

from relume.advice import Budget, Operation, RequestKind
from relume.identity import AttemptId
from relume.verdict import Verdict


@dataclass(frozen=True, slots=True)
class JobWishes:
    """What the job's comment asks for, already clamped by the site; nulls ask for nothing.

    `requests` is the evidence that may be collected of a silent job: what it doesn't name is never
    asked for.
    """

    max_restarts: int | None = None
    exclude: bool = True
    stop_on_repeat: bool = True
    restart_on_time_limit: bool = False
    requests: tuple[RequestKind, ...] = ()


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """How an earlier attempt of the run ended; null steps when none were seen.

    `fingerprint` is null for one that didn't fail; `ended_at` (UTC microseconds) where nobody
    knows when it ended.
    """

    restart_count: int
    fingerprint: str | None
    first_step: int | None = None
    last_step: int | None = None
    ended_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What goes on around an attempt, as far as anybody knows: null is unknown, and guards nothing.

    Attributes
    ----------
    now
        UTC microseconds.
    admin_acted
        What a person did about this job or its nodes since it failed, in words.
    failed_together, running
        Jobs that failed within the breaker's time, this one included; jobs that run.
    partition_nodes, partition_excluded
        Nodes of the job's partition, and how many others than those that are blamed now are left
        out of it by Advice about other jobs.
    placeable_nodes
        Nodes of the job's partition that are in service.
    seconds_left
        Until the job's deadline, or the end of its reservation: what may still be run.
    queue_seconds
        Expected wait in the queue for a restart.
    restart_seconds
        From the start of an attempt to its first new step.
    """

    now: int | None = None
    admin_acted: str | None = None
    failed_together: int | None = None
    running: int | None = None
    partition_nodes: int | None = None
    partition_excluded: int | None = None
    placeable_nodes: int | None = None
    seconds_left: float | None = None
    queue_seconds: float | None = None
    restart_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """All that a decision about one attempt may look at.

    `ended` says whether the attempt is over for the scheduler; `scheduler_state` is its word.
    `settled` says that no more evidence is waited for. `required_nodes` is the job's own
    ``--nodelist``; `needed_nodes` how many the job asks for.
    """

    attempt: AttemptId
    verdict: Verdict
    history: tuple[PastAttempt, ...] = ()
    last_step: int | None = None
    settled: bool = False
    ended: bool = False
    scheduler_state: str | None = None
    run_nodes: tuple[str, ...] = ()
    excluded_by_user: tuple[str, ...] = ()
    required_nodes: tuple[str, ...] = ()
    needed_nodes: int | None = None
    wishes: JobWishes = field(default_factory=JobWishes)
    around: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True, slots=True)
class Guard:
    """A limit that changed the decision: its name (a metric label) and its words."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Passed:
    """A rule that was tried before the one that decided, and why it didn't apply."""

    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What should happen, why, why nothing else did, and which limits spoke."""

    operation: Operation
    rule: str
    reason: str
    budget: Budget
    exclude_nodes: tuple[str, ...] = ()
    requests: tuple[RequestKind, ...] = ()
    guards: tuple[Guard, ...] = ()
    passed: tuple[Passed, ...] = ()
    expires_in_seconds: int = 3600
