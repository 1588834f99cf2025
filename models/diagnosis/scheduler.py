"""What the scheduler's record alone says: used when the log holds no cause, or only victims."""

from __future__ import annotations

from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.finding import Finding
from relume.models.diagnosis.order import Root
from relume.models.signatures.rule import Role, Tier
from relume.verdict import Domain, Kind, Retry

_STATES: dict[str, tuple[Kind, str, Domain, Retry]] = {
    "NODE_FAIL": (Kind.CRASH, "node_failure", Domain.HARDWARE, Retry.YES),
    "BOOT_FAIL": (Kind.CRASH, "node_boot_failure", Domain.HARDWARE, Retry.YES),
    "OUT_OF_MEMORY": (Kind.CRASH, "host_out_of_memory", Domain.WORKLOAD, Retry.NO),
    "TIMEOUT": (Kind.CRASH, "time_limit", Domain.SCHEDULER, Retry.UNCLEAR),
    "DEADLINE": (Kind.CRASH, "deadline", Domain.SCHEDULER, Retry.NO),
    "PREEMPTED": (Kind.CRASH, "preempted", Domain.SCHEDULER, Retry.YES),
    "CANCELLED": (Kind.CRASH, "cancelled", Domain.SCHEDULER, Retry.UNCLEAR),
    "FAILED": (Kind.CRASH, "unknown_failure", Domain.UNKNOWN, Retry.UNCLEAR),
}
COMPLETED = "COMPLETED"
FAILED_STATES = frozenset({"BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"})
"""States that say that the job itself, or what it ran on, failed."""
ALIVE_STATES = frozenset({"RESIZING", "RUNNING", "SIGNALING", "STOPPED", "SUSPENDED"})
"""States of a job that is on its nodes: none of it has ended."""
_DECISIVE = frozenset({"NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "TIMEOUT", "PREEMPTED"})
_WEAK_TIERS = frozenset({Tier.POINTER, Tier.TEARDOWN})


def scheduler_finding(episode: Episode) -> Finding | None:
    """Return the verdict of the accounting state, null when there is none or it says success."""
    state = episode.scheduler.state
    if state is None or state not in _STATES:
        return None
    kind, cause, domain, retry = _STATES[state]
    confidence = 0.95 if state in _DECISIVE else 0.8
    return Finding(
        kind, cause, domain, retry, confidence, why=(f"the scheduler's record says {state}",)
    )


def outranks(episode: Episode, root: Root) -> bool:
    """Whether the record is better evidence than `root`: decisive, against victims' lines only."""
    if episode.scheduler.state not in _DECISIVE:
        return False
    signature = root.hit.signature
    return signature.role in {Role.CASCADE, Role.POINTER} or signature.tier in _WEAK_TIERS
