"""What a decision is made from, and what it says."""

from __future__ import annotations

from dataclasses import dataclass, field

from relume.advice import Budget, Operation, RequestKind
from relume.identity import AttemptId
from relume.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Policy:
    """The site's limits; a job's comment may only tighten them.

    Attributes
    ----------
    max_restarts
        Restarts of one run that count as tries; a try that made progress does not count.
    identical_failures
        The n-th failure in a row with one fingerprint and no progress stops the run.
    exclusion_cap
        Nodes that may be excluded for one job.
    hold_seconds
        How long a HOLD lasts before the job is let go.
    advice_seconds
        How long other Advice may be carried out.
    numeric
        What comes of a numeric failure: OBSERVE, HOLD or STOP.
    """

    max_restarts: int = 3
    identical_failures: int = 2
    exclusion_cap: int = 2
    hold_seconds: int = 1800
    advice_seconds: int = 3600
    numeric: Operation = Operation.OBSERVE


@dataclass(frozen=True, slots=True)
class JobWishes:
    """What the job's comment asks for, already clamped by the site; nulls ask for nothing."""

    max_restarts: int | None = None
    exclude: bool = True
    stop_on_repeat: bool = True
    restart_on_time_limit: bool = False


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """How an earlier attempt of the run ended; null steps when none were seen.

    `fingerprint` is null for one that didn't fail.
    """

    restart_count: int
    fingerprint: str | None
    first_step: int | None = None
    last_step: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyView:
    """All that a decision about one attempt may look at.

    `ended` says whether the attempt is over for the scheduler; `scheduler_state` is its word.
    `settled` says that no more evidence is waited for. `placeable_nodes` counts the nodes of
    the partition that are not down, null when unknown; `required_nodes` is the job's own
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
    placeable_nodes: int | None = None
    wishes: JobWishes = field(default_factory=JobWishes)


@dataclass(frozen=True, slots=True)
class Guard:
    """A limit that changed the decision: its name (a metric label) and its words."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What should happen, why, and which limits spoke."""

    operation: Operation
    rule: str
    reason: str
    budget: Budget
    exclude_nodes: tuple[str, ...] = ()
    requests: tuple[RequestKind, ...] = ()
    guards: tuple[Guard, ...] = ()
    expires_in_seconds: int = 3600
