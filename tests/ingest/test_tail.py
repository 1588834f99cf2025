"""One growing file: each line once, whatever happens to the file and to us."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relume.errors import InputError
from relume.ingest.tail import Tailer, TailEvent, TailResult
from relume.ingest.tailing.position import TailPosition
from relume.verdict import Health


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "slurm-12.out"


@pytest.fixture
def follow() -> Iterator[Callable[..., Tailer]]:
    """Make tailers that are closed in the end."""
    tailers: list[Tailer] = []

    def make(path: Path, position: TailPosition | None = None, **options: object) -> Tailer:
        tailers.append(Tailer(path, position, **options))  # type: ignore[arg-type]
        return tailers[-1]

    yield make
    for tailer in tailers:
        tailer.close()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as stream:
        stream.write(data)


def text(result: TailResult) -> bytes:
    return b"".join(block.data for block in result.blocks)


def test_lines_come_once_they_are_whole(log: Path, follow: Callable[..., Tailer]) -> None:
    append(log, b"one\ntw")
    tailer = follow(log)
    assert text(tailer.poll()) == b"one\n"
    append(log, b"o\nthr")
    result = tailer.poll()
    assert text(result) == b"two\n"
    assert [(block.first_line, block.byte_offset_at(0)) for block in result.blocks] == [(1, 4)]
    assert result.lag_bytes == 0
    assert text(tailer.poll()) == b""
    last = tailer.finish()
    assert (text(last), last.ended) == (b"thr\n", True)


def test_a_bar_that_is_redrawn_shows_before_its_line_ends(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"start\n\r 1%\r 2%")
    tailer = follow(log)
    assert text(tailer.poll()) == b"start\n\n 1%\n"
    append(log, b"\r 3%")
    [block] = tailer.poll().blocks
    assert (block.data, block.line_at(0), block.byte_offset_at(0)) == (b" 2%\n", 1, 6)


def test_a_restart_goes_on_in_the_middle_of_a_line(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"one\ntw")
    first = follow(log).poll()
    append(log, b"o\n")
    resumed = follow(log, TailPosition.from_text(first.position.to_text()))
    [block] = resumed.poll().blocks
    assert (block.data, block.line_at(0), block.byte_offset_at(0)) == (b"two\n", 1, 4)


def test_another_mount_of_the_same_file_is_the_same_file(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"one\n")
    position = follow(log).poll().position
    append(log, b"two\n")
    moved = TailPosition.from_text(
        position.to_text().replace(f'"device":{position.device}', '"device":1')
    )
    assert moved.device == 1
    assert text(follow(log, moved).poll()) == b"two\n"


def test_a_requeue_truncates_and_begins_a_new_stream(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"old 1\nold 2")
    tailer = follow(log)
    tailer.poll()
    log.write_bytes(b"new\n")
    result = tailer.poll()
    assert (text(result), result.events) == (b"old 2\n", frozenset({TailEvent.TRUNCATED}))
    [block] = tailer.poll().blocks
    assert (block.data, block.first_line, block.byte_offset_at(0)) == (b"new\n", 0, 0)


def test_a_new_file_that_has_grown_past_the_old_one_is_known_by_its_first_bytes(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"old\n")
    tailer = follow(log)
    tailer.poll()
    log.write_bytes(b"new line, longer\n")
    assert tailer.poll().events == frozenset({TailEvent.TRUNCATED})
    assert text(tailer.poll()) == b"new line, longer\n"


def test_a_requeue_while_we_were_away_still_delivers_the_unfinished_line(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"old 1\nold 2")
    position = follow(log).poll().position
    log.write_bytes(b"new\n")
    resumed = follow(log, position)
    result = resumed.poll()
    assert (text(result), result.events) == (b"old 2\n", frozenset({TailEvent.TRUNCATED}))
    assert text(resumed.poll()) == b"new\n"


def test_finish_tells_a_stream_that_was_cut_off_from_one_that_ended(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"old")
    tailer = follow(log)
    tailer.poll()
    log.write_bytes(b"")
    result = tailer.finish()
    assert (text(result), result.ended) == (b"old\n", True)
    assert result.events == frozenset({TailEvent.TRUNCATED})


def test_rotation_finishes_the_old_file_before_the_new_one(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"old 1\n")
    tailer = follow(log)
    tailer.poll()
    old = log.rename(log.with_name("slurm-12.out.1"))
    append(old, b"old 2\n")
    append(log, b"new\n")
    assert text(tailer.poll()) == b"old 2\n"
    assert tailer.poll().events == frozenset()
    append(old, b"late")  # the writer had not opened the new file yet
    assert text(tailer.poll()) == b""
    result = tailer.poll()
    assert (text(result), result.events) == (b"late\n", frozenset({TailEvent.ROTATED}))
    assert text(tailer.poll()) == b"new\n"


def test_rotation_while_we_were_away(log: Path, follow: Callable[..., Tailer]) -> None:
    append(log, b"old 1\n")
    position = follow(log).poll().position
    append(log, b"old 2\n")
    log.rename(log.with_name("slurm-12.out-20260102"))
    append(log, b"new\n")
    resumed = follow(log, position)
    assert text(resumed.poll()) == b"old 2\n"
    polls = [resumed.poll() for _ in range(3)]
    assert [poll.events for poll in polls] == [
        frozenset(),
        frozenset({TailEvent.ROTATED}),
        frozenset(),
    ]
    assert text(polls[-1]) == b"new\n"


def test_an_old_file_that_is_gone_for_good_only_ends(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"old 1\nold 2")
    position = follow(log).poll().position
    log.rename(log.with_name("elsewhere"))
    append(log, b"new\n")
    resumed = follow(log, position)
    result = resumed.poll()
    assert (text(result), result.events) == (b"old 2\n", frozenset({TailEvent.ROTATED}))
    assert text(resumed.poll()) == b"new\n"


def test_an_inode_that_was_given_out_again_is_not_the_old_file(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"old 1\nold 2")
    position = follow(log).poll().position
    log.write_bytes(b"something else, and longer\n")
    log.rename(log.with_name("slurm-12.out.1"))
    append(log, b"new\n")
    result = follow(log, position).poll()
    assert (text(result), result.events) == (b"old 2\n", frozenset({TailEvent.ROTATED}))


def test_finish_goes_over_a_rotation(log: Path, follow: Callable[..., Tailer]) -> None:
    append(log, b"old")
    tailer = follow(log)
    tailer.poll()
    log.rename(log.with_name("slurm-12.out.1"))
    append(log, b"new")
    results = [tailer.finish(), tailer.finish()]
    assert [text(result) for result in results] == [b"old\n", b"new\n"]
    assert [result.ended for result in results] == [False, True]


def test_a_file_that_is_not_there_yet(log: Path, follow: Callable[..., Tailer]) -> None:
    tailer = follow(log)
    result = tailer.poll()
    assert (result.events, result.lag_bytes) == (frozenset({TailEvent.MISSING}), None)
    status = result.status("job 12", cluster="lab", observed_at=7)
    assert (status.status, status.observed_at) == (Health.UNKNOWN, 7)
    assert status.reason == f"{log} is not there yet"
    append(log, b"one\n")
    result = tailer.poll()
    assert text(result) == b"one\n"
    assert result.status("job 12", cluster="lab", observed_at=8).status is Health.HEALTHY


def test_a_deleted_file_is_read_to_its_end(log: Path, follow: Callable[..., Tailer]) -> None:
    append(log, b"one\n")
    tailer = follow(log)
    tailer.poll()
    with log.open("ab") as stream:
        log.unlink()
        stream.write(b"two\n")
    assert text(tailer.poll()) == b"two\n"
    result = tailer.poll()
    assert result.events == frozenset({TailEvent.MISSING})
    assert "no more" in (result.reason or "")
    assert tailer.finish().ended


def test_what_cannot_be_opened_is_a_status_never_an_error(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"one\n")

    def denied(path: Path) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    def refused(path: Path) -> int:
        raise InputError(f"log {path} is not read", found="a link out")

    for opener, words in ((denied, "Permission denied"), (refused, "a link out")):
        result = follow(log, opener=opener).poll()
        status = result.status("job 12", cluster="lab", observed_at=7)
        assert result.events == frozenset({TailEvent.UNREADABLE})
        assert status.status is Health.UNHEALTHY
        assert words in (status.reason or "")


def test_a_descriptor_that_went_stale_is_replaced(log: Path, follow: Callable[..., Tailer]) -> None:
    append(log, b"one\ntw")
    opened: list[int] = []

    def opener(path: Path) -> int:
        opened.append(os.open(path, os.O_RDONLY))
        return opened[-1]

    tailer = follow(log, opener=opener)
    tailer.poll()
    folder = os.open(log.parent, os.O_RDONLY)
    os.dup2(folder, opened[-1])  # reading it fails from now on
    os.close(folder)
    append(log, b"o\n")
    assert tailer.poll().events == frozenset({TailEvent.UNREADABLE})
    assert text(tailer.poll()) == b"two\n"


def test_a_name_that_leads_elsewhere_later_leaves_the_open_file_alone(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    append(log, b"one\n")
    allowed = [True]

    def opener(path: Path) -> int:
        if not allowed[0]:
            raise InputError(f"log {path} is not read")
        return os.open(path, os.O_RDONLY)

    tailer = follow(log, opener=opener)
    tailer.poll()
    allowed[0] = False
    assert tailer.poll().events == frozenset({TailEvent.UNREADABLE})
    append(log, b"two\n")
    assert text(tailer.poll()) == b"two\n"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_not_waited_for(
    log: Path, follow: Callable[..., Tailer], kind: str
) -> None:
    log.mkdir() if kind == "folder" else os.mkfifo(log)
    assert follow(log).poll().events == frozenset({TailEvent.UNREADABLE})


def test_a_poll_reads_no_more_than_it_is_told(log: Path, follow: Callable[..., Tailer]) -> None:
    append(log, b"0123456\n" * 10)
    tailer = follow(log)
    result = tailer.poll(max_bytes=20)
    assert (text(result), result.lag_bytes) == (b"0123456\n" * 2, 60)
    rest = [tailer.finish(max_bytes=20) for _ in range(3)]
    assert [result.ended for result in rest] == [False, False, True]
    assert b"".join(map(text, rest)) == b"0123456\n" * 8


def test_nuls_at_the_end_may_be_bytes_under_way(log: Path, follow: Callable[..., Tailer]) -> None:
    append(log, b"one\n\0\0\0\0")
    tailer = follow(log)
    result = tailer.poll()
    assert (text(result), result.lag_bytes) == (b"one\n", 4)
    with log.open("r+b") as stream:
        stream.seek(4)
        stream.write(b"two\n")
    assert text(tailer.poll()) == b"two\n"


def test_the_hole_of_a_truncated_file_is_passed_over(
    log: Path, follow: Callable[..., Tailer]
) -> None:
    with log.open("wb") as writer:  # does not append: it goes on at its own offset
        writer.write(b"old\n" * 1000)
        writer.flush()
        tailer = follow(log)
        tailer.poll()
        os.truncate(log, 0)
        writer.write(b"new\n")
    assert tailer.poll().events == frozenset({TailEvent.TRUNCATED})
    [block] = tailer.poll().blocks
    assert (block.data, block.line_at(0)) == (b"new\n", 0)


def test_a_name_that_is_no_utf8_is_shown_as_text(
    tmp_path: Path, follow: Callable[..., Tailer]
) -> None:
    log = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xe9.log"))
    append(log, b"one\n")
    [block] = follow(log).poll().blocks
    assert block.file == f"{tmp_path}/a\ufffd.log"
