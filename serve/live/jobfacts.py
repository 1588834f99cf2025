"""What the scheduler says of an attempt at one moment."""

from __future__ import annotations

from dataclasses import dataclass

HELD_REASON = "job_requeued_in_held_state"
"""Slurm's word for a requeue-hold, which the helper gives to jobs that have failed."""
_FAILED_STATES = frozenset(
    {"FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "BOOT_FAIL", "SPECIAL_EXIT"}
)


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
