"""Sums of series whose parts come in pieces: whole, or not at all."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from relume.ingest.push.sums import LOW_TIMES, SLOTS, Sums

Point = tuple[int, int, float]
"""Part, time, value; all of sum 0."""


def take(sums: Sums, points: list[Point]) -> list[tuple[int, float]]:
    of, times, values = sums.take(
        np.array([part for part, _, _ in points], np.int32),
        np.zeros(len(points), np.int32),
        np.array([time for _, time, _ in points], np.int64),
        np.array([value for _, _, value in points], np.float64),
    )
    assert not of.any()
    return list(zip(times.tolist(), values.tolist(), strict=True))


def scrape(time: int, parts: int) -> list[Point]:
    return [(part, time, 10.0 * part + time) for part in range(parts)]


def total(time: int, parts: int) -> tuple[int, float]:
    return time, sum(value for _, _, value in scrape(time, parts))


def taught(parts: int) -> Sums:
    sums = Sums()
    assert [take(sums, scrape(time, parts)) for time in range(SLOTS)] == [[]] * SLOTS
    return sums


@given(st.integers(1, 5), st.lists(st.integers(0, 19), max_size=19))
@settings(max_examples=80, deadline=None)
def test_wherever_bodies_are_cut_the_sums_are_the_same(parts: int, cuts: list[int]) -> None:
    points = [point for time in range(10) for point in scrape(time, parts)]
    bounds = sorted({0, len(points), *(cut % len(points) for cut in cuts)})
    sums = Sums()
    found = [one for start, end in pairwise(bounds) for one in take(sums, points[start:end])]
    assert found == [total(time, parts) for time in range(SLOTS, 10)]


def test_nothing_is_told_while_nobody_knows_how_many_parts_there_are() -> None:
    sums = Sums()
    assert take(sums, []) == []
    assert take(sums, scrape(0, 2)) == []  # the first part of a scrape that the start cut in two
    for time in range(1, 9):
        assert take(sums, scrape(time, 5)) == ([] if time < SLOTS else [total(time, 5)])


def test_an_incomplete_sum_is_never_told() -> None:
    sums = taught(3)
    assert take(sums, scrape(10, 2)) == []
    assert take(sums, scrape(11, 3)) == [total(11, 3)]


def test_parts_of_two_times_may_come_mixed() -> None:
    sums = taught(2)
    (a, b), (c, d) = scrape(10, 2), scrape(11, 2)
    assert take(sums, [a, c]) == []
    assert take(sums, [b]) == [total(10, 2)]
    assert take(sums, [d]) == [total(11, 2)]


def test_what_is_repeated_is_not_added_again_but_told_again() -> None:
    sums = taught(3)
    first, last = scrape(10, 3)[:2], scrape(10, 3)[2:]
    assert take(sums, first + first) == []
    assert take(sums, last) == [total(10, 3)]
    assert take(sums, last) == [total(10, 3)]
    assert take(sums, first) == [total(10, 3)]
    assert take(sums, scrape(2, 3)) == [total(2, 3)]  # was known by then, though not told
    assert take(sums, [(7, -5, 1.0)]) == []  # too late for any


def test_parts_that_are_gone_are_not_waited_for_for_ever() -> None:
    sums = taught(3)
    found = [take(sums, scrape(time, 2)) for time in range(10, 30)]
    assert found[: LOW_TIMES + SLOTS - 1] == [[]] * (LOW_TIMES + SLOTS - 1)
    assert found[-1] == [total(29, 2)]


def test_one_bad_scrape_makes_nobody_forget_a_part() -> None:
    sums = taught(3)
    for time in range(10, 60):
        parts = 2 if time % 3 == 0 else 3
        assert take(sums, scrape(time, parts)) == ([] if parts < 3 else [total(time, 3)])


def test_a_part_that_is_new_counts_from_the_next_time_on() -> None:
    sums = taught(2)
    assert take(sums, scrape(10, 3)) == [total(10, 3)]
    assert take(sums, scrape(11, 3)[:2]) == []
    assert take(sums, scrape(11, 3)[2:]) == [total(11, 3)]


def test_many_sums_are_kept_apart() -> None:
    sums = Sums()
    numbers = np.arange(3_000, dtype=np.int32)
    for time in range(7):
        of, times, values = sums.take(
            numbers, numbers // 3, np.full(3_000, time, np.int64), numbers.astype(np.float64)
        )
        if time < SLOTS:
            assert not len(of)
            continue
        assert of.tolist() == list(range(1_000))
        assert set(times.tolist()) == {time}
        assert values.tolist() == [9.0 * one + 3 for one in range(1_000)]
