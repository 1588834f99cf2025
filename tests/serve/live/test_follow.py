"""Output files and the attempts that they belong to."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.events import SourceStatus
from relume.ingest.lake.batches import Landing, LineBatch
from relume.ingest.tailing.opening import open_trusted
from relume.serve.live.follow import JobLogs, job_paths
from relume.serve.live.naming import LOG_ENDED, log_source
from relume.verdict import Health

SECOND = 1_000_000
A, B = "lab/7@1.0", "lab/7@1.1"


def lines(landings: list[Landing]) -> list[tuple[str | None, bytes]]:
    return [(one.attempt, one.block.data) for one in landings if isinstance(one, LineBatch)]


def ends(landings: list[Landing]) -> list[tuple[str, Health, str | None]]:
    whole = {log_source(A), log_source(B)}
    return [
        (one.source, one.status, one.reason)
        for one in landings
        if isinstance(one, SourceStatus) and one.source in whole
    ]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    path = tmp_path / "job.out"
    path.write_text("one\n")
    return path


def followed(path: Path, resumed: dict[str, str] | None = None) -> JobLogs:
    logs = JobLogs("lab", resumed or {})
    logs.follow(A, str(path), "stdout", open_trusted)
    return logs


def test_lines_come_once_and_the_unfinished_one_with_the_end(out: Path) -> None:
    logs = followed(out)
    assert lines(list(logs.poll(1))) == [(A, b"one\n")]
    assert lines(list(logs.poll(2))) == []
    with out.open("a") as file:
        file.write("two")
    assert lines(list(logs.poll(3))) == []
    logs.end(A, 4)
    last = list(logs.poll(4))
    assert lines(last) == [(A, b"two\n")]
    assert ends(last) == [(log_source(A), Health.HEALTHY, LOG_ENDED)]
    assert list(logs.poll(5)) == []


def test_a_successor_begins_when_the_attempt_before_is_read_up(out: Path) -> None:
    logs = followed(out)
    logs.follow(B, str(out), "stdout", open_trusted)
    first = list(logs.poll(1))
    assert lines(first) == [(A, b"one\n")]
    assert len(ends(first)) == 1
    with out.open("a") as file:
        file.write("two\n")
    assert lines(list(logs.poll(2))) == [(B, b"two\n")]


def test_a_file_that_vanished_is_given_up_after_a_while_and_that_is_said(out: Path) -> None:
    logs = followed(out)
    out.unlink()
    logs.end(A, 0)
    assert ends(list(logs.poll(30 * SECOND))) == []
    ((_, status, reason),) = ends(list(logs.poll(61 * SECOND)))
    assert status is Health.UNKNOWN
    assert reason is not None
    assert "job.out" in reason


def test_an_attempt_without_a_file_says_so() -> None:
    logs = JobLogs("lab")
    logs.end(A, 0)
    ((_, status, reason),) = ends(list(logs.poll(1)))
    assert (status, reason) == (Health.UNKNOWN, "Slurm names no output file")


def test_positions_carry_a_reading_over_a_restart(out: Path) -> None:
    logs = followed(out)
    list(logs.poll(1))
    kept = {name: text for name, text in logs.positions.items() if text is not None}
    with out.open("a") as file:
        file.write("two\n")
    assert lines(list(followed(out, kept).poll(2))) == [(A, b"two\n")]


def test_what_is_gone_is_forgotten_position_and_all(out: Path) -> None:
    logs = followed(out)
    logs.end(A, 0)
    list(logs.poll(1))
    logs.forget([A])
    assert logs.positions == {f"file {out}": None}
    assert len(logs) == 0


def test_both_streams_are_read_and_devices_are_not() -> None:
    assert job_paths("/a.out", "/a.err") == [("/a.out", "stdout"), ("/a.err", "stderr")]
    assert job_paths(None, None) == []
