"""What the scheduler's record alone says: used when the log holds no cause, or only victims."""

from __future__ import annotations

from relume.models.diagnosis.episode import Episode
from relume.models.diagnosis.finding import Finding
from relume.models.diagnosis.order import Root
from relume.models.signatures.rule import Role, Tier
from relume.reasons import Reason, ReasonCode
from relume.verdict import JOB_STREAMS, Domain, Kind, Retry

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
_UNTOLD: dict[str, tuple[Domain, Retry]] = {
    "FAILED": (Domain.UNKNOWN, Retry.UNCLEAR),
    "NODE_FAIL": (Domain.HARDWARE, Retry.YES),
    "OUT_OF_MEMORY": (Domain.WORKLOAD, Retry.UNCLEAR),
}
"""States that say that it failed and where, but not why: that a node was lost, or that the job met
its limit of memory, is how it ended. Without a log nobody saw what came before: a leak, one rank's
mistake, a node that thrashed. So it is worth a try again, and no reason to stop for good."""
UNTOLD_CONFIDENCE = 0.6
"""Of a failure that the record alone tells: sure that it is one, not of what it was."""
COMPLETED_CONFIDENCE = 0.8
_WEAK_TIERS = frozenset({Tier.POINTER, Tier.TEARDOWN})


def scheduler_finding(episode: Episode) -> Finding | None:
    """Return the verdict of the accounting state, null when there is none or it says success.

    Without a log of the job a failure has no cause, and a good end by accounting is all there is.
    """
    state = episode.scheduler.state
    why: tuple[Reason, ...] = (Reason(ReasonCode.SCHEDULER_STATE, detail=state),)
    if not has_job_log(episode):
        why += (Reason(ReasonCode.NO_JOB_LOG),)
        if state == COMPLETED and not episode.scheduler.exit_code:
            unclear = Domain.UNKNOWN, Retry.UNCLEAR
            return Finding(Kind.BENIGN, None, *unclear, COMPLETED_CONFIDENCE, reasons=why)
        if state in _UNTOLD:
            return Finding(Kind.CRASH, None, *_UNTOLD[state], UNTOLD_CONFIDENCE, reasons=why)
    if state is None or state not in _STATES:
        return None
    kind, cause, domain, retry = _STATES[state]
    confidence = 0.95 if state in _DECISIVE else 0.8
    return Finding(kind, cause, domain, retry, confidence, reasons=why)


def has_job_log(episode: Episode) -> bool:
    """Whether anything that the job itself printed was read."""
    return not JOB_STREAMS.isdisjoint(episode.forms)


def outranks(episode: Episode, root: Root) -> bool:
    """Whether the record is better evidence than `root`: decisive, against victims' lines only."""
    if episode.scheduler.state not in _DECISIVE:
        return False
    signature = root.hit.signature
    return signature.role in {Role.CASCADE, Role.POINTER} or signature.tier in _WEAK_TIERS
