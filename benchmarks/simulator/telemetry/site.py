"""What a simulated cluster is called: names, ids and the time of its clocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from relume.benchmarks.demo.frameworks import FRAMEWORKS
from relume.benchmarks.demo.world import World
from relume.benchmarks.simulator.recording import Stay
from relume.clock import from_datetime
from relume.identity import AttemptId, JobKey

CLUSTER = "simulated"
START = datetime(2026, 3, 2, tzinfo=UTC)
"""When a simulated cluster begins to live."""
_FIRST_JOB = 100_001
PACES = 4.0, 12.0
"""Seconds from one line of progress to the next."""
_PROJECTS = 8
"""Names of jobs, each of one user and framework: runs of a name are a family."""


def moment(seconds: float) -> datetime:
    """Return what the clocks show so many seconds after the start."""
    return START + timedelta(seconds=seconds)


def micros(seconds: float) -> int:
    """Return a time in UTC microseconds."""
    return from_datetime(moment(seconds))


def slurm_micros(seconds: float) -> int:
    """Return a time as the scheduler has it: in whole seconds, the next one."""
    return micros(math.ceil(seconds))


def node_name(number: int) -> str:
    """Return the name of a node.

    >>> node_name(7)
    'gpu-0007'
    """
    return f"gpu-{number:04d}"


@dataclass(frozen=True, slots=True)
class Job:
    """One run as Slurm and its log know it.

    Attributes
    ----------
    run
        Its name in the simulation.
    job_id, name, user
        In Slurm.
    framework
        Whose lines it prints.
    pace
        Seconds from one line of progress to the next.
    """

    run: str
    job_id: int
    name: str
    user: str
    framework: str
    pace: float

    @classmethod
    def of(cls, run: str, number: int, words: str) -> Job:
        """Draw the job of a run; `words` seeds it."""
        rng = Random(f"{words}/{run}")
        project = rng.randrange(_PROJECTS)
        of_project = Random(f"{words}/project {project}")
        framework, pace = of_project.choice(list(FRAMEWORKS)), of_project.uniform(*PACES)
        return cls(
            run=run,
            job_id=_FIRST_JOB + number,
            name=f"{framework}-{project}",
            user=f"user{project // 2}",
            framework=framework,
            pace=round(pace * rng.uniform(0.9, 1.1), 3),
        )

    def attempt(self, stay: Stay) -> str:
        """Return the identity of one of its attempts."""
        first = slurm_micros(stay.submitted)
        key = JobKey(CLUSTER, str(self.job_id), first)
        return str(AttemptId(key, stay.number))

    def world(self, stay: Stay, words: str) -> World:
        """Return the world in which one of its attempts writes its log, at its start."""
        return World(
            rng=Random(f"{words}/{self.run}/{stay.number}"),
            nodes=tuple(map(node_name, stay.nodes.tolist())),
            job_id=self.job_id,
            now=moment(stay.started),
            pace=self.pace,
            done=int(stay.saved / self.pace),
        )
