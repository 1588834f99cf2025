"""Failures that came again, and the nodes that they are blamed on."""

from __future__ import annotations

from relume.serve.scan.summary import NodeRecord, past_attempts, repeats, suspicious_nodes
from scanning import make_scanned


def attempt(job: int, restart: int = 0) -> str:
    return f"lab/{job}@{1767323045 + job}.{restart}"


def test_a_failure_that_came_again_in_another_job_is_one_repeat() -> None:
    scanned = [
        make_scanned(attempt(1), text="KeyError: 'x' on rank 3"),
        make_scanned(attempt(2), text="KeyError: 'x' on rank 7"),
        make_scanned(attempt(3), text="ValueError: no batch"),
        make_scanned(attempt(4), text=None),
    ]
    [repeat] = repeats(scanned)
    assert repeat.attempts == (attempt(1), attempt(2))
    assert repeat.streak == 1
    assert repeat.fingerprint == scanned[0].fingerprint


def test_a_streak_is_counted_within_a_run_and_ends_with_progress() -> None:
    stuck = [make_scanned(attempt(1, n), last_step=40, run="a") for n in range(3)]
    moving = [make_scanned(attempt(2, n), last_step=40 + n, run="b") for n in range(5)]
    [repeat] = repeats([*stuck, *moving])
    assert len(repeat.attempts) == 8
    assert repeat.streak == 3


def test_attempts_of_several_jobs_of_a_run_are_numbered_by_age() -> None:
    scanned = [make_scanned(attempt(job), run="a", last_step=job) for job in (10, 9, 2)]
    assert [(one.restart_count, one.last_step) for one in past_attempts(scanned)] == [
        (0, 2),
        (1, 9),
        (2, 10),
    ]


def test_nodes_are_blamed_by_verdicts_only() -> None:
    scanned = [
        make_scanned(attempt(1), culprit="n1"),
        make_scanned(attempt(2), culprit="n1"),
        make_scanned(attempt(3)),
        make_scanned(attempt(4), text=None),
        make_scanned(attempt(5), text=None, culprit="n2"),
    ]
    assert suspicious_nodes(scanned) == [NodeRecord("n1", 2, 3, 5)]
    assert suspicious_nodes([]) == []
