"""What the API asks of the runner behind it. All of it is called from worker threads, at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from relume.identity import AttemptId
from relume.serve.ledger import AttemptRecord, Landed
from relume.slurm.job import SlurmSnapshot
from relume.verdict import Health


@dataclass(frozen=True, slots=True)
class PartStatus:
    """How one part of the service is. Anything but *healthy* has a reason."""

    status: Health
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptView:
    """One attempt as the API shows it.

    Attributes
    ----------
    attempt
        Text form, `cluster/job_id@first_submit_epoch.restart_count`.
    state
        The last word of Slurm.
    nodes
        Where it runs or ran.
    landed
        How much of its logs is in the lake.
    first_step, last_step
        The first and the last step it showed, null for none.
    verdict
        The present verdict (`relume.records.case_record`), null before there is one.
    """

    attempt: str
    job_id: str
    restart_count: int
    state: str
    nodes: tuple[str, ...]
    run: str
    opted_in: bool
    landed: Landed
    first_step: int | None
    last_step: int | None
    verdict: dict[str, Any] | None


class Readiness(Protocol):
    """How the parts of the service are."""

    def __call__(self) -> Mapping[str, PartStatus]:
        """Return the status of each part by its name; quick, without asking anybody."""
        ...


class OnScheduler(Protocol):
    """What takes a snapshot of the scheduler in."""

    def __call__(self, snapshot: SlurmSnapshot, /) -> Mapping[str, str]:
        """Return the attempt that each job id of the snapshot is, when that is durable.

        Raises
        ------
        RelumeError
            Which becomes the answer: an `InputError` 422, an `UnreachableError` 503.
        """
        ...


class AttemptsView(Protocol):
    """What adds to an attempt of the ledger what only the runner knows."""

    def __call__(self, record: AttemptRecord, /) -> AttemptView:
        """Return how the attempt is now; see `view_of`."""
        ...


def view_of(
    record: AttemptRecord,
    *,
    verdict: dict[str, Any] | None = None,
    landed: Landed | None = None,
) -> AttemptView:
    """Return the view of an attempt as the ledger has it.

    Parameters
    ----------
    record
        The attempt.
    verdict
        JSON form of its present verdict, null for none.
    landed
        What has landed by now; what the record says when null.

    Examples
    --------
    >>> view_of(AttemptRecord(attempt="lab/12_3@1767323045.1", run="a", state="RUNNING")).job_id
    '12_3'
    """
    attempt = AttemptId.parse(record.attempt)
    return AttemptView(
        attempt=record.attempt,
        job_id=attempt.job_key.job_id,
        restart_count=attempt.restart_count,
        state=record.state,
        nodes=record.nodes,
        run=record.run,
        opted_in=record.opted_in,
        landed=landed or record.landed,
        first_step=record.first_step,
        last_step=record.last_step,
        verdict=verdict,
    )
