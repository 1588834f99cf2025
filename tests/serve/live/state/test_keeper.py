"""When states are kept, how many, and which one a restart goes on from."""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from clusters import analyzer
from relume.events import Tick
from relume.ingest.lake import LakeWriter
from relume.models.hang.settings import HangSettings
from relume.serve.live.options import RunnerOptions
from relume.serve.live.state import Binding, Kept, LakePoint, StateKeeper, bound
from relume.serve.live.state.binding import code_version, is_point_of
from relume.serve.live.state.files import name_of
from relume.serve.offline import Analyzer

HERE = Binding("code", "rules", "settings")
SECOND = 1_000_000


class Lake:
    """A lake with a few commits, and keepers of its state."""

    def __init__(self, path: Path, commits: int = 5) -> None:
        self.path = path
        self.states = path / "state"
        self.points = {}
        with LakeWriter(path) as writer:
            for number in range(commits):
                writer.append([Tick(event_time=number)])
                landed = writer.commit({})
                self.points[landed.sequence] = LakePoint(landed.sequence, landed.committed_at)

    def keeper(
        self, binding: Binding = HERE, *, beside: bool = False, seconds: float = 10
    ) -> StateKeeper:
        return StateKeeper(self.path, binding, analyzer(), seconds=seconds, beside=beside)

    def keep(self, *sequences: int) -> StateKeeper:
        keeper = self.keeper()
        for number in sequences:
            keeper.keep([number], self.points[number], number)
        return keeper

    def names(self) -> list[str]:
        return sorted(path.name for path in self.states.iterdir())

    def found(self, binding: Binding = HERE) -> Kept[list[int]] | None:
        return self.keeper(binding).newest(list)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def wait_for(keeper: StateKeeper, now: int) -> None:
    """Wait until no process writes any more: it ends by itself."""
    assert keeper.writer is not None
    os.waitid(os.P_PID, keeper.writer, os.WEXITED | os.WNOWAIT)
    keeper.is_due(now)


def test_the_first_one_is_due_after_an_interval_and_then_once_in_each(lake: Lake) -> None:
    keeper = lake.keeper()
    assert not keeper.is_due(100)
    assert not keeper.is_due(9 * SECOND)
    assert keeper.is_due(100 + 10 * SECOND)
    keeper.keep([1], lake.points[1], 12 * SECOND)
    assert not keeper.is_due(21 * SECOND)
    assert keeper.is_due(22 * SECOND)


def test_the_newest_is_found_and_the_last_two_are_kept(lake: Lake) -> None:
    keeper = lake.keeper()
    assert lake.found() is None
    for number, needs in ((1, None), (2, 1), (4, 2)):
        keeper.keep([number], lake.points[number], number)
        assert keeper.needs_after == needs
    assert lake.names() == [name_of(2), name_of(4)]
    again = lake.keeper()
    assert again.newest(list) == Kept(lake.points[4], [4])
    assert again.needs_after == 2


def test_a_state_of_the_same_commit_is_not_written_again(lake: Lake) -> None:
    keeper = lake.keep(3)
    before = (lake.states / name_of(3)).stat().st_ino
    keeper.keep([0], lake.points[3], 9)
    assert (lake.states / name_of(3)).stat().st_ino == before


def test_none_is_kept_or_used_where_the_interval_is_zero(lake: Lake) -> None:
    lake.keep(3)
    keeper = lake.keeper(seconds=0)
    assert keeper.newest(list) is None
    assert not keeper.is_due(10**15)
    keeper.keep([4], lake.points[4], 5, last=True)
    assert lake.names() == [name_of(3)]


@pytest.mark.parametrize(
    ("binding", "words"),
    [
        (Binding("code", "rules", "settings", 99), "another format"),
        (Binding("x", "rules", "settings"), "another version of Relume"),
        (Binding("code", "x", "settings"), "another rules"),
        (Binding("code", "rules", "x"), "other settings"),
    ],
    ids=["format", "code", "rules", "settings"],
)
def test_what_doesn_t_go_with_it_is_told_and_taken_away(
    lake: Lake, caplog: pytest.LogCaptureFixture, binding: Binding, words: str
) -> None:
    lake.keep(2, 3)
    assert lake.found(binding) is None
    assert caplog.text.count(f"is not used: {words}") == 2
    assert lake.names() == []


@pytest.mark.parametrize("point", [LakePoint(3, 1), LakePoint(9, 1)], ids=["other", "newer"])
def test_a_state_of_another_lake_is_not_used(
    lake: Lake, caplog: pytest.LogCaptureFixture, point: LakePoint
) -> None:
    lake.keeper().keep([1], point, 0)
    assert lake.found() is None
    assert "another lake, or an older copy of it" in caplog.text


def test_where_the_newer_one_is_damaged_the_older_one_serves(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    lake.keep(2, 4)
    newer = lake.states / name_of(4)
    newer.write_bytes(newer.read_bytes()[:-1])
    (lake.states / f"{9:020d}.new").touch()
    keeper = lake.keeper()
    assert keeper.newest(list) == Kept(lake.points[2], [2])
    assert "another digest" in caplog.text
    assert lake.names() == [name_of(2)]
    assert keeper.needs_after is None


def test_a_header_that_can_t_be_read_is_told(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    lake.keep(2)
    (lake.states / name_of(3)).mkdir()
    assert lake.found() == Kept(lake.points[2], [2])
    assert "Is a directory" in caplog.text


def test_what_is_of_another_kind_or_lacks_something_is_not_used(lake: Lake) -> None:
    lake.keep(1)
    assert lake.keeper().newest(dict) is None
    lake.keep(2)
    assert lake.keeper().newest(list, lambda _: False) is None


def test_a_disk_that_doesn_t_take_it_is_told(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    lake.states.write_text("in the way")
    lake.keeper().keep([1], lake.points[1], 0)
    assert "the state could not be kept: " in caplog.text


def test_what_can_t_be_written_is_told(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    lake.keeper().keep(lambda: None, lake.points[1], 0)
    assert "the state can't be written" in caplog.text
    assert lake.names() == []


def test_a_process_beside_writes_it(lake: Lake, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    keeper = lake.keeper(beside=True)
    keeper.keep([1], lake.points[1], 0)
    wait_for(keeper, 1)
    assert lake.found() == Kept(lake.points[1], [1])
    assert "going on from the state as of commit 1" in caplog.text


@pytest.mark.parametrize(
    ("value", "words"), [([1], "Not a directory"), (lambda: None, "see above")], ids=["disk", "us"]
)
def test_a_process_beside_that_fails_is_told(
    lake: Lake, caplog: pytest.LogCaptureFixture, value: object, words: str
) -> None:
    if words == "Not a directory":
        lake.states.write_text("in the way")
    keeper = lake.keeper(beside=True)
    keeper.keep(value, lake.points[1], 0)
    wait_for(keeper, 1)
    assert "the state could not be kept: " in caplog.text
    assert keeper.needs_after is None


def stuck(_value: object, _header: object) -> None:
    signal.pause()


def test_a_process_that_takes_too_long_is_ended(
    lake: Lake, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = lake.keeper(beside=True)
    monkeypatch.setattr(keeper, "_write", stuck)
    keeper.keep([1], lake.points[1], 0)
    assert not keeper.is_due(39 * SECOND)
    assert keeper.writer is not None
    assert keeper.is_due(41 * SECOND)
    assert "takes too long" in caplog.text


def test_a_process_that_is_killed_is_told(
    lake: Lake, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = lake.keeper(beside=True)
    monkeypatch.setattr(keeper, "_write", stuck)
    keeper.keep([1], lake.points[1], 0)
    assert keeper.writer is not None
    os.kill(keeper.writer, signal.SIGKILL)
    wait_for(keeper, 1)
    assert "was killed by signal 9" in caplog.text


def test_the_last_one_doesn_t_wait_for_the_one_that_is_being_written(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = lake.keeper(beside=True)
    with monkeypatch.context() as patched:
        patched.setattr(keeper, "_write", stuck)
        keeper.keep([1], lake.points[1], 0)
    keeper.keep([2], lake.points[2], 1, last=True)
    assert lake.found() == Kept(lake.points[2], [2])
    keeper.close()


def test_a_machine_without_room_for_a_process_goes_on(
    lake: Lake, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork() -> int:
        raise BlockingIOError(11, "no more processes")

    monkeypatch.setattr(os, "fork", fork)
    keeper = lake.keeper(beside=True)
    keeper.keep([1], lake.points[1], 0)
    assert "no process to keep the state: no more processes" in caplog.text
    assert not keeper.is_due(SECOND)


def test_a_process_that_somebody_else_waited_for_is_over(lake: Lake) -> None:
    keeper = lake.keeper(beside=True)
    keeper.keep([1], lake.points[1], 0)
    assert keeper.writer is not None
    os.waitpid(keeper.writer, 0)
    keeper.is_due(1)
    assert keeper.writer is None


def test_a_state_that_can_t_be_taken_away_is_told(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    (lake.states / name_of(9)).mkdir(parents=True)
    assert lake.found() is None
    assert f"cannot take {name_of(9)} away" in caplog.text


def test_whatever_changes_what_is_judged_changes_the_binding() -> None:
    options = RunnerOptions()
    one = bound(options, analyzer())
    assert one == bound(RunnerOptions(log_roots=("/logs",), tick_seconds=2), analyzer())
    watch = replace(options.watch, hang=HangSettings.of_budget(0.1))
    assert one.settings != bound(replace(options, watch=watch), analyzer()).settings
    assert one.settings != bound(replace(options, zone="Europe/Berlin"), analyzer()).settings
    assert one.settings != bound(options, Analyzer(zone="Europe/Berlin")).settings
    assert one.code == code_version()


def test_a_lake_without_the_commit_has_no_such_point(lake: Lake) -> None:
    assert is_point_of(lake.path, lake.points[2])
    assert not is_point_of(lake.path, LakePoint(2, 0))
    assert not is_point_of(lake.path, LakePoint(77, 0))
