"""One row of accounting: everything that it says of an attempt and that somebody may need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from relume.errors import RelumeError
from relume.ingest.accounting.states import BADNESS, OUT_OF_MEMORY
from relume.slurm.hostlists import expand


@dataclass(frozen=True, slots=True)
class Step:
    """How one step (``batch``, ``extern``, ``0``) ended; null where the column is absent."""

    name: str
    state: str
    exit_code: int | None = None
    signal: int | None = None

    @property
    def badness(self) -> int:
        """0 for an end that is no failure; else the higher, the more it says of the job."""
        return BADNESS.get(self.state, 0)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one attempt: how many stood behind it, and the worst, null if all ended well.

    An out-of-memory of one step says more than the FAILED of its job.
    """

    count: int = 0
    worst: Step | None = None

    def with_step(self, step: Step) -> Steps:
        """Return the steps with one more; of two that ended alike the first one stays the worst."""
        worst = self.worst
        if step.badness > (worst.badness if worst is not None else 0):
            worst = step
        return Steps(self.count + 1, worst)


NO_STEPS = Steps()


@dataclass(frozen=True, slots=True)
class AccountingRow:
    """What accounting says of one attempt. Null where the column is absent, empty or says nothing.

    Times are UTC microseconds, null while Slurm says ``Unknown`` or ``None``.

    Attributes
    ----------
    job_id
        ``12``, ``12_3`` for a task of an array, ``12_[4-9]`` for tasks that wait together,
        ``12+1`` for a component of a heterogeneous job.
    state
        Slurm's word without what follows it: ``CANCELLED by 1000`` is ``CANCELLED``.
    exit_code, signal
        The halves of ``ExitCode``; signal 0 is none. `derived_exit_code` and `derived_signal` are
        those of the worst step.
    nodelist
        The hostlist as printed; `nodes` are its names.
    raw_job_id
        Slurm's number behind an id such as ``12_3``.
    cancelled_by
        The user id behind ``CANCELLED by``.
    elapsed_seconds
        Time on the nodes, as Slurm counts it.
    planned_seconds
        How long it waited while it could have started (older Slurm: ``Reserved``).
    time_limit_seconds
        Null for no limit, too.
    gpus
        GPUs allocated, or asked for by one that never started; 0 when there are trackable
        resources without any.
    restarts
        How often it had been requeued (Slurm 23.11 and later).
    std_out, std_err
        File names as asked for (Slurm 24.05 and later); patterns such as ``%j`` are not replaced.
    """

    job_id: str
    state: str
    exit_code: int | None = None
    signal: int | None = None
    nodelist: str | None = None
    start: int | None = None
    end: int | None = None
    raw_job_id: int | None = None
    submit: int | None = None
    eligible: int | None = None
    elapsed_seconds: int | None = None
    planned_seconds: int | None = None
    time_limit_seconds: int | None = None
    cancelled_by: str | None = None
    derived_exit_code: int | None = None
    derived_signal: int | None = None
    reason: str | None = None
    name: str | None = None
    user: str | None = None
    account: str | None = None
    partition: str | None = None
    cluster: str | None = None
    num_nodes: int | None = None
    gpus: int | None = None
    comment: str | None = None
    admin_comment: str | None = None
    system_comment: str | None = None
    work_dir: str | None = None
    submit_line: str | None = None
    std_out: str | None = None
    std_err: str | None = None
    restarts: int | None = None
    flags: tuple[str, ...] = ()
    steps: Steps = NO_STEPS

    @property
    def outcome(self) -> str:
        """How it ended, by all that accounting says; `state` is what stands in its own row.

        A step that ran out of memory says why its job FAILED. It says nothing of a job that ended
        well, or by another's hand.

        >>> AccountingRow("7", "FAILED", steps=Steps(1, Step("0", "OUT_OF_MEMORY"))).outcome
        'OUT_OF_MEMORY'
        """
        worst = self.steps.worst
        ran_out = worst is not None and worst.state == OUT_OF_MEMORY
        return OUT_OF_MEMORY if self.state == "FAILED" and ran_out else self.state

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of its nodes; empty when none, or when the hostlist can't be read."""
        return _names(self.nodelist) if self.nodelist else ()


@lru_cache(maxsize=1024)  # the attempts of a job, and its steps, often ran on the same nodes
def _names(nodelist: str) -> tuple[str, ...]:
    try:
        return tuple(expand(nodelist))
    except RelumeError:
        return ()
