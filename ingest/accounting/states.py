"""Slurm's words for the state of a job, and what they say of its end."""

from __future__ import annotations

from relume.slurm.job import ENDED_STATES

STATES = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "COMPLETING",
        "CONFIGURING",
        "DEADLINE",
        "EXPEDITING",
        "FAILED",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PENDING",
        "POWER_UP_NODE",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RESIZING",
        "RESV_DEL_HOLD",
        "REVOKED",
        "RUNNING",
        "SIGNALING",
        "SPECIAL_EXIT",
        "STAGE_OUT",
        "STOPPED",
        "SUSPENDED",
        "TIMEOUT",
    }
)
"""Slurm's words (job_state_string in src/common/slurm_protocol_defs.c)."""
ENDS = ENDED_STATES | {"REQUEUED"}
"""States of an attempt that is over, in accounting. All others are of one that waits, is held or is
on its nodes, or are flags of a job that goes on: an end time is a plan then, if it has one."""
OUT_OF_MEMORY = "OUT_OF_MEMORY"
_WORST_LAST = (
    "CANCELLED",
    "PREEMPTED",
    "TIMEOUT",
    "DEADLINE",
    "FAILED",
    "BOOT_FAIL",
    "NODE_FAIL",
    OUT_OF_MEMORY,
)
BADNESS = {state: number for number, state in enumerate(_WORST_LAST, start=1)}
"""How much an end that is no success says of its job: which of several tells why."""
