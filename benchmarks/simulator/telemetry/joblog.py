"""The log of one simulated attempt, line by line: start, steps at the true pace, its end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from relume.benchmarks.demo.frameworks import FRAMEWORKS, banner, clean_end, noise_line
from relume.benchmarks.demo.world import World
from relume.benchmarks.episodes.staging import Told
from relume.benchmarks.simulator.recording import Ended, Stay
from relume.benchmarks.simulator.telemetry.site import START, Job, moment

NOISE_SHARE = 0.05
"""Lines that show no progress, for one that does."""
PREEMPTION_SECONDS = 10.0
"""How long before its end a job is told to go; it prints, and ends."""
_MAX_STEPS = 10**9


@dataclass(slots=True)
class JobLog:
    """The log of one attempt.

    Parameters
    ----------
    job, stay
        Whose it is, and what happened.
    words
        Seeds everything that isn't part of the truth.
    told
        What is printed about its end; null where nothing happened to it.

    Attributes
    ----------
    last
        Seconds until the last step that it shows, else to its start; known when `lines` has ended.
    """

    job: Job
    stay: Stay
    words: str
    told: Told | None
    last: float = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.stay.started

    def lines(self) -> Iterator[str]:
        """Yield its lines, without line ends, as they are written."""
        job, stay = self.job, self.stay
        world, until = job.world(stay, self.words), told_from(stay)
        yield from banner(world)
        yield from self._steps(world, until)
        if self.told is not None:
            yield from (line.text for line in self.told.job if until + line.at <= stay.end)
        elif stay.ended is Ended.DONE:
            world.now = moment(stay.end)
            yield from clean_end(job.framework, world)
        elif stay.ended is Ended.REQUEUED:
            yield (
                f"slurmstepd: error: *** JOB {job.job_id} ON {world.nodes[0]} CANCELLED AT "
                f"{moment(stay.end):%Y-%m-%dT%H:%M:%S} DUE TO JOB REQUEUE ***"
            )

    def _steps(self, world: World, until: float) -> Iterator[str]:
        """Yield the lines of steps that end before `until`, with noise in between."""
        stay = self.stay
        if stay.first >= until:
            return
        world.now = moment(stay.first)
        end, changes = moment(until), [moment(pace.at) for pace in stay.paces]
        factors = [1.0, *(pace.factor for pace in stay.paces)]

        def slowdown(_step: int) -> float:
            return factors[bisect_right(changes, world.now)]

        for line in FRAMEWORKS[self.job.framework](world, _MAX_STEPS, slowdown):
            if world.now > end:
                return
            self.last = (world.now - START).total_seconds()
            yield line
            if world.rng.random() < NOISE_SHARE:
                yield noise_line(world, world.rng)


def told_from(stay: Stay) -> float:
    """Return when the steps of an attempt end, and what happened to it is told instead."""
    if stay.failure is None and stay.ended is Ended.PREEMPTED:
        return max(stay.started, stay.end - PREEMPTION_SECONDS)
    return stay.stands_at


def steps_done(job: Job, stay: Stay) -> int:
    """Return how many lines of progress an attempt wrote in all by the truth, earlier ones too."""
    until = told_from(stay)
    work, at, factor = stay.saved, stay.first, 1.0
    for pace in stay.paces:
        work, at, factor = work + (pace.at - at) / factor, pace.at, pace.factor
    return int((work + max(0.0, until - at) / factor) / job.pace)
