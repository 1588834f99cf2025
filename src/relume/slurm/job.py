"""What Slurm says of jobs and nodes, in our words: the rows of a snapshot.

Times are UTC microseconds. Null means that Slurm doesn't say, whatever it prints for that
(``(null)``, ``Unknown``, 0, 4294967294).
"""

from __future__ import annotations

from dataclasses import dataclass

NOT_STARTED = frozenset({"PENDING", "SPECIAL_EXIT", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED"})
"""States in which a start is only what Slurm expects."""
HELD_STATES = frozenset({"PENDING", "SPECIAL_EXIT", "REQUEUE_HOLD"})
"""States in which a job waits; whether it is held, its priority and reason say."""
ENDED_STATES = frozenset(
    {
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    }
)
"""States of an attempt that is over and has no successor (yet)."""
UNKNOWN_STATE = "UNKNOWN"
"""Our word for an attempt that is over and of whose end the scheduler says nothing (any more)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJob:
    """One job as slurmctld knows it at one moment.

    Attributes
    ----------
    job_id
        ``12``; ``12_3`` for a task of an array, ``12+1`` for a component of a heterogeneous job.
    raw_job_id
        The number behind it: for an ordinary job the same.
    state
        Slurm's word: RUNNING, PENDING, SPECIAL_EXIT, FAILED …; COMPLETING while processes, the
        epilog or EpilogSlurmctld are still at work, however the attempt ended, and also when its
        requeue has been asked for. All of the row is then about the attempt that ends.
    reason
        Why it waits or how it ended: JobHeldUser, job_requeued_in_held_state, NonZeroExitCode …
    submit_time
        Of this attempt: a requeue moves it.
    start_time, end_time
        Null before they have come; what Slurm only expects is left out. Null too for an attempt
        that is COMPLETING while it is requeued: accounting has them.
    restart_count
        Which attempt this row is about: 0 for the first. It rises when a requeued job is PENDING.
    nodes
        Where it runs or ran; a requeue empties it, and while COMPLETING only those are left that
        have something to clean up.
    exclude_nodes, required_nodes
        ``--exclude`` and ``--nodelist``.
    exit_code, signal
        How the batch script ended; of a held job, how the last attempt did.
    std_out, std_err
        Paths with every ``%`` pattern replaced; null where Slurm doesn't give them.
    priority
        0 for a held job.
    num_nodes
        How many nodes it has, or asks for.
    deadline
        ``--deadline``: when it has to be over, whatever its limit; null without one.
    """

    job_id: str
    raw_job_id: int
    state: str
    reason: str | None
    user: str
    partition: str
    name: str
    comment: str | None
    admin_comment: str | None
    submit_time: int | None
    start_time: int | None
    end_time: int | None
    restart_count: int
    nodes: tuple[str, ...]
    exclude_nodes: tuple[str, ...]
    required_nodes: tuple[str, ...]
    exit_code: int | None
    signal: int | None
    std_out: str | None
    std_err: str | None
    work_dir: str | None
    time_limit_seconds: int | None
    requeue: bool | None
    priority: int | None
    num_nodes: int | None
    deadline: int | None = None

    @property
    def held(self) -> bool:
        """Whether it waits for somebody to release it."""
        return self.state in HELD_STATES and self.priority == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmNode:
    """One node. `state` is Slurm's words joined by ``+`` (``IDLE+DRAIN``)."""

    node: str
    state: str
    reason: str | None
    partitions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmSnapshot:
    """All jobs and nodes that slurmctld had at `taken_at` (when we asked, not when it answered).

    Finished jobs stay for Slurm's MinJobAge. A snapshot exists only when Slurm answered: an empty
    `jobs` does mean that there is none.
    """

    cluster: str
    taken_at: int
    jobs: tuple[SlurmJob, ...]
    nodes: tuple[SlurmNode, ...]
