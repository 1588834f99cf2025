"""The door through which Slurm is read: bounded commands in, snapshots out; nothing is changed."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from relume.clock import Clock, SystemClock
from relume.controller.commands import DEFAULT_TIMEOUT_SECONDS, Done, SlurmCommands
from relume.errors import InputError, UnreachableError
from relume.slurm import history, onejob, sacct, scontrol, squeue
from relume.slurm.history import Asked
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

    def job(self, job_id: str, known: SlurmJob | None = None) -> SlurmJob | None:
        """Return one job, null when slurmctld has none of that id (any more).

        With what is `known` of it only that job is asked for, where that is safe; else all are.
        """
        if known is None:
            return self.find([job_id]).get(job_id)
        asked_at = self._clock.now()
        self._commands.ping()
        done = self._commands.run((*onejob.COMMAND, job_id))
        if done.exit_code and "Invalid job id" in done.stderr:
            return None
        now = onejob.parse_job(_output(done), known, asked_at)
        return self.job(job_id) if now is None else now

    def find(self, job_ids: Collection[str]) -> dict[str, SlurmJob]:
        """Return those of these jobs that slurmctld has, by one listing of all.

        A task of an array that waits in one record with others is among them.
        """
        listed = self._jobs(self._clock.now())
        found = {job.job_id: job for job in listed}
        shared = [job for job in listed if "[" in job.job_id]
        for job_id in job_ids:
            record = next((one for one in shared if squeue.task_of(one.job_id, job_id)), None)
            if job_id not in found and record is not None:
                found[job_id] = replace(record, job_id=job_id)
        return {job_id: found[job_id] for job_id in job_ids if job_id in found}

    def accounting(self, job_id: str) -> list[AttemptRow]:
        """Return every attempt of every job that had this id, oldest first.

        `relume.identity.chain_attempts` tells jobs and attempts apart. It asks slurmdbd, and works
        while slurmctld is away. A site without accounting raises `UnreachableError`.
        """
        return self.accounting_of([job_id])

    def accounting_of(self, job_ids: Collection[str]) -> list[AttemptRow]:
        """Return the same of several jobs, by one command; none for none."""
        if not job_ids:
            return []
        separator = f"<{secrets.token_hex(8)}>"
        done = self._commands.run(sacct.command(",".join(job_ids), separator))
        try:
            rows = sacct.parse_sacct(_output(done), separator)
        except InputError as error:
            raise _unreadable(error) from error
        return sorted((r for r in rows if r.job_id in job_ids), key=lambda row: row.submit_time)

    def history(self, asked: Asked) -> tuple[str, bool]:
        """Return what accounting knows of a time, as a table with a header.

        The second value says whether it has the paths of output files. One command, two where
        Slurm is older than 24.05.
        """
        for with_paths in (True, False):
            done = self._commands.run(history.command(asked, with_paths=with_paths))
            if not (done.exit_code and with_paths and history.refuses_fields(done.stderr)):
                break
        return _output(done), with_paths

    def jobs(self) -> list[SlurmJob]:
        """Return all jobs that slurmctld has, by one command: slow when it is away."""
        return self._listed(self._clock.now(), _output(self._commands.run(squeue.COMMAND)))

    def _jobs(self, asked_at: int) -> list[SlurmJob]:
        return self._listed(asked_at, self._read(squeue.COMMAND))

    def _listed(self, asked_at: int, text: str) -> list[SlurmJob]:
        try:
            return squeue.parse_squeue(text, asked_at)
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
