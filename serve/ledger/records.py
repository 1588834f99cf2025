"""What the ledger holds beside Advice: attempts, milestones, leases. Times are UTC microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from relume.advice import Disposition, Operation


class Milestone(StrEnum):
    """How far a restarted attempt got, by the word of the controller."""

    ALLOCATION_RESTARTED = "allocation_restarted"
    """It runs on nodes again."""
    PROGRESS_RESTORED = "progress_restored"
    """Its first new step."""
    FINISHED = "finished"
    """It ended well."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who may act on a cluster, and until when.

    `fencing_token` is 1 for the first holder of a cluster and grows by one with each new one; a
    renewal keeps it. `seen_at` is when it was taken or renewed last; null for one that an older
    version wrote.
    """

    cluster: str
    holder: str
    fencing_token: int
    expires_at: int
    seen_at: int | None = None


@dataclass(frozen=True, slots=True)
class Landed:
    """How much of an attempt's logs is in the lake.

    `complete` says that they were read to their end after the attempt had ended, `fsynced` that
    what was read is durable.
    """

    bytes: int = 0
    complete: bool = False
    fsynced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """What the service knows about one attempt; a later record of it replaces the earlier one.

    Attributes
    ----------
    attempt
        Text form, `cluster/job_id@first_submit_epoch.restart_count`.
    run
        The run it belongs to (`relume.identity.run_name`).
    state, reason
        The last words of Slurm.
    ended
        Whether the attempt is over: it ended, was requeued, or Slurm forgot it.
    raw_job_id
        The number behind the job id, null if never seen.
    nodes
        Where it ran; kept when a requeue empties Slurm's own list.
    submit_time
        Of this attempt, which a requeue moves; null if never seen.
    start_time, end_time
        Null before they have come.
    std_out, std_err
        The files it writes, null where Slurm didn't say.
    first_step, last_step
        The first and the last step it showed, null for none.
    fingerprint
        Of its failure, equal for failures that are alike; null before one, and for none.
    over_at
        When it was over, as its lines and the scheduler told the judge; null before.
    """

    attempt: str
    run: str
    state: str
    reason: str | None = None
    ended: bool = False
    opted_in: bool = False
    raw_job_id: int | None = None
    user: str | None = None
    partition: str | None = None
    name: str | None = None
    nodes: tuple[str, ...] = ()
    submit_time: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    std_out: str | None = None
    std_err: str | None = None
    work_dir: str | None = None
    landed: Landed = Landed()
    first_step: int | None = None
    last_step: int | None = None
    fingerprint: str | None = None
    over_at: int | None = None


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """One attempt of a run as the policy looks back at it.

    `operation`, `settled` and `disposition` are those of its newest Advice, null without any. The
    other fields are those of `AttemptRecord`.
    """

    attempt: str
    user: str | None
    ended: bool
    fingerprint: str | None
    first_step: int | None
    last_step: int | None
    operation: Operation | None
    settled: bool | None
    disposition: Disposition | None
    over_at: int | None = None


@dataclass(frozen=True, slots=True)
class MilestoneRecord:
    """One milestone of an attempt. `advice_id` names what brought it about, null for nothing."""

    attempt: str
    milestone: Milestone
    advice_id: str | None
    event_time: int
