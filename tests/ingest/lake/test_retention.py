"""Old segments go by commits; what is left is read as before, whatever happens meanwhile."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from killing import Killed, killed_at
from relume.clock import ManualClock, from_iso
from relume.errors import InputError
from relume.events import Sample, Tick
from relume.ingest.lake import LakeReader, LakeWriter, MissingSegmentError, journal
from relume.ingest.lake.journal import read_pruned
from relume.ingest.lake.retention import Amount, plan_pruning

FIRST = from_iso("2026-01-01T12:00:00Z")
DAY = 86_400_000_000


def land(folder: Path, days: int, start: int = 0, **positions: str) -> None:
    """Commit a tick and a sample a day."""
    for day in range(start, start + days):
        with LakeWriter(folder, clock=ManualClock(FIRST + day * DAY)) as lake:
            lake.append([Tick(event_time=day), Sample(source="x", metric="m", value=day)])
            lake.commit({"source": str(day), **positions})


def times(folder: Path) -> list[int]:
    return [e.event_time for e in LakeReader(folder).landings() if isinstance(e, Tick)]


def files(folder: Path) -> int:
    return len(list(folder.glob("table=*/date=*/*.parquet")))


def test_a_plan_says_what_of_each_table_would_go(tmp_path: Path) -> None:
    land(tmp_path, 4)
    plan = plan_pruning(tmp_path, FIRST + 2 * DAY)
    size = sum(
        s.bytes
        for c in LakeReader(tmp_path).commits()
        for s in c.segments
        if s.table == "tick" and c.sequence < 3
    )
    assert plan.through == 2
    assert set(plan.tables) == {"tick", "sample"}
    assert plan.tables["tick"] == Amount(segments=2, rows=2, bytes=size)
    assert plan_pruning(tmp_path, FIRST).through == 0
    assert times(tmp_path) == [0, 1, 2, 3]


def test_pruned_segments_are_gone_and_the_rest_stays(tmp_path: Path) -> None:
    land(tmp_path, 4)
    with LakeWriter(tmp_path) as lake:
        lake.append([Tick(event_time=9)])  # waits for its commit meanwhile
        lake.prune(2)
        assert files(tmp_path) == 4
        assert not (tmp_path / "table=tick" / "date=2026-01-01").exists()
        lake.commit()
        assert lake.positions == {"source": "3"}
    reader = LakeReader(tmp_path)
    assert times(tmp_path) == [2, 3, 9]
    assert [commit.sequence for commit in reader.commits()] == [1, 2, 3, 4, 5, 6]
    assert sum(map(len, reader.tables().values())) == files(tmp_path)
    assert len(reader.index().groups) == 5
    assert plan_pruning(tmp_path, FIRST + 2 * DAY).through == 0


def test_pruning_again_changes_nothing(tmp_path: Path) -> None:
    land(tmp_path, 3)
    for _ in range(2):
        with LakeWriter(tmp_path) as lake:
            lake.prune(1)
            lake.prune(0)
            assert lake.sequence == 4
    assert times(tmp_path) == [1, 2]


def test_it_is_remembered_over_files_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "FILE_BYTES", 1)
    land(tmp_path, 3)
    with LakeWriter(tmp_path) as lake:
        lake.prune(2)
    land(tmp_path, 2, start=3)
    assert read_pruned(tmp_path) == 2
    assert times(tmp_path) == [2, 3, 4]


def test_a_clock_that_was_put_back_lets_nothing_younger_go(tmp_path: Path) -> None:
    land(tmp_path, 1)
    land(tmp_path, 1, start=5)
    land(tmp_path, 1, start=1)  # later, by a clock that went back
    assert plan_pruning(tmp_path, FIRST + 3 * DAY).through == 1


def test_what_a_live_service_needs_stays(tmp_path: Path) -> None:
    land(tmp_path, 4, judge="2")
    plan = plan_pruning(tmp_path, FIRST + 9 * DAY)
    assert (plan.through, plan.is_held_back) == (2, True)
    with LakeWriter(tmp_path) as lake, pytest.raises(InputError, match="at most commit 2"):
        lake.prune(3)
    land(tmp_path, 1, start=4, judge="5")
    assert not plan_pruning(tmp_path, FIRST + 9 * DAY).is_held_back


def test_commits_that_are_not_there_cannot_go(tmp_path: Path) -> None:
    land(tmp_path, 1)
    with LakeWriter(tmp_path) as lake, pytest.raises(InputError, match="at most commit 1"):
        lake.prune(2)


def test_a_reader_that_comes_to_pruned_segments_goes_on(tmp_path: Path) -> None:
    land(tmp_path, 4)
    landings = LakeReader(tmp_path).landings()
    seen = [next(landings), next(landings)]
    with LakeWriter(tmp_path) as lake:
        lake.prune(3)
    seen += list(landings)
    assert [e.event_time for e in seen if isinstance(e, Tick)] == [0, 3]


def test_a_segment_that_nobody_pruned_is_missed(tmp_path: Path) -> None:
    land(tmp_path, 3)
    with LakeWriter(tmp_path) as lake:
        lake.prune(1)
    LakeReader(tmp_path).tables()["tick"][0].unlink()
    with pytest.raises(MissingSegmentError):
        times(tmp_path)
    with pytest.raises(MissingSegmentError):
        LakeReader(tmp_path).index()


def test_a_kill_at_any_system_call_loses_nothing_that_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in range(100):
        folder = tmp_path / str(step)
        land(folder, 4)
        killed = True
        with killed_at(step, monkeypatch), suppress(Killed), LakeWriter(folder) as lake:
            lake.prune(2)
            killed = False
        if not killed:
            break
        assert times(folder) in ([0, 1, 2, 3], [2, 3])
        pruned = read_pruned(folder)
        LakeWriter(folder).close()  # does what was left to do
        assert files(folder) == (4 if pruned else 8)
        assert times(folder) == ([2, 3] if pruned else [0, 1, 2, 3])
    assert step > 6
