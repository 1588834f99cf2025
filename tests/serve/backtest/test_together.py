"""Runs of a recording that failed together are judged side by side, and the others are counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clusters import MINUTE, Cluster
from clusters import START as BEGAN
from recording import SECOND, START, entry, judging, logged, recorded, steps
from relume.dataset import AttemptEntry
from relume.ingest.lake import LakeReader, LakeWriter
from relume.serve.backtest.live import replay_live
from relume.serve.backtest.replay import replay_unit
from relume.serve.backtest.results import unit_result
from relume.serve.backtest.sources import grouped
from relume.serve.backtest.together import Crowd
from relume.serve.backtest.units import dataset_units

KILLED = "srun: error: gpu-a01: task 1: Killed"


def made(number: int, second: int, **changes: Any) -> AttemptEntry:
    fields: dict[str, Any] = {
        "user": f"user{number}",
        "run": f"run{number}",
        "job_name": f"job{number}",
        "start": START,
        "end": START + second * SECOND,
        "state": "FAILED",
        "nodes": (f"n{number}",),
    }
    return entry(number, **(fields | changes))


def killed(folder: Path, number: int, second: int) -> AttemptEntry:
    log = logged(folder, f"{number}.out", [*steps(second - 1), KILLED])
    return made(number, second, files=(log,))


@pytest.mark.parametrize(("others", "last"), [(0, "HOLD"), (15, "HOLD"), (16, "RESTART")])
def test_the_fifth_that_fails_with_others_is_held(tmp_path: Path, others: int, last: str) -> None:
    """Of the others nothing is known but that they ran: they left no log."""
    struck = [killed(tmp_path, number, 60 + 2 * number) for number in range(1, 6)]
    quiet = [made(100 + n, 300, state="COMPLETED", exit_code=0) for n in range(others)]
    units = list(dataset_units(recorded(tmp_path, *struck, *quiet)))
    assert max(len(unit.attempts) for unit in units) == 5
    first = next(unit for unit in units if len(unit.attempts) == 5)
    found = replay_unit(first, judging().analyzer, judging().settings, "UTC")
    told = [
        [one.advice.operation.value for one in found[one.attempt].decisions if one.advice.settled]
        for one in struck
    ]
    assert [words[0] for words in told] == ["RESTART"] * 4 + [last]


def test_who_fails_at_other_times_or_in_another_cluster_is_replayed_alone() -> None:
    apart = [made(number, 60 + 700 * number) for number in range(1, 9)]
    assert [len(group) for group in grouped(apart).values()] == [1] * 8
    elsewhere = [made(n, 60, attempt=f"lab{n}/{n}@1767323045.0") for n in range(1, 9)]
    assert [len(group) for group in grouped(elsewhere).values()] == [1] * 8
    well = [made(n, 60, state="COMPLETED", exit_code=0) for n in range(1, 9)]
    assert [len(group) for group in grouped(well).values()] == [1] * 8
    nobody_knows_when = [made(n, 60, start=None, end=None) for n in range(1, 9)]
    assert [len(group) for group in grouped(nobody_knows_when).values()] == [1] * 8


def test_a_large_cluster_in_which_some_always_fail_stays_apart() -> None:
    failing = [made(number, 60 + 100 * number) for number in range(1, 9)]
    working = [made(100 + n, 3000, state="COMPLETED", exit_code=0) for n in range(80)]
    sizes = [len(group) for group in grouped([*failing, *working]).values()]
    assert sizes == [1] * 88


def test_a_crash_loop_of_one_run_is_no_storm() -> None:
    tries = [made(1, 60 + n, attempt=f"lab/1@1767323045.{n}") for n in range(6)]
    entries = [*tries, made(2, 64)]
    assert sorted(len(group) for group in grouped(entries).values()) == [1, 6]


def test_the_crowd_beside_is_of_the_same_cluster() -> None:
    mine, other = made(1, 60), made(2, 60)
    foreign = made(3, 60, attempt="far/3@1767323045.0")
    beside = Crowd([mine, other, foreign]).beside([mine], mine.job_key.cluster)
    assert [beside(START + second * SECOND) for second in (-1, 0, 59, 60)] == [0, 1, 1, 0]


def test_what_is_advised_about_nodes_and_the_cluster_is_in_the_results(tmp_path: Path) -> None:
    """A lake that a service landed: two jobs lose a GPU on one node, then five fail at once."""
    cluster = Cluster()
    lemon = [cluster.job("gpu-a50", f"gpu-a{number}") for number in (51, 52)]
    for begin, job in zip((10, 15 * MINUTE), lemon, strict=True):
        job.start(begin).train(begin + 4, begin + 30, 5).kernel(begin + 30, "gpu-a50")
        job.say(begin + 31, KILLED).end(begin + 33)
    for number, job in enumerate(cluster.jobs(5)):
        begin = 30 * MINUTE + number
        job.start(begin).say(begin + 5, KILLED).end(begin + 7)
    with LakeWriter(tmp_path) as lake:
        lake.append(cluster.told().landings)
        lake.commit({})
    settings = judging().settings
    unit, found = replay_live(LakeReader(tmp_path), judging().analyzer, settings, "UTC")
    results = [one for one in unit_result(unit, found).attempts if one.wider]
    told = [
        (one.attempt, advice.scope.value, advice.operation.value)
        for one in results
        for advice in one.wider
    ]
    assert told == [
        (lemon[1].attempt, "node", "HOLD"),
        (f"lab/3@{BEGAN}.0", "cluster", "HOLD"),
    ]
    assert all(advice.attempt == one.attempt for one in results for advice in one.wider)
