"""The controller's folder: what others read in it is whole, what they write is found."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from relume.controller.folder import ControllerFolder, Heartbeat
from relume.errors import ConfigError, UnreachableError


@pytest.fixture
def folder(tmp_path: Path) -> ControllerFolder:
    folder = ControllerFolder(tmp_path / "a" / "b")
    folder.prepare()
    return folder


def test_only_one_at_a_time(folder: ControllerFolder) -> None:
    other = ControllerFolder(folder.path)
    with pytest.raises(ConfigError, match="another controller"):
        other.prepare()
    folder.close()
    other.prepare()
    other.close()
    assert other.holder() == folder.holder()


def test_folders_have_names_of_their_own(folder: ControllerFolder, tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    assert ControllerFolder(tmp_path / "c").holder() != folder.holder()


@pytest.mark.parametrize("content", [b"", b"\xff", b"two words", b"0123"])
def test_a_name_that_was_not_written_to_its_end_is_none(
    folder: ControllerFolder, content: bytes
) -> None:
    """Else two folders whose controllers were killed at their first start would have one name."""
    (folder.path / "identity").write_bytes(content)
    name = folder.holder()
    assert re.fullmatch(r".+:[0-9a-f]{32}", name)
    assert folder.holder() == name


def test_decisions_are_replaced_as_a_whole(folder: ControllerFolder) -> None:
    folder.write_decisions(["hold 7 0"], 9_999_999)
    folder.write_decisions(["stop 8 1", "hold 9 0"], 12_000_000)
    lines = (folder.epilog / "decisions").read_text().splitlines()
    assert lines[1:] == ["until 12", "stop 8 1", "hold 9 0"]
    assert sorted(one.name for one in folder.epilog.iterdir()) == ["decisions", "held"]
    folder.clear_decisions()
    folder.clear_decisions()
    assert not (folder.epilog / "decisions").exists()


def test_notes_are_found_and_forgotten(folder: ControllerFolder) -> None:
    held = folder.epilog / "held"
    for name, second in (("12_3.1", 5), ("7.0", 4), (".7.0.new", 1), ("7", 1), ("x.0", 1)):
        (held / name).touch()
        os.utime(held / name, (second, second))
    notes = folder.notes()
    assert [(one.job_id, one.restart_count, one.noted_at) for one in notes] == [
        ("7", 0, 4_000_000),
        ("12_3", 1, 5_000_000),
    ]
    folder.forget(notes[0])
    folder.forget(notes[0])
    assert folder.notes() == notes[1:]


def test_the_wake_file(folder: ControllerFolder) -> None:
    before = folder.wake_stamp()
    (folder.epilog / "wake").touch()
    first = folder.wake_stamp()
    os.utime(folder.epilog / "wake", (1, 1))
    assert len({before, first, folder.wake_stamp()}) == 3


def test_the_heartbeat(folder: ControllerFolder) -> None:
    assert folder.heartbeat() is None
    beat = Heartbeat(5, None, "act", "host")
    folder.beat(beat)
    assert folder.heartbeat() == beat


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"at": "noon"}', b"\xff\x00"])
def test_a_heartbeat_that_is_none_is_named(folder: ControllerFolder, content: bytes) -> None:
    (folder.path / "heartbeat.json").write_bytes(content)
    with pytest.raises(
        UnreachableError, match=r"heartbeat\.json; found .*; expected what .relume control"
    ):
        folder.heartbeat()


def test_a_folder_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = ControllerFolder(tmp_path / "file" / "x")
    for use in (folder.prepare, folder.notes, folder.holder):
        with pytest.raises(UnreachableError, match=r"controller\.folder .*/file/x.*check the path"):
            use()
    assert folder.wake_stamp() == 0
    with pytest.raises(UnreachableError, match="check the path"):
        folder.beat(Heartbeat(5, None, "act", "host"))


def test_a_folder_that_is_not_there_yet_is_the_controllers_to_make(tmp_path: Path) -> None:
    folder = ControllerFolder(tmp_path / "x")
    with pytest.raises(UnreachableError, match=r"found no such folder; expected that of .relume"):
        folder.notes()
