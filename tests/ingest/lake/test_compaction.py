"""Merged segments hold the same landings in the same order, whoever reads, whatever is killed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from killing import Killed, killed_at
from relume.clock import ManualClock, SystemClock, from_iso
from relume.errors import RelumeError
from relume.events import Sample, Tick
from relume.ingest.blocks import Block
from relume.ingest.lake import LakeReader, LakeWriter, LineBatch, compaction
from relume.ingest.lake.compaction import Compaction, compact
from relume.ingest.lake.errors import LakeError, LakeWriteError
from relume.ingest.lake.journal import read_commits
from relume.ingest.lake.retention import plan_pruning
from relume.ingest.lake.sql import connect

NOON = from_iso("2026-01-01T12:00:00Z")
MINUTE = 60_000_000


def lines(number: int) -> LineBatch:
    raw = b"a %d\nb\n" % number
    block = Block(raw, "log", 2 * number, raw_offset=8 * number, line_offset=8 * number)
    return LineBatch(block=block, attempt="lab/7@1.0", observed_at=number)


def land(lake: LakeWriter, start: int, count: int) -> None:
    for number in range(start, start + count):
        sample = Sample(source="x", metric="m", value=float(number))
        lake.append([Tick(event_time=number), lines(number), sample, Tick(event_time=number)])
        lake.commit({"log": str(number)})


def told(folder: Path, after: int = 0) -> list[object]:
    found: list[object] = []
    for one in LakeReader(folder).landings(after):
        if isinstance(one, LineBatch):
            found.append((one.block.data, one.block.line_at(0), one.block.byte_offset_at(4)))
        else:
            found.append(one)
    return found


def files(folder: Path) -> int:
    return len(list(folder.glob("table=*/date=*/*.parquet")))


def sealed(folder: Path, commits: int = 6) -> list[object]:
    """Land commits, of which the journal's newest file has none; return what landed."""
    with LakeWriter(folder, clock=ManualClock(NOON)) as lake:
        land(lake, 0, commits)
        assert not lake.seal(commits + 1)
        assert lake.seal(commits)
        assert not lake.seal()
    return told(folder)


def later(seconds: float = 1e6) -> ManualClock:
    clock = ManualClock(SystemClock().now())
    clock.advance(seconds)
    return clock


def test_merged_commits_hold_the_same_landings(tmp_path: Path) -> None:
    before = sealed(tmp_path)
    assert compact(tmp_path, SystemClock()) == Compaction(
        commits=5, segments_before=18, segments_after=3
    )
    assert [(one.first, one.sequence) for one in read_commits(tmp_path)] == [(1, 6)]
    assert told(tmp_path) == before
    assert files(tmp_path) == 21
    assert compact(tmp_path, later()) == Compaction(removed=18)
    assert (files(tmp_path), told(tmp_path)) == (3, before)
    with LakeWriter(tmp_path, clock=ManualClock(NOON)) as lake:
        assert (lake.sequence, lake.positions) == (6, {"log": "5"})
        land(lake, 6, 2)
        lake.seal()
        compact(tmp_path, later())
        land(lake, 8, 1)
    assert told(tmp_path)[: len(before)] == before
    assert [(one.first, one.sequence) for one in read_commits(tmp_path)] == [(1, 6), (7, 8), (9, 9)]
    with connect(tmp_path) as connection:
        assert connection.execute("SELECT count(*) FROM log_line").fetchone() == (18,)


@pytest.mark.parametrize("after", range(8))
def test_reading_from_the_middle_of_merged_commits_is_exact(tmp_path: Path, after: int) -> None:
    sealed(tmp_path)
    before = told(tmp_path, after)
    compact(tmp_path, later())
    assert told(tmp_path, after) == before
    assert len(before) == 4 * max(0, 6 - after)


def test_who_reads_while_it_happens_misses_nothing(tmp_path: Path) -> None:
    before = sealed(tmp_path)
    landings = LakeReader(tmp_path).landings()
    first = [next(landings) for _ in range(10)]
    compact(tmp_path, SystemClock())
    compact(tmp_path, later())
    assert files(tmp_path) == 3
    rest = list(landings)
    assert len(first) + len(rest) == len(before)
    assert [one for one in (*first, *rest) if isinstance(one, Tick)] == [
        one for one in before if isinstance(one, Tick)
    ]


def test_days_and_sizes_keep_commits_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(NOON)
    with LakeWriter(tmp_path, clock=clock) as lake:
        land(lake, 0, 2)
        clock.advance(86_400)
        land(lake, 2, 3)
        lake.commit({"only": "a position"})
        lake.seal()
    compact(tmp_path, later())
    assert [(one.first, one.sequence) for one in read_commits(tmp_path)] == [(1, 2), (3, 6)]
    monkeypatch.setattr(compaction, "TARGET_BYTES", 1)
    with LakeWriter(tmp_path, clock=clock) as lake:
        land(lake, 5, 2)
        lake.seal()
    assert compact(tmp_path, later()) == Compaction()


def test_large_merged_segments_have_several_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "GROUP_BYTES", 1)
    before = sealed(tmp_path)
    compact(tmp_path, later())
    assert told(tmp_path) == before


def test_merged_commits_are_pruned_whole(tmp_path: Path) -> None:
    clock = ManualClock(NOON)
    with LakeWriter(tmp_path, clock=clock) as lake:
        land(lake, 0, 3)
        lake.seal()
        compact(tmp_path, later())
        clock.advance(60)
        land(lake, 3, 2)
        lake.seal()
        lake.prune(plan_pruning(tmp_path, NOON + MINUTE).through)
        assert len(told(tmp_path)) == 8
        assert compact(tmp_path, later()).commits == 1
    assert len(told(tmp_path)) == 8


def test_an_older_relume_refuses_merged_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed(tmp_path)
    compact(tmp_path, SystemClock())
    monkeypatch.setattr("relume.ingest.lake.journal.MERGED_FORMAT", 1)
    with pytest.raises(LakeError, match="format 2"):
        told(tmp_path)


@pytest.mark.parametrize("kill", range(26))
def test_a_kill_at_any_system_call_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill: int
) -> None:
    before = sealed(tmp_path, 3)
    with killed_at(kill, monkeypatch), suppress(Killed):
        compact(tmp_path, later())
    assert told(tmp_path) == before
    with LakeWriter(tmp_path, clock=ManualClock(NOON)) as lake:
        compact(tmp_path, later())
        assert compact(tmp_path, later()).removed == 0
        land(lake, 3, 1)
    assert (files(tmp_path), told(tmp_path)[:-4]) == (6, before)


def test_a_disk_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = sealed(tmp_path)

    def broken(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as patch:
        patch.setattr("relume.ingest.lake.files.os.fsync", broken)
        with pytest.raises(LakeWriteError, match="No space left"):
            compact(tmp_path, SystemClock())
    assert told(tmp_path) == before


def test_a_segment_that_is_really_missing_is_named(tmp_path: Path) -> None:
    sealed(tmp_path)
    next(tmp_path.glob("table=tick/date=*/*.parquet")).unlink()
    with pytest.raises(RelumeError):
        compact(tmp_path, SystemClock())
    with pytest.raises(RelumeError, match="no such file"):
        told(tmp_path)
