from __future__ import annotations

from collections.abc import Iterator

import pytest

from relume.benchmarks.demo.corpus import SLOW_FACTOR
from relume.benchmarks.demo.frameworks import FRAMEWORKS, banner, clean_end, steady
from relume.benchmarks.demo.world import make_world
from relume.features.progress import ProgressPoint, parse_progress

STEPS = 60
NAMES = sorted(FRAMEWORKS)


def points(framework: str, factor: float = 1.0) -> Iterator[ProgressPoint]:
    world = make_world("any")
    for line in FRAMEWORKS[framework](world, STEPS, lambda _: factor):
        for drawn in line.split("\r"):
            point = parse_progress(drawn)
            if point is not None:
                yield point


@pytest.mark.parametrize("framework", NAMES)
def test_every_step_is_read_as_progress(framework: str) -> None:
    steps = [point.step for point in points(framework) if point.step is not None]
    assert len(set(steps)) == STEPS
    assert steps == sorted(steps)


@pytest.mark.parametrize("framework", NAMES)
def test_what_is_not_a_step_is_not_read_as_one(framework: str) -> None:
    world = make_world("any")
    lines = [*banner(world), *clean_end(framework, world)]
    assert [line for line in lines if parse_progress(line)] == []


@pytest.mark.parametrize("framework", NAMES)
def test_a_slow_run_takes_as_much_longer_as_it_is_slow(framework: str) -> None:
    quick, slow = make_world("any"), make_world("any")
    start = quick.now
    list(FRAMEWORKS[framework](quick, STEPS, steady))
    list(FRAMEWORKS[framework](slow, STEPS, lambda _: SLOW_FACTOR))
    assert (slow.now - start) / (quick.now - start) == pytest.approx(SLOW_FACTOR)


@pytest.mark.parametrize("framework", NAMES)
def test_a_slow_run_prints_slower_numbers(framework: str) -> None:
    def pace(factor: float) -> float:
        rates = [point.rate for point in points(framework, factor) if point.rate is not None]
        assert len(rates) == STEPS
        return sum(1 / rate for rate in rates)

    assert pace(SLOW_FACTOR) / pace(1.0) == pytest.approx(SLOW_FACTOR, rel=0.01)


def test_the_banner_speaks_for_every_rank() -> None:
    world = make_world("any")
    joined = [line for line in banner(world) if line.endswith("Init COMPLETE")]
    assert len(joined) == world.ranks
    for rank, line in enumerate(joined):
        assert line.startswith(f"{world.node_of(rank)}:")
        assert f" rank {rank} nranks {world.ranks} " in line
