from __future__ import annotations

import sys
from pathlib import Path

import pytest

from importing import log_text, make_dataset, make_entry
from relume.benchmarks.ingest import kills
from relume.benchmarks.ingest.kills import Killed, compare, kill_imports, tables_of, torn
from relume.events import Tick
from relume.ingest.lake import LakeReader, LakeWriter


def lake_of(folder: Path, *times: int) -> Path:
    with LakeWriter(folder) as lake:
        for time in times:
            lake.append([Tick(event_time=time)])
            lake.commit()
    return folder


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((1, 2, 3), Killed()),
        ((1, 3), Killed(lost_rows=1)),
        ((1, 2, 2, 3), Killed(doubled_rows=1)),
        ((1, 2, 2), Killed(lost_rows=1, doubled_rows=1)),
        ((1, 3, 2), Killed(misplaced_tables=1)),
        ((), Killed(lost_rows=3)),
    ],
)
def test_differences_are_counted(tmp_path: Path, times: tuple[int, ...], expected: Killed) -> None:
    found = Killed()
    compare(lake_of(tmp_path / "b", *times), tables_of(lake_of(tmp_path / "a", 1, 2, 3)), found)
    assert found == expected


def test_files_that_nobody_committed_are_torn(tmp_path: Path) -> None:
    lake = lake_of(tmp_path / "a", 1)
    [path] = LakeReader(lake).tables()["tick"]
    (path.parent / "00000000000000000009.parquet").write_bytes(b"PAR1")
    found = Killed()
    compare(lake, tables_of(lake), found)
    assert found.torn_segments == 1


def test_kills_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Else its processes would import pytest's own main module first.
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    monkeypatch.setattr(kills, "MAX_WAIT_SECONDS", 0.1)
    (tmp_path / "a.out").write_bytes(log_text(1, 20_000))
    make_dataset(tmp_path / "set", [make_entry(1, tmp_path / "a.out")])
    (tmp_path / "lakes").mkdir()
    found = kill_imports(tmp_path / "set", tmp_path / "lakes", kills=3, seed=1)
    assert found == Killed(kills=3, rounds=found.rounds)
    assert found.rounds >= 1


def test_an_import_that_fails_by_itself_is_no_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    make_dataset(tmp_path / "set", [make_entry(1)])
    (tmp_path / "lakes").mkdir()
    (tmp_path / "lakes" / "0").write_bytes(b"no folder")
    with pytest.raises(RuntimeError, match="ended with code 1"):
        kill_imports(tmp_path / "set", tmp_path / "lakes", kills=1, seed=1)


def test_a_segment_that_is_not_what_was_committed_is_torn(tmp_path: Path) -> None:
    assert torn(tmp_path / "none") == 0
    lake = lake_of(tmp_path / "a", 1, 2)
    assert torn(lake) == 0
    [path, _] = LakeReader(lake).tables()["tick"]
    path.write_bytes(path.read_bytes()[:-1])
    assert torn(lake) == 1
