"""Which named files are refused because reading them might never end."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from relume.files import small_text, special_kind


def test_files_and_folders_are_nothing_special(tmp_path: Path) -> None:
    (tmp_path / "a.log").touch()
    assert special_kind(tmp_path) is None
    assert special_kind(tmp_path / "a.log") is None
    with pytest.raises(FileNotFoundError):
        special_kind(tmp_path / "missing")


def test_what_may_never_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    os.mkfifo("pipe")
    (tmp_path / "link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert special_kind(Path("socket")) == "a socket"
    assert special_kind(Path("pipe")) == special_kind(Path("link")) == "a named pipe"
    assert special_kind(Path("/dev/zero")) == "a device"


def test_what_is_handed_over_open_is_read() -> None:
    reading, writing = os.pipe()
    terminal, other = os.openpty()
    zero = os.open("/dev/zero", os.O_RDONLY)
    try:
        for folder in ("/dev/fd", "/proc/self/fd"):
            assert special_kind(Path(folder, str(reading))) is None
            assert special_kind(Path(folder, str(terminal))) is None
            assert special_kind(Path(folder, str(other))) is None
            assert special_kind(Path(folder, str(zero))) == "a device"
    finally:
        for descriptor in (reading, writing, terminal, other, zero):
            os.close(descriptor)


def test_the_null_device_is_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/null")
    assert special_kind(Path("/dev/null")) is None
    assert special_kind(tmp_path / "link") is None


def test_small_texts_come_from_any_editor_and_end(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes("\ufeffsecret\r\n".encode())
    assert small_text(file).splitlines() == small_text(file, "ascii").splitlines() == ["secret"]
    file.write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        small_text(file)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="a named pipe, of which nobody knows"):
        small_text(pipe)
