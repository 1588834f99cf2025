"""What each rank printed lately."""

from __future__ import annotations

import numpy as np

from relume.models.straggler import book
from relume.models.straggler.book import RankBook
from relume.models.straggler.steps import StepTime


def filled(ranks: int = 4, steps: int = 40, slow_from: int = 25) -> RankBook:
    one = RankBook()
    for step in range(steps):
        for rank in range(ranks):
            value = 1.5 if rank == 1 and step >= slow_from else 1.0
            one.take(rank, StepTime(value=value, step=step))
    return one


def test_ranks_are_compared_from_the_first_slow_step_on() -> None:
    times = filled().since(25, {0: "n0", 1: "n0", 2: "n1", 3: "n1"})
    assert times is not None
    assert times.times.shape == (15, 4)
    assert times.nodes == ("n0", "n0", "n1", "n1")
    assert times.before is not None
    assert times.before.tolist() == [1.0] * 4
    parts = times.decompose()
    assert parts is not None
    assert parts.rank is not None
    assert parts.rank.name == 1


def test_steps_that_a_rank_did_not_print_are_unknown() -> None:
    one = filled()
    one.take(0, StepTime(value=1.0, step=40))
    times = one.since(25)
    assert times is not None
    assert np.isnan(times.times[-1]).tolist() == [False, True, True, True]


def test_one_rank_alone_is_compared_with_nobody() -> None:
    assert filled(ranks=1).since(25) is None
    assert filled().since(100) is None


def test_without_a_past_nothing_is_known_of_before() -> None:
    times = filled().since(0)
    assert times is not None
    assert times.before is None


def test_it_is_bounded() -> None:
    one = RankBook()
    for rank in range(book.MAX_RANKS + 50):
        for step in range(2):
            one.take(rank, StepTime(value=1.0, step=step))
    for step in range(200):
        one.take(0, StepTime(value=1.0, step=step))
    times = one.since(0)
    assert times is not None
    assert len(times.ranks) == book.MAX_RANKS
    assert len(times.times) <= book.KEPT + 2
