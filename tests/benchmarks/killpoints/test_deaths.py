"""A story is lived to its end from any disk; what a disk lost is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clusters import analyzer
from relume.benchmarks.killpoints.deaths import Stage, Told, die_everywhere
from relume.benchmarks.killpoints.story import Service, story


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    folder = tmp_path_factory.mktemp("story")
    made = Stage(folder / "stage", analyzer(), torn=1, seed=2)
    made.record()
    return made


def test_a_story_has_stops_and_two_failures_and_is_drawn() -> None:
    acts = [[move.act for move in story(seed)] for seed in range(8)]
    assert all(one.count(Service.restart) == 2 for one in acts)
    assert {one.count(Service.prune) for one in acts} == {0, 1}
    assert len({len(one) for one in acts}) > 3


def test_a_recording_has_deaths_of_all_kinds_everywhere(stage: Stage) -> None:
    assert {point.kind for point in stage.points} == {"kill", "power", "torn"}
    assert len({point.move for point in stage.points}) > len(stage.moves) // 2
    assert len(stage.points) > 2 * stage.calls
    assert stage.points[-1].advice == 4
    files = {name for point in stage.points for name in point.image}
    for kind in (".state", ".new", ".jsonl", ".parquet", "ledger.db-wal", "healthy.json"):
        assert any(name.endswith(kind) for name in files), kind


def test_deaths_change_nothing(stage: Stage) -> None:
    told = die_everywhere(stage, stage.drawn(6))
    assert sum(told.deaths.values()) == 6
    assert told == Told(deaths=told.deaths, calls=stage.calls)
    assert die_everywhere(stage, stage.drawn(3), lambda: True) == Told(calls=stage.calls)


def test_a_lost_ledger_and_a_lost_lake_are_seen(stage: Stage) -> None:
    last = [point for point in stage.points if point.kind == "kill"][-1]
    ledger = {name: data for name, data in last.image.items() if ".db" not in name}
    told = stage.die(replace(last, image=ledger))
    assert told.lost_advice > 0
    assert told.failures
    lake = {name: data for name, data in last.image.items() if ".db" in name}
    told = stage.die(replace(last, image=lake))
    assert told.lost_commits == last.commits
    assert told.lost_lines > 0


def test_what_can_t_even_start_is_told(stage: Stage) -> None:
    point = stage.points[-1]
    broken = {name: b"broken" if "jsonl" in name else data for name, data in point.image.items()}
    told = stage.die(replace(point, image=broken))
    assert told.unlike == 1
    assert "CorruptJournalError" in told.failures[0]


def test_what_became_of_many_is_added_up() -> None:
    told = Told(deaths={"kill": 1}, calls=5, lost_advice=1, failures=["x"] * 15)
    told.add(Told(deaths={"kill": 2, "torn": 1}, calls=7, lost_advice=2, failures=["y"] * 15))
    assert told.deaths == {"kill": 3, "torn": 1}
    assert (told.calls, told.lost_advice, len(told.failures)) == (7, 3, 20)
