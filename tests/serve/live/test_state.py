"""A live run goes on from what it kept: nothing is lost or doubled, and little is judged again."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from controlling import SECOND
from living import Live
from relume.advice import comparable
from relume.events import Tick
from relume.ingest.lake import LakeReader, LakeWriter, Landing
from relume.ingest.lake.journal import read_positions
from relume.ingest.lake.retention import JUDGE, STATE, plan_pruning
from relume.models.templates.history import TemplateHistory
from relume.serve.healthy import HISTORY_FILE
from relume.serve.ledger import Ledger, sqlite_url
from relume.serve.live.bookkeeping import Bookkeeper
from relume.serve.live.session import Session
from relume.slurm.job import SlurmJob

ERROR = ("[rank1]: Traceback (most recent call last):", "[rank1]: KeyError: 'vocab'")


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    live = Live(tmp_path, state_seconds=20.0)
    yield live
    live.close()


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Landing]:
    """What is judged, live or again."""
    landings: list[Landing] = []
    real = Bookkeeper.take

    def take(books: Bookkeeper, landing: Landing) -> bool:
        landings.append(landing)
        return real(books, landing)

    monkeypatch.setattr(Bookkeeper, "take", take)
    return landings


def trains(live: Live, seconds: int = 60) -> None:
    live.clock.advance(2)
    live.write("starting", mode="w")
    live.tell(live.job())
    for _ in range(0, seconds, 10):
        live.train(10)
        live.tell(live.job())


def fails(live: Live, count: int = 0) -> None:
    live.write(*ERROR)
    live.tick()
    live.tell(live.held(count + 1))
    live.tick(2)


def stop(live: Live) -> None:
    """End the service as it ends itself, and start it again."""
    live.session.finish()
    live.restart()


def taught(live: Live) -> TemplateHistory:
    history = live.session.books.judge.teaches
    assert history is not None
    return history


def states(live: Live) -> list[Path]:
    return sorted((live.path / "lake" / "state").glob("*.state"))


def test_after_a_stop_nothing_is_judged_again(live: Live, taken: list[Landing]) -> None:
    trains(live)
    live.session.finish()
    taken.clear()
    live.restart()
    assert taken == []
    live.tell(live.job())
    fails(live)
    assert [one[2:] for one in live.advice()] == [("RESTART", False), ("RESTART", True)]
    assert live.record(0).last_step == 60
    assert [comparable(one) for one in live.written()] == live.replayed()


def test_after_a_kill_only_what_landed_since_is_judged_again(
    live: Live, taken: list[Landing]
) -> None:
    trains(live, 100)
    since = int(states(live)[-1].stem)
    taken.clear()
    live.restart()
    found = [one for one in taken if isinstance(one, Tick)]
    again = list(LakeReader(live.path / "lake").landings(since))
    assert found == [one for one in again if isinstance(one, Tick)]
    assert 0 < len(found) < 30
    fails(live)
    assert [comparable(one) for one in live.written()] == live.replayed()


def test_the_last_two_are_kept(live: Live) -> None:
    trains(live, 120)
    assert len(states(live)) == 2


@pytest.mark.parametrize("ends", ["stopped", "killed"])
def test_a_whole_story_with_a_restart_after_every_move(live: Live, ends: str) -> None:
    def again(*shown: SlurmJob) -> None:
        if ends == "stopped":
            live.session.finish()
        live.restart()
        live.tell(*shown)

    trains(live)
    again(live.job())
    live.write(*ERROR)
    again(live.job())
    live.tick()
    again(live.job())
    live.tell(live.held(1))
    again(live.held(1))
    live.tick(2)
    again(live.held(1))
    live.write("starting again", mode="w")
    began = live.clock.now() // SECOND * SECOND
    live.tell(live.runs(1))
    again(live.runs(1))
    live.train(30)
    again(live.runs(1, submit_time=began, start_time=began))
    live.write("[rank0]: ValueError: the shapes do not match")
    live.tick()
    again(live.held(2))
    live.tick(2)
    again(live.held(2))
    live.tick(20)
    assert [comparable(one) for one in live.written()] == live.replayed()
    operations = [(name[-1], what, settled) for name, _, what, settled in live.advice()]
    settling = [("RESTART", False), ("RESTART", True)]
    assert operations == [(number, *one) for number in "01" for one in settling]
    assert (live.record(1).first_step, live.record(1).last_step) == (61, 90)
    assert live.aftermath() == live.aftermath_replayed()


def test_with_other_settings_everything_is_judged_again(
    live: Live, taken: list[Landing], caplog: pytest.LogCaptureFixture
) -> None:
    trains(live)
    live.session.finish()
    before = len(taken)
    taken.clear()
    live.session.close()
    watch = replace(live.options.watch, settle_seconds=11.0)
    live.around = replace(live.around, options=replace(live.options, watch=watch))
    live.session = Session(live.around)
    assert "is not used: other settings" in caplog.text
    assert len(taken) == before
    assert states(live) == []
    assert STATE in read_positions(live.path / "lake")
    live.tell(live.job())
    live.session.flush()
    assert STATE not in read_positions(live.path / "lake")


def test_a_damaged_state_costs_time_and_nothing_else(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    trains(live)
    live.session.finish()
    for path in states(live):
        path.write_bytes(path.read_bytes()[:-20])
    live.restart()
    assert caplog.text.count("another digest") == 2
    live.tell(live.job())
    fails(live)
    assert [comparable(one) for one in live.written()] == live.replayed()


def test_what_healthy_jobs_taught_is_kept_with_it(live: Live) -> None:
    trains(live)
    live.tell(live.end_of(0, "COMPLETED", exit_code=0))
    live.tick(700)
    knows = "lab/7@1767323045.0"
    assert taught(live).knows(knows)
    stop(live)
    assert taught(live).knows(knows)
    assert live.session.books.judge.history is taught(live)


def test_who_removes_what_healthy_jobs_taught_is_heeded(live: Live) -> None:
    trains(live)
    live.tell(live.end_of(0, "COMPLETED", exit_code=0))
    live.tick(700)
    live.session.finish()
    live.session.close()
    (live.path / "lake" / HISTORY_FILE).unlink()
    live.session = Session(live.around)
    assert states(live) == []


def test_an_older_copy_of_the_ledger_is_told_again_what_it_lacks(
    live: Live, caplog: pytest.LogCaptureFixture
) -> None:
    trains(live)
    live.session.flush()
    files = (live.path / name for name in ("ledger.db", "copy.db"))
    now, copy = (sqlite3.connect(file) for file in files)
    with closing(now), closing(copy):
        now.backup(copy)
    fails(live)
    live.tick(40)
    assert len(live.advice()) == 2
    live.session.finish()
    live.session.close()
    live.around = replace(live.around, ledger=Ledger.open(sqlite_url(live.path / "copy.db")))
    live.ledger.close()
    live.ledger = live.around.ledger
    live.session = Session(live.around)
    assert "what goes with it is gone" in caplog.text
    assert [one[2:] for one in live.advice()] == [("RESTART", False), ("RESTART", True)]


def test_the_lake_may_be_pruned_up_to_the_older_state(live: Live) -> None:
    trains(live, 120)
    live.session.flush()
    positions = read_positions(live.path / "lake")
    older = int(states(live)[0].stem)
    assert int(positions[JUDGE]) < older == int(positions[STATE])
    later = live.clock.now() + 10**9
    assert plan_pruning(live.path / "lake", later).through == older
    live.session.close()
    with LakeWriter(live.path / "lake") as lake:
        lake.prune(older)
    live.session = Session(live.around)
    live.tell(live.job())
    fails(live)
    assert [one[2:] for one in live.advice()] == [("RESTART", False), ("RESTART", True)]
    assert live.record(0).first_step == 1


def test_without_an_interval_none_is_kept(tmp_path: Path) -> None:
    live = Live(tmp_path, state_seconds=0.0)
    trains(live)
    live.session.finish()
    assert not (tmp_path / "lake" / "state").exists()
    live.close()


def test_it_is_told_from_where_a_run_goes_on(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    trains(live)
    live.session.finish()
    number = int(states(live)[-1].stem)
    live.restart()
    assert f"going on from the state as of commit {number}" in caplog.text


def _flip(path: Path, place: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(place * (len(data) - 1))] ^= 0x10
    path.write_bytes(data)


def _as_folder(path: Path) -> None:
    path.unlink()
    (path / "inside").mkdir(parents=True)


def _renamed(path: Path) -> None:
    path.rename(path.with_name("newest.state"))


def _beyond(path: Path) -> None:
    path.rename(path.with_name("9" * 20 + ".state"))


def _linked(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nonexistent")


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"{" * 100_000),
        lambda path: _flip(path, 0.0),
        lambda path: _flip(path, 0.01),
        lambda path: _flip(path, 0.5),
        lambda path: _flip(path, 1.0),
        lambda path: path.write_bytes(path.read_bytes() * 2),
        _as_folder,
        _renamed,
        _beyond,
        _linked,
    ],
)
def test_whatever_stands_in_the_folder_of_states(
    live: Live, damage: Callable[[Path], object]
) -> None:
    trains(live)
    live.session.finish()
    for path in states(live):
        damage(path)
    live.restart()
    live.tell(live.job())
    fails(live)
    assert [comparable(one) for one in live.written()] == live.replayed()
    stop(live)
    assert [one[2:] for one in live.advice()] == [("RESTART", False), ("RESTART", True)]
