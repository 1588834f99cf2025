"""What a job's earlier attempts taught, in replays: only what was over before, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recording import SECOND, START, clock, entry, judging, logged, recorded
from relume.dataset import AttemptEntry
from relume.ingest.datasets import read_dataset
from relume.serve.backtest.replay import Replayed, replay_unit
from relume.serve.backtest.sources import grouped
from relume.serve.backtest.units import dataset_units


def steps(begin: int, count: int, first: int = 1) -> list[str]:
    """A step a second from `begin` on, seconds after the start of all."""
    return [
        f"[{clock(begin + n)}] iter {first + n}: loss 3.9, time 1000.00ms" for n in range(count)
    ]


def attempt(
    folder: Path, number: int, begin: int, trains: int, end: int, **changes: Any
) -> AttemptEntry:
    """Job `number` trains for so many seconds, and is silent from then to its end."""
    log = logged(folder, f"{number}.out", steps(begin, trains))
    fields: dict[str, Any] = {
        "files": (log,),
        "start": START + begin * SECOND,
        "end": START + end * SECOND,
        "state": "CANCELLED",
        "exit_code": None,
        "job_name": "pretrain",
        "user": "ada",
    }
    return entry(number, **(fields | changes))


def replayed(folder: Path, *entries: AttemptEntry) -> dict[str, Replayed]:
    recorded(folder, *entries)
    found: dict[str, Replayed] = {}
    for unit in dataset_units(read_dataset(folder)):
        found |= replay_unit(unit, judging().analyzer, judging().settings, "UTC")
    return found


def hung_after(found: dict[str, Replayed], one: AttemptEntry, trained_until: int) -> int | None:
    """Seconds from the last step to the first Advice, null without any."""
    decisions = found[one.attempt].decisions
    if not decisions:
        return None
    return (decisions[0].advice.created_at - START) // SECOND - trained_until


def test_the_third_job_of_a_name_is_found_three_times_as_fast(tmp_path: Path) -> None:
    first = attempt(tmp_path, 1, 0, 600, 600, state="COMPLETED")
    second = attempt(tmp_path, 2, 1000, 300, 2000)
    third = attempt(tmp_path, 3, 3000, 310, 4000)
    found = replayed(tmp_path, third, second, first)
    assert hung_after(found, first, 600) is None
    assert hung_after(found, second, 1300) == 301
    assert hung_after(found, third, 3310) == 91


@pytest.mark.parametrize(
    "change",
    [
        {"user": "bob"},
        {"job_name": "finetune"},
        {"nodes": ("gpu-a01",)},
        {"start": START + 590 * SECOND},  # it was not over yet when the second one began
    ],
)
def test_others_teach_nothing_of_how_long_pauses_are(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    before = [
        attempt(tmp_path, number, 0, 600, end, state="COMPLETED")
        for number, end in ((1, 600), (2, 601))
    ]
    last = attempt(tmp_path, 3, 1000, 300, 2000, **change)
    found = replayed(tmp_path, *before, last)
    assert hung_after(found, last, 1300) == 301


def test_the_tries_of_one_job_are_a_family_without_a_name(tmp_path: Path) -> None:
    first = attempt(tmp_path, 1, 0, 600, 600, state="FAILED", job_name=None)
    again = attempt(tmp_path, 2, 1000, 300, 2000, job_name=None)
    again = replace(again, attempt=first.attempt.replace(".0", ".1"))
    found = replayed(tmp_path, first, again)
    assert hung_after(found, again, 1300) == 91


def sizes(entries: Sequence[AttemptEntry]) -> list[int]:
    return sorted(len(group) for group in grouped(entries).values())


def test_runs_and_families_that_hang_together_are_replayed_together() -> None:
    loose = [
        entry(1, run="opus", user="ada", job_name="a"),
        entry(2, run="solo", user="ada", job_name="b"),
        entry(3, run="duo", user="ada", job_name="c"),
        entry(4, run="opus", user="bob", job_name="a"),
    ]
    assert sizes(loose) == [1, 1, 1, 1]
    assert sizes([*loose, entry(5, run="opus", user="ada", job_name="b")]) == [1, 1, 3]
    bridge = entry(6, run="solo", user="ada", job_name="c")
    assert sizes([*loose, entry(5, run="opus", user="ada", job_name="b"), bridge]) == [1, 5]
