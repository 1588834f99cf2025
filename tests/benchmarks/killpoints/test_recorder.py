"""A disk is kept at every call that changes it, and between the pages of SQLite's log."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from relume.benchmarks.killpoints.recorder import Point, Recorder
from relume.ingest.lake.files import write_whole
from relume.serve.ledger import Ledger, sqlite_url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def recorder(folder: Path, points: list[Point], torn: int = 0) -> Recorder:
    return Recorder(folder, points.append, random.Random(1), torn=torn)


def test_a_file_that_is_written_whole_is_there_whole_or_not_at_all(folder: Path) -> None:
    points: list[Point] = []
    (folder / "staging").mkdir()
    with recorder(folder, points, torn=3).watching():
        write_whole(folder / "f", b"x" * 2000, folder / "staging")
    calls = [point.call for point in points if point.kind == "kill"]
    assert calls == [
        *("before fsync", "after fsync", "before replace", "after replace"),
        *("before fsync", "after fsync"),
    ]
    assert {point.image.get("f") for point in points} == {None, b"x" * 2000}
    assert points[-1].image["f"] == b"x" * 2000
    torn = {point.image.get("staging/f") for point in points if point.call == "before fsync"}
    assert len(torn) > 2


def test_what_happens_elsewhere_is_not_seen(folder: Path, tmp_path: Path) -> None:
    points: list[Point] = []
    with recorder(folder, points).watching():
        write_whole(tmp_path / "f", b"x", tmp_path)
        (tmp_path / "f").unlink()
    assert points == []


def test_a_file_that_takes_the_place_of_another_is_another(folder: Path) -> None:
    points: list[Point] = []
    (folder / "a").write_bytes(b"old")
    with recorder(folder, points).watching():
        (folder / "b").write_bytes(b"new")
        (folder / "b").replace(folder / "a")
        descriptor = os.open(folder, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
    power = [point.image.get("a") for point in points if point.kind == "power"]
    assert power == [b"old", b"old", b"old", b""]  # it was never synced itself


def test_a_transaction_is_seen_page_by_page_and_advice_is_counted(folder: Path) -> None:
    points: list[Point] = []
    with recorder(folder, points).watching():
        ledger = Ledger.open(sqlite_url(folder / "ledger.db"))
        ledger.put_cursors({"a": "1"})
        ledger.close()
    calls = {point.call for point in points}
    assert {"page", "before sync", "checkpoint", "after transaction", "after close"} <= calls
    assert "ledger.db-wal" not in points[-1].image or points[-1].kind != "kill"
    kills = [point for point in points if (point.call, point.kind) == ("page", "kill")]
    pages = [point.image["ledger.db-wal"] for point in kills]
    assert len(set(pages)) > len(pages) // 3
