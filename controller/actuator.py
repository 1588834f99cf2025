"""The door through which Slurm is changed: one command a call, and what became of it.

Exit code 0 says that Slurm took the order, not that it is done: read it back with `SlurmReader`.
What each order does to a job in each state is in `docs/slurm.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from relume.controller.commands import DEFAULT_TIMEOUT_SECONDS, Done, SlurmCommands
from relume.errors import InputError, Permanent, RelumeError, Retryable, Stage, UnreachableError
from relume.slurm.hostlists import fold

MAX_ADMIN_COMMENT_CHARACTERS = 1024
"""What Slurm allows a user's comment; for our marker it is plenty."""
_JOB_ID = re.compile(r"[1-9][0-9]{0,9}(?:[_+][0-9]{1,10})?")
_TRY_LATER = re.compile(
    r"Unable to contact slurm controller|Unexpected message received|[Ss]ocket timed out"
    r"|authentication error|Munge encode failed|Connection (?:refused|reset)|Zero Bytes"
    r"|[Tt]ry again|temporarily|in standby mode|Communication (?:connection|shutdown|send|receive)"
    r"|transition",
)


class SlurmError(RelumeError):
    """An order to Slurm failed.

    Attributes
    ----------
    done
        The command and its outputs; null when it didn't come to its end.
    """

    exit_code = 3
    error_type = "slurm"
    stage = Stage.SENDING
    done: Done | None = None


class SlurmRefusedError(Permanent, SlurmError):
    """Slurm said no, and would again: no such job, not in this state, not allowed."""


class SlurmBusyError(Retryable, SlurmError):
    """Slurm is away, or may take the order later. Whether it took it is unknown: read it back."""


class Order(StrEnum):
    """What the door can ask for."""

    REQUEUE_HOLD = "requeuehold"
    REQUEUE_HOLD_RUNNING = "requeuehold Incomplete"
    """The one guard that Slurm has (`scontrol(1)`, requeuehold): only jobs that are CONFIGURING,
    RUNNING, STOPPED or SUSPENDED are touched. Others are left as they are, with exit code 0."""
    REQUEUE = "requeue"
    RELEASE = "release"
    EXCLUDE = "ExcNodeList"
    ADMIN_COMMENT = "AdminComment"
    CANCEL = "cancel"


def command(order: Order, job_id: str, value: str = "") -> tuple[str, ...]:
    """Return the command of an order, for `SlurmActuator` to run or for a dry run to show.

    Slurm requeues, holds and releases a heterogeneous job as a whole, by its leader's number.

    Raises
    ------
    InputError
        For what is no job id.

    Examples
    --------
    >>> command(Order.EXCLUDE, "12_3", "n[1-2]")
    ('scontrol', 'update', 'JobId=12_3', 'ExcNodeList=n[1-2]')
    >>> command(Order.REQUEUE_HOLD_RUNNING, "12+1")
    ('scontrol', 'requeuehold', 'Incomplete', '12')
    """
    if _JOB_ID.fullmatch(job_id) is None:
        raise InputError(
            f"order {order} for a job",
            found=repr(job_id[:40]),
            expected="a job id such as 12, 12_3 or 12+1",
        )
    if order in {Order.EXCLUDE, Order.ADMIN_COMMENT}:
        return ("scontrol", "update", f"JobId={job_id}", f"{order}={value}")
    whole = job_id.partition("+")[0]
    return ("scancel", whole) if order is Order.CANCEL else ("scontrol", *order.split(), whole)


class SlurmActuator:
    """Changes jobs of one cluster.

    Every method returns when Slurm took the order, and raises `SlurmRefusedError` or
    `SlurmBusyError` when it didn't.

    Parameters
    ----------
    slurm_conf
        The cluster's slurm.conf; null leaves it to SLURM_CONF and to Slurm's default.
    timeout_seconds
        When a command is given up.

    Attributes
    ----------
    mutations
        How many commands that may change something were started, failed ones included.
    """

    def __init__(
        self,
        *,
        slurm_conf: Path | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> None:
        self._commands = SlurmCommands(slurm_conf, timeout_seconds=timeout_seconds)
        self.mutations = 0

    def requeue_hold(self, job_id: str) -> Done:
        """End a running job, or take back a finished one, and keep it waiting until a release."""
        return self._do(Order.REQUEUE_HOLD, job_id)

    def requeue_hold_running(self, job_id: str) -> Done:
        """Requeue a job and hold it, unless it has ended or is about to.

        Between our last look at a running job and our command it may end well, or be cancelled, and
        a plain requeue would revive it. Accounting can't tell afterwards: it writes REQUEUED over
        what the row of the attempt said before (22.05). So slurmctld itself has to look.
        """
        return self._do(Order.REQUEUE_HOLD_RUNNING, job_id)

    def requeue(self, job_id: str) -> Done:
        """End a running job, or take back a finished one, and start it again."""
        return self._do(Order.REQUEUE, job_id)

    def release(self, job_id: str) -> Done:
        """Let a held job start."""
        return self._do(Order.RELEASE, job_id)

    def set_exclude(self, job_id: str, nodes: Iterable[str]) -> Done:
        """Replace the nodes that a waiting job must not use; none at all clears them."""
        return self._do(Order.EXCLUDE, job_id, fold(nodes))

    def set_admin_comment(self, job_id: str, text: str) -> Done:
        """Replace the AdminComment of a job that isn't over.

        Raises
        ------
        InputError
            For more than `MAX_ADMIN_COMMENT_CHARACTERS`, and for characters that can't be printed.
        """
        if len(text) > MAX_ADMIN_COMMENT_CHARACTERS or not text.isprintable():
            raise InputError(
                f"AdminComment of job {job_id}",
                found=f"{len(text)} characters: {text[:80]!r}",
                expected=f"at most {MAX_ADMIN_COMMENT_CHARACTERS} printable ones",
            )
        return self._do(Order.ADMIN_COMMENT, job_id, text)

    def cancel(self, job_id: str) -> Done:
        """Cancel a waiting or running job. Slurm says yes for one that is over or unknown, too."""
        return self._do(Order.CANCEL, job_id)

    def _do(self, order: Order, job_id: str, value: str = "") -> Done:
        argv = command(order, job_id, value)
        try:
            self._commands.ping()
            self.mutations += 1
            done = self._commands.run(argv)
        except UnreachableError as error:
            raise SlurmBusyError(
                f"order {order} for job {job_id}",
                found=str(error),
                expected="an answer of slurmctld",
                hint="read the job back before trying again",
            ) from error
        if done.exit_code:
            raise _failure(done, f"order {order} for job {job_id}")
        return done


def _failure(done: Done, what: str) -> SlurmError:
    said = " / ".join(line.strip() for line in done.stderr.splitlines() if line.strip())[:300]
    found = f"exit code {done.exit_code}: {said}"
    error: SlurmError
    if _TRY_LATER.search(done.stderr):
        hint = "read the job back before trying again"
        error = SlurmBusyError(what, found=found, expected="Slurm to take it", hint=hint)
    else:
        hint = "look at the job (scontrol show job); it isn't in a state for this"
        error = SlurmRefusedError(what, found=found, expected="Slurm to take it", hint=hint)
    error.done = done
    return error
