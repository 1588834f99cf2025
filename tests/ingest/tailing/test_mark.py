"""Whether a file was written on, or anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from relume.ingest.tail import Tailer
from relume.ingest.tailing.mark import EndMark, Since, mark_end, since
from relume.ingest.tailing.opening import open_trusted
from relume.ingest.tailing.position import TailPosition

TEXT = "".join(f"line {n}\n" for n in range(100)) + "the error\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "job.out"
    path.write_text(TEXT)
    os.utime(path, ns=(1, 1))
    return path


def read(log: Path) -> tuple[TailPosition, EndMark]:
    tailer = Tailer(log)
    position = tailer.finish().position
    tailer.close()
    return position, mark_end(log, position, open_trusted)


def found(log: Path, at: tuple[TailPosition, EndMark]) -> Since:
    return since(log, *at, open_trusted)


def test_nobody_wrote(log: Path) -> None:
    assert found(log, read(log)) is Since.UNTOUCHED


def test_more_was_appended(log: Path) -> None:
    at = read(log)
    with log.open("a") as file:
        file.write("more\n")
    assert found(log, at) is Since.CONTINUED


@pytest.mark.parametrize(
    "text",
    ["", "short\n", TEXT, TEXT.replace("error", "errat"), TEXT.replace("the error", "more") * 2],
)
def test_it_was_written_anew(log: Path, text: str) -> None:
    at = read(log)
    log.write_text(text)
    assert found(log, at) is Since.REPLACED


def test_another_file_has_the_name(log: Path) -> None:
    at = read(log)
    other = log.with_suffix(".new")
    other.write_text(TEXT + "more\n")
    other.rename(log)
    assert found(log, at) is Since.REPLACED


def test_a_file_that_is_gone_raises(log: Path) -> None:
    at = read(log)
    log.unlink()
    with pytest.raises(FileNotFoundError):
        found(log, at)
