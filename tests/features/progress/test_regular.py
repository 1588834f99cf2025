"""Work that no progress format knows: counters that grow, phases by their words."""

from __future__ import annotations

import pytest

from relume.features.progress.regular import goes_on_after, is_waiting, last_work


def numbered(words: str, count: int, *, begin: int = 0) -> list[tuple[int, str]]:
    return [(n, words.format(n=n)) for n in range(begin, begin + count)]


@pytest.mark.parametrize(
    "words",
    ["batch {n} of 900", "{n} MB sent", "saving the optimizer's part", "[rank0]: row {n} 0x7f0{n}"],
)
def test_counters_and_phases_are_work(words: str) -> None:
    assert last_work(numbered(words, 12)) == 11
    assert last_work(numbered(words, 4)) is None


@pytest.mark.parametrize(
    "words",
    [
        "still waiting for rank 3, {n} s",
        "heartbeat {n}",
        "2026-03-02 03:{n:02d}:00 the job runs",
        "[{n}.123456] the job runs",
        "gpu util 0 %, 71 GB used",
        "Watchdog: {n} collectives are out",
        "retrying, attempt {n}",
        "frame #{n}: ncclAllReduce",
    ],
)
def test_waiting_clocks_and_stacks_are_none(words: str) -> None:
    assert last_work(numbered(words, 40)) is None


def test_a_number_that_falls_is_no_counter() -> None:
    assert last_work((n, f"memory {100 - n}") for n in range(30)) is None
    assert last_work((n, f"load {n % 3}") for n in range(30)) is None


def test_a_job_that_goes_on_as_before_goes_on() -> None:
    habit = "row {n} of the table"
    lines = [*numbered(habit, 10), (10, "FATAL: broken"), *numbered(habit, 25, begin=11)]
    assert goes_on_after(lines, 10)
    assert not goes_on_after(lines[:25], 10)
    assert not goes_on_after(lines, 30)


def test_lines_that_begin_with_the_failure_are_its_report() -> None:
    lines = [*numbered("row {n}", 10), (10, "FATAL"), *numbered("#{n} in ?? ()", 40, begin=11)]
    assert not goes_on_after(lines, 10)


def test_where_the_past_is_lost_a_growing_number_is_enough() -> None:
    assert goes_on_after(numbered("row {n}", 30, begin=500), 10)
    assert not goes_on_after(numbered("the job runs", 30, begin=500), 10)


def test_only_the_beginning_of_a_line_says_that_its_printer_waits() -> None:
    assert is_waiting("2026-03-02 03:00:00 Heartbeat of rank 4")
    assert not is_waiting("GET /weights 200")
    assert not is_waiting("x" * 300 + "waiting")
