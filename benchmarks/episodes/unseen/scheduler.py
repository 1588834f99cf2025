"""Ends that a scheduler or a person decided."""

from __future__ import annotations

FORMS: dict[str, tuple[str, ...]] = {
    "time_limit": (
        "pytorchjob llm-$job: DeadlineExceeded: job was active longer than activeDeadlineSeconds (86400)",
        "=>> job $job: wall clock allotment is used up, sending SIGTERM",
        "[nomad] allocation $job: max run duration (24h0m0s) reached, stopping",
    ),
    "preempted": (
        "queue manager: job $job gives way to job 881203 of partition urgent, its nodes are taken back",
        "node-termination-handler: spot interruption notice (action terminate) received, draining",
        "scheduler: allocation $job revoked: higher priority claim",
    ),
    "cancelled": (
        "kubectl: pytorchjob llm-$job deleted by user request",
        "job $job: stop requested by its owner (qdel)",
        "ray job stop: submission raysubmit_$hex stopped on request",
    ),
}
