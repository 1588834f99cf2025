"""What the loop needs of its surroundings: the two doors to Slurm, the service, the time."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from relume.clock import Clock, SystemClock
from relume.controller.commands import Done
from relume.controller.service import ServiceClient
from relume.slurm.job import SlurmJob, SlurmSnapshot


class Reader(Protocol):
    """Reads Slurm; see `relume.controller.reader.SlurmReader`."""

    def snapshot(self) -> SlurmSnapshot:
        """Return all jobs and nodes."""
        ...

    def job(self, job_id: str, known: SlurmJob | None = None) -> SlurmJob | None:
        """Return one job, null when there is none; with what is known of it, that is cheaper."""
        ...

    def find(self, job_ids: Collection[str]) -> Mapping[str, SlurmJob]:
        """Return those of these jobs that there are."""
        ...


class Actuator(Protocol):
    """Changes Slurm; see `relume.controller.actuator.SlurmActuator`."""

    def requeue_hold(self, job_id: str) -> Done:
        """Requeue a job and hold it."""
        ...

    def requeue_hold_running(self, job_id: str) -> Done:
        """Requeue a job and hold it, unless it has ended."""
        ...

    def release(self, job_id: str) -> Done:
        """Let a held job go."""
        ...

    def set_exclude(self, job_id: str, nodes: Iterable[str]) -> Done:
        """Replace the nodes that a job must not use."""
        ...

    def set_admin_comment(self, job_id: str, text: str) -> Done:
        """Replace the AdminComment."""
        ...

    def cancel(self, job_id: str) -> Done:
        """Cancel a job."""
        ...


class Stop(Protocol):
    """Says when to end; `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether to end."""
        ...

    def wait(self, timeout: float) -> bool:
        """Wait at most so many seconds, less when it is set."""
        ...


def _seconds_since_boot() -> float:
    """Like `time.monotonic`, but it goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@dataclass(frozen=True, slots=True)
class Doors:
    """Where facts come from and steps go to.

    `clock` is the time of day, for what is written down; `monotonic` gives seconds that never jump,
    for what must not last too long.
    """

    reader: Reader
    actuator: Actuator
    service: ServiceClient
    clock: Clock = field(default_factory=SystemClock)
    monotonic: Callable[[], float] = _seconds_since_boot
