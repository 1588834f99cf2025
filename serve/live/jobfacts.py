"""What the scheduler says of an attempt at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from relume.events import SchedulerEvent
from relume.serve.live.naming import SCHEDULER
from relume.slurm.job import ENDED_STATES, UNKNOWN_STATE

OVER = ENDED_STATES | {"REQUEUED", "SPECIAL_EXIT", UNKNOWN_STATE}
"""States of an attempt that is over; it may have a successor."""
HELD_REASON = "job_requeued_in_held_state"
"""Slurm's word for a requeue-hold, which the helper gives to jobs that have failed."""
_FAILED_STATES = frozenset(
    {"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "BOOT_FAIL", "SPECIAL_EXIT"}
)
_PAUSED = frozenset({"SUSPENDED", "STOPPED", "COMPLETING"})
"""Whoever doesn't work, or cleans up, is silent for a reason."""
_HELD_BY_HAND = frozenset({"JobHeldUser", "JobHeldAdmin"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """What the scheduler says of the attempt at one moment; nulls are unknown."""

    state: str
    reason: str | None = None
    nodes: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int | None = None
    excluded_by_user: tuple[str, ...] = ()
    required_nodes: tuple[str, ...] = ()
    needed_nodes: int | None = None
    partition: str | None = None
    deadline: int | None = None
    ended: bool = False
    held_by_hand: bool = False

    @classmethod
    def of(cls, event: SchedulerEvent) -> Self:
        """Return what an event of the scheduler says."""
        return cls(
            state=event.state,
            reason=event.reason,
            nodes=event.nodes,
            exit_code=event.exit_code,
            signal=event.signal,
            excluded_by_user=event.exclude_nodes,
            required_nodes=event.required_nodes,
            needed_nodes=event.num_nodes,
            partition=event.partition,
            deadline=event.deadline,
            ended=event.state in OVER,
            held_by_hand=_is_held_by_hand(event),
        )

    @property
    def works(self) -> bool:
        """Whether it is meant to work at present."""
        return self.state not in _PAUSED

    @property
    def outcome(self) -> str:
        """Slurm's word for how it went; an attempt that was held right after it failed FAILED.

        A signal says so only of one that is held: whoever requeues a job that runs ends it by one.
        """
        is_held = self.reason == HELD_REASON
        failed = bool(self.exit_code) or (bool(self.signal) and is_held)
        return "FAILED" if self.state == "REQUEUED" and failed else self.state

    @property
    def ended_badly(self) -> bool:
        """Whether the scheduler itself says that it failed."""
        return self.ended and self.outcome in _FAILED_STATES


def _is_held_by_hand(event: SchedulerEvent) -> bool:
    """Whether a person holds the job after this attempt, by the word of slurmctld.

    Accounting's reason may be from before the attempt began.
    """
    is_told = event.source == SCHEDULER and event.state == "REQUEUED"
    return is_told and event.reason in _HELD_BY_HAND
