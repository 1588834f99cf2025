"""The door through which Slurm is read: bounded commands in, snapshots out; nothing is changed."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

from relume.clock import Clock, SystemClock
from relume.controller.commands import DEFAULT_TIMEOUT_SECONDS, Done, SlurmCommands
from relume.errors import InputError, UnreachableError
from relume.slurm import sacct, scontrol, squeue
from relume.slurm.job import SlurmJob, SlurmSnapshot
from relume.slurm.sacct import AttemptRow


class SlurmReader:
    """Asks one cluster's Slurm.

    Every method raises `UnreachableError` when Slurm doesn't answer, or answers with errors or with
    something we can't read: no answer is never an empty one.

    Parameters
    ----------
    slurm_conf
        The cluster's slurm.conf; null leaves it to SLURM_CONF and to Slurm's default.
    timeout_seconds
        When a command is given up.
    clock
        Dates the snapshots; null is the machine's.
    """

    def __init__(
        self,
        *,
        slurm_conf: Path | None = None,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self._commands = SlurmCommands(slurm_conf, timeout_seconds=timeout_seconds)
        self._clock = clock or SystemClock()

    def ping(self) -> None:
        """Make sure that a slurmctld answers; it takes milliseconds, whether it does or not."""
        self._commands.ping()

    def config(self) -> dict[str, str]:
        """Return Slurm's configuration by name, as slurmctld has it (``ClusterName``, …)."""
        return scontrol.parse_config(self._read(scontrol.SHOW_CONFIG))

    def snapshot(self) -> SlurmSnapshot:
        """Return all jobs and nodes that slurmctld has, with the time before they were asked for.

        Tasks of an array that have never run, and share one record, are left out.
        """
        taken_at = self._clock.now()
        jobs = tuple(job for job in self._jobs(taken_at) if "[" not in job.job_id)
        try:
            nodes = tuple(scontrol.parse_nodes(self._read(scontrol.SHOW_NODES)))
        except InputError as error:
            raise _unreadable(error) from error
        cluster = self.config().get("ClusterName", "")
        if not cluster:  # every job's identity begins with it
            raise UnreachableError(
                "scontrol show config",
                found="no ClusterName",
                expected="the name that slurm.conf gives",
                hint="run it by hand on this host",
            )
        return SlurmSnapshot(cluster=cluster, taken_at=taken_at, jobs=jobs, nodes=nodes)

    def job(self, job_id: str) -> SlurmJob | None:
        """Return one job, null when slurmctld has none of that id (any more)."""
        for job in self._jobs(self._clock.now()):
            if job.job_id == job_id:
                return job
            if squeue.task_of(job.job_id, job_id):
                return replace(job, job_id=job_id)
        return None

    def accounting(self, job_id: str) -> list[AttemptRow]:
        """Return every attempt of every job that had this id, oldest first.

        `relume.identity.chain_attempts` tells jobs and attempts apart. It asks slurmdbd, and works
        while slurmctld is away. A site without accounting raises `UnreachableError`.
        """
        separator = f"<{secrets.token_hex(8)}>"
        done = self._commands.run(sacct.command(job_id, separator))
        try:
            rows = sacct.parse_sacct(_output(done), separator)
        except InputError as error:
            raise _unreadable(error) from error
        return sorted((r for r in rows if r.job_id == job_id), key=lambda row: row.submit_time)

    def _jobs(self, asked_at: int) -> list[SlurmJob]:
        try:
            return squeue.parse_squeue(self._read(squeue.COMMAND), asked_at)
        except InputError as error:
            raise _unreadable(error) from error

    def _read(self, argv: tuple[str, ...]) -> str:
        self._commands.ping()
        return _output(self._commands.run(argv))


def _output(done: Done) -> str:
    if done.exit_code:
        raise UnreachableError(
            f"command {' '.join(done.argv)[:200]}",
            found=f"exit code {done.exit_code}: {done.stderr.strip()[:300]}",
            expected="an answer",
            hint="run it by hand on this host",
        )
    return done.stdout


def _unreadable(error: InputError) -> UnreachableError:
    """What Slurm says can't be used: for the caller, the same as if it said nothing."""
    return UnreachableError(error.what, found=error.found, expected=error.expected, hint=error.hint)
