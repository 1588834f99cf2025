"""Names of the sources whose health is told: the logs of attempts, and the scheduler."""

from __future__ import annotations

SCHEDULER = "slurm"
"""Source of what the scheduler says; while it is silent, nobody knows which jobs run."""
LOG_ENDED = "read to its end"
"""Reason of the status that lands when the logs of an ended attempt were read to their end."""


def log_source(attempt: str, path: str | None = None) -> str:
    """Name of the source that the logs of one attempt are, or one of them.

    >>> log_source("lab/7@1767323045.0")
    'log lab/7@1767323045.0'
    """
    return f"log {attempt}" if path is None else f"log {attempt} {path}"


def attempt_of_source(source: str) -> str | None:
    """Attempt whose log a source is, null for other sources.

    >>> attempt_of_source(log_source("lab/7@1767323045.0", "/logs/my job.out"))
    'lab/7@1767323045.0'
    """
    kind, _, rest = source.partition(" ")
    return rest.partition(" ")[0] if kind == "log" else None


def push_source(sender: str, job_id: str | None = None) -> str:
    """Name of the source of pushed lines: of nobody yet, where only the job is known.

    >>> push_source("10.0.0.5"), push_source("10.0.0.5", "12_3")
    ('push 10.0.0.5', 'push 10.0.0.5 job 12_3')
    """
    return f"push {sender}" if job_id is None else f"push {sender} job {job_id}"


def sender_of(source: str) -> tuple[str | None, str | None]:
    """Sender of pushed lines, and the job that they are of; nulls for other sources.

    >>> sender_of("push 10.0.0.5 job 12_3"), sender_of("tail")
    (('10.0.0.5', '12_3'), (None, None))
    """
    kind, _, rest = source.partition(" ")
    sender, _, job = rest.partition(" job ")
    return (sender, job or None) if kind == "push" and sender else (None, None)
