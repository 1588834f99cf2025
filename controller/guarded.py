"""The actuator with the one guard that Slurm has: requeue only what has not ended.

Between our last look at a running job and our command it may end well, or be cancelled, and a plain
requeue would revive it. Accounting can't tell afterwards: it writes REQUEUED over what the row of
the attempt said before (22.05). So slurmctld itself has to look.
"""

from __future__ import annotations

from relume.controller.actuator import SlurmActuator, SlurmBusyError
from relume.controller.commands import Done
from relume.errors import UnreachableError


def command(job_id: str) -> tuple[str, ...]:
    """Return the command: `scontrol(1)`, requeuehold, option Incomplete.

    It touches jobs that are CONFIGURING, RUNNING, STOPPED or SUSPENDED. Others it leaves as they
    are, and ends with exit code 0 all the same.
    """
    return ("scontrol", "requeuehold", "Incomplete", job_id)


class GuardedActuator(SlurmActuator):
    """Changes jobs of one cluster, with that guard."""

    def requeue_hold_running(self, job_id: str) -> Done:
        """Requeue a job and hold it, unless it has ended or is about to.

        Raises
        ------
        SlurmBusyError
            When Slurm refuses it or doesn't answer: read the job back.
        """
        argv = command(job_id)
        what = f"order {' '.join(argv)}"
        try:
            self._commands.ping()
            self.mutations += 1
            done = self._commands.run(argv)
        except UnreachableError as error:
            raise SlurmBusyError(what, found=str(error), expected="an answer") from error
        if done.exit_code:
            found = f"exit code {done.exit_code}: {done.stderr.strip()[:300]}"
            raise SlurmBusyError(what, found=found, expected="Slurm to take it")
        return done
