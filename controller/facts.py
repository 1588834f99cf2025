"""What a plan is made from: plain values, read from Slurm, the service and the journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from relume.advice import Advice, Mode
from relume.identity import AttemptId, JobKey, read_comment
from relume.slurm.job import SlurmJob, SlurmNode


class Action(StrEnum):
    """What is done to a job, one command of Slurm each."""

    MARK = "mark"
    """Write our marker into its AdminComment."""
    HOLD = "hold"
    """Requeue it, which has ended, and hold it."""
    HOLD_RUNNING = "hold running"
    """Requeue it and hold it, unless it ended meanwhile: Slurm itself looks."""
    EXCLUDE = "exclude"
    """Set the nodes that it must not use."""
    RELEASE = "release"
    CANCEL = "cancel"


HOLDS = (Action.HOLD, Action.HOLD_RUNNING)


class Outcome(StrEnum):
    """What became of a deed."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    """Slurm didn't answer, or we died before it did: only Slurm's state tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One attempt of an opted-in job, as the controller saw it.

    `nodes` are those it ran on: a requeue empties them in Slurm. `running_at` is when it was first
    seen RUNNING, `held_at` when it was first seen held; null: never.
    """

    key: JobKey
    restart_count: int
    submit_time: int
    user: str
    run: str
    nodes: tuple[str, ...] = ()
    running_at: int | None = None
    held_at: int | None = None

    @property
    def attempt(self) -> str:
        """Text form of the attempt."""
        return str(AttemptId(self.key, self.restart_count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One step that was intended, and what became of it.

    `attempt` is the one that the decision is about. `by` is ``controller``, or ``epilog`` for a
    hold that the EpilogSlurmctld helper placed. `nodes` are those that the Advice excludes.
    `reason` is the step's, `words` are Slurm's.
    """

    attempt: str
    advice_id: str | None
    action: Action
    intended_at: int
    outcome: Outcome = Outcome.UNKNOWN
    by: str = "controller"
    nodes: tuple[str, ...] = ()
    reason: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Advice that the controller took on. `closed` says that its end is reported."""

    advice: Advice
    accepted_at: int
    closed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What the journal remembers of the jobs in question.

    `sightings` by job id, the newest last; `deeds` by attempt, in order; `accepted` by advice id;
    `run_nodes` by job, all nodes that the job's run was seen on. `tried` holds, for the last
    24 hours, when each attempt was first meddled with, and `restarts` the times each job was let
    go again. `born_at` is when the journal was made: it doesn't know what was held before.
    `readable` is false when it could not be read: then all else is empty.
    """

    sightings: Mapping[str, tuple[Sighting, ...]] = field(default_factory=dict)
    deeds: Mapping[str, tuple[Deed, ...]] = field(default_factory=dict)
    accepted: Mapping[str, Accepted] = field(default_factory=dict)
    run_nodes: Mapping[JobKey, frozenset[str]] = field(default_factory=dict)
    tried: Mapping[str, int] = field(default_factory=dict)
    restarts: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    born_at: int | None = None
    readable: bool = True

    def sighting(self, job: SlurmJob) -> Sighting | None:
        """Return the sighting of the attempt that `job` is now, null if it was never seen."""
        matching = (
            one
            for one in reversed(self.sightings.get(job.job_id, ()))
            if (one.submit_time, one.restart_count) == (job.submit_time, job.restart_count)
        )
        return next(matching, None)

    def of(self, key: JobKey, restart_count: int) -> Sighting | None:
        """Return the sighting of an attempt, null if it was never seen."""
        matching = (
            one
            for one in self.sightings.get(key.job_id, ())
            if (one.key, one.restart_count) == (key, restart_count)
        )
        return next(matching, None)

    def excluded(self, key: JobKey) -> frozenset[str]:
        """Return the nodes that were excluded for a job on our word, over all its attempts."""
        return frozenset(
            node
            for attempt, deeds in self.deeds.items()
            if attempt.startswith(f"{key}.")
            for deed in deeds
            if deed.action is Action.EXCLUDE and deed.outcome is not Outcome.REFUSED
            for node in deed.nodes
        )

    def did(self, attempt: str, *actions: Action) -> Deed | None:
        """Return the last deed of these kinds that may have happened, null if there is none."""
        matching = (
            deed
            for deed in reversed(self.deeds.get(attempt, ()))
            if deed.action in actions and deed.outcome is not Outcome.REFUSED
        )
        return next(matching, None)

    def with_sighting(self, seen: Sighting) -> Memory:
        """Return the memory with one more sighting."""
        job_id = seen.key.job_id
        return replace(
            self, sightings={**self.sightings, job_id: (*self.sightings.get(job_id, ()), seen)}
        )

    def with_deed(self, deed: Deed) -> Memory:
        """Return the memory with one more deed."""
        deeds = (*self.deeds.get(deed.attempt, ()), deed)
        return replace(self, deeds={**self.deeds, deed.attempt: deeds})


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that is known at one moment; `plan` looks at nothing else.

    Attributes
    ----------
    cluster
        Whose jobs these are.
    jobs, nodes
        The last word of Slurm about each. A job that is not there does not exist.
    advice
        What the service wants; may hold several generations and jobs that are not ours.
    heard
        Whether the service said so. A service that is away has taken nothing back.
    memory
        What the journal remembers.
    landed
        By attempt: whether its log is read to the end and durable; absent when not known.
    """

    cluster: str
    jobs: Mapping[str, SlurmJob] = field(default_factory=dict)
    nodes: tuple[SlurmNode, ...] = ()
    advice: tuple[Advice, ...] = ()
    heard: bool = True
    memory: Memory = field(default_factory=Memory)
    landed: Mapping[str, bool] = field(default_factory=dict)

    @cached_property
    def considered(self) -> tuple[Advice, ...]:
        """The Advice to carry out: the newest generation of each attempt that isn't closed."""
        known = {advice.advice_id: advice for advice in self.advice}
        known |= {name: one.advice for name, one in self.memory.accepted.items()}
        newest: dict[str, Advice] = {}
        for advice in known.values():
            other = newest.get(advice.attempt)
            if other is None or advice.generation > other.generation:
                newest[advice.attempt] = advice
        closed = {name for name, one in self.memory.accepted.items() if one.closed}
        return tuple(advice for advice in newest.values() if advice.advice_id not in closed)

    @cached_property
    def listed(self) -> frozenset[str]:
        """Ids of the Advice that the service wants now."""
        return frozenset(advice.advice_id for advice in self.advice)

    @cached_property
    def awaited(self) -> frozenset[str]:
        """Attempts with Advice that somebody may yet carry out."""
        coming = (one for one in self.considered if one.is_actionable or _may_be_approved(one))
        return frozenset(one.attempt for one in coming)

    def with_job(self, job_id: str, job: SlurmJob | None) -> Facts:
        """Return the facts with a newer word about one job; null: it is gone."""
        jobs = {name: one for name, one in self.jobs.items() if name != job_id}
        return replace(self, jobs=jobs if job is None else jobs | {job_id: job})


def _may_be_approved(advice: Advice) -> bool:
    """Whether it waits for an answer, or a generation that will may follow it."""
    unsettled = advice.mode is Mode.APPROVE and not advice.settled
    return advice.is_waiting or unsettled


def wish(comment: str | None, name: str) -> bool:
    """Whether the relume section of a job's comment sets `name` to true; it never raises.

    Examples
    --------
    >>> wish('{"relume": {"restart_on_time_limit": true}}', "restart_on_time_limit")
    True
    """
    if not read_comment(comment).opted_in:
        return False
    section = json.loads(comment or "{}").get("relume")
    return isinstance(section, dict) and section.get(name) is True
