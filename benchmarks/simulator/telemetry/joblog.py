"""The log of one simulated attempt, line by line: start, steps at the true pace, its end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from relume.benchmarks.demo.frameworks import FRAMEWORKS, banner, clean_end, noise_line
from relume.benchmarks.demo.world import World
from relume.benchmarks.episodes.staging import Told
from relume.benchmarks.simulator.recording import Ended, Stay
from relume.benchmarks.simulator.telemetry.site import Job, moment

NOISE_SHARE = 0.05
"""Lines that show no progress, for one that does."""
PREEMPTION_SECONDS = 60.0
"""How long before its end a job learns that it is preempted."""
_MAX_STEPS = 10**9


def job_lines(job: Job, stay: Stay, words: str, told: Told | None) -> Iterator[str]:
    """Yield the lines of an attempt, without line ends, as they are written.

    Parameters
    ----------
    job, stay
        Whose they are, and what happened.
    words
        Seeds everything that isn't part of the truth.
    told
        What is printed about its end; null where nothing happened to it.
    """
    world = job.world(stay, words)
    yield from banner(world)
    until = told_from(stay)
    yield from _steps(job, stay, world, until)
    if told is not None:
        yield from (line.text for line in told.job if until + line.at <= stay.end)
    elif stay.ended is Ended.DONE:
        world.now = moment(stay.end)
        yield from clean_end(job.framework, world)
    elif stay.ended is Ended.REQUEUED:
        yield (
            f"slurmstepd: error: *** JOB {job.job_id} ON {world.nodes[0]} CANCELLED AT "
            f"{moment(stay.end):%Y-%m-%dT%H:%M:%S} DUE TO JOB REQUEUE ***"
        )


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


def _steps(job: Job, stay: Stay, world: World, until: float) -> Iterator[str]:
    """Yield the lines of steps that end before `until`, with noise in between."""
    if stay.first >= until:
        return
    world.now = moment(stay.first)
    end, changes = moment(until), [moment(pace.at) for pace in stay.paces]
    factors = [1.0, *(pace.factor for pace in stay.paces)]

    def slowdown(_step: int) -> float:
        return factors[bisect_right(changes, world.now)]

    for line in FRAMEWORKS[job.framework](world, _MAX_STEPS, slowdown):
        if world.now > end:
            return
        yield line
        if world.rng.random() < NOISE_SHARE:
            yield noise_line(world, world.rng)
