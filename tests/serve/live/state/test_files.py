"""A state's file is whole or not there, and damage is seen before anything is made of it."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.serve.live.state.binding import Binding, LakePoint
from relume.serve.live.state.files import Header, name_of, read_header, read_state, write_state

HEADER = Header(Binding("code", "rules", "settings"), LakePoint(7, 5), 6)
BODY = bytes(range(256)) * 300


def body(stream: IO[bytes]) -> None:
    for start in range(0, len(BODY), 1000):
        stream.write(BODY[start : start + 1000])


def whole(stream: IO[bytes]) -> bytes:
    return stream.read(1000) + stream.read(len(BODY)) + stream.read(1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("state")
    write_state(folder, HEADER, body)
    return (folder / name_of(7)).read_bytes()


def test_what_is_written_is_read(tmp_path: Path) -> None:
    size = write_state(tmp_path, HEADER, body)
    (path,) = tmp_path.iterdir()
    assert (path.name, path.stat().st_size) == (name_of(7), size)
    assert read_header(path) == HEADER
    assert read_state(path, whole) == BODY


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing(stream: IO[bytes]) -> None:
        body(stream)
        raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space left"):
        write_state(tmp_path, HEADER, failing)
    assert list(tmp_path.iterdir()) == []


@given(share=st.floats(0, 1, exclude_max=True))
def test_a_lost_tail_is_seen(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, share: float
) -> None:
    path = tmp_path_factory.mktemp("torn") / name_of(7)
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError, match=r"kept state .*; found"):
        read_state(path, whole)


@given(share=st.floats(0, 1, exclude_max=True), flip=st.integers(1, 255))
def test_a_changed_byte_is_seen(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, share: float, flip: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / name_of(7)
    place = int(share * len(data))
    path.write_bytes(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])
    with pytest.raises(InputError, match=r"kept state .*; found"):
        read_state(path, whole)


def test_a_block_that_never_reached_the_disk_is_seen(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / name_of(7)
    path.write_bytes(data[:100] + bytes(100) + data[200:])
    with pytest.raises(InputError, match="another digest"):
        read_state(path, whole)


@pytest.mark.parametrize("line", [b"", b"{}\n", b'{"binding":1}\n', b"\xff\n", b"x" * 70_000])
def test_a_file_of_others_has_no_header(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / name_of(7)
    path.write_bytes(line)
    with pytest.raises(InputError, match="a whole file of ours"):
        read_header(path)


def test_a_body_that_is_whole_and_nobody_s_is_refused(tmp_path: Path) -> None:
    def lines(stream: IO[bytes]) -> bytes:
        return stream.readline()

    write_state(tmp_path, HEADER, body)
    with pytest.raises(InputError, match="found a line"):
        read_state(tmp_path / name_of(7), lines)
