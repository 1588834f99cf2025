"""Holds that others placed on jobs that opted in: whatever happens, Relume leaves them alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relume.benchmarks.loop.asked import Asked, changing
from relume.benchmarks.loop.site import Site
from relume.benchmarks.loop.training import opted_in
from relume.benchmarks.slurm.processes import wait_until
from relume.slurm.job import SlurmJob

_MARKS = "AdminComment="


@dataclass(frozen=True, slots=True)
class ForeignHolds:
    """Two jobs that wait: one submitted with ``--hold``, one that its user requeued and held."""

    site: Site
    submitted: str
    requeued: str

    @classmethod
    def place(cls, site: Site) -> ForeignHolds:
        """Submit and hold them, the second when the controller has seen it run."""
        options = ("--nodes=1", f"--comment={opted_in('foreign')}")
        submitted = site.lab.submit("sleep 3600", "--hold", *options)
        requeued = site.lab.submit("sleep 3600", *options)
        holds = cls(site, submitted, requeued)
        wait_until(
            lambda: bool(holds._job(requeued).admin_comment),
            what="the controller's mark on a running job",
            seconds=60,
        )
        site.lab.run("scontrol", "requeuehold", requeued)
        wait_until(lambda: holds._job(requeued).held, what="the user's hold")
        return holds

    def touched(self) -> list[str]:
        """Return what was done to them, in words; nothing if they are as they were."""
        return [*self._moved(self.submitted, 0), *self._moved(self.requeued, 1)]

    def _moved(self, job_id: str, restarts: int) -> Iterator[str]:
        job = self._job(job_id)
        if not job.held or job.restart_count != restarts:
            yield f"job {job_id} is {job.state} after {job.restart_count} restarts"
        given = (one for one in changing(self.site.commands(), job_id) if not _marks(one))
        yield from (f"job {job_id}: {' '.join(one.argv)}" for one in given)

    def _job(self, job_id: str) -> SlurmJob:
        job = self.site.reader.job(job_id)
        if job is None:
            raise AssertionError(f"Slurm has forgotten job {job_id}")
        return job


def _marks(command: Asked) -> bool:
    """Whether it only says in the AdminComment whose job it is."""
    return any(word.startswith(_MARKS) for word in command.argv)
