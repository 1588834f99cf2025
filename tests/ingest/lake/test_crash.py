"""Killed at any moment: whole commits only, no line lost, none doubled."""

from __future__ import annotations

import multiprocessing
import random
import sys
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from killing import Killed, killed_at
from landing import SOURCE, land_forever
from relume.events import Tick
from relume.ingest.lake import LakeReader, LakeWriter, LineBatch, journal
from relume.ingest.tailing.lines import LineHolder

KILLS = 30


def land(folder: Path, until: int, *, beside: bool = False) -> None:
    """Land the numbers up to `until`, two a commit: one as a tick, one as a line."""
    lake = LakeWriter(folder)
    try:
        while (number := int(lake.positions.get("numbers", "0"))) < until:
            [block] = LineHolder("log").take(b"%d\n" % (number + 1))
            lake.append([Tick(event_time=number), LineBatch(block=block)])
            if beside:
                lake.begin()
            lake.commit({"numbers": str(number + 2)})
    finally:
        lake.close()  # as the kernel does for a process that was killed: nothing is written


def numbers(folder: Path) -> list[int]:
    return [
        int(landing.block.data)
        if isinstance(landing, LineBatch)
        else getattr(landing, "event_time", -1)
        for landing in LakeReader(folder).landings()
    ]


@pytest.mark.parametrize("beside", [False, True], ids=["at once", "beside"])
@pytest.mark.parametrize("file_bytes", [4 << 20, 1], ids=["one file", "rolled over"])
def test_a_kill_at_any_system_call_leaves_whole_commits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file_bytes: int,
    beside: bool,  # noqa: FBT001
) -> None:
    monkeypatch.setattr(journal, "FILE_BYTES", file_bytes)
    for step in range(1000):
        folder = tmp_path / str(step)
        land(folder, 4)
        with killed_at(step, monkeypatch) as made:
            try:
                land(folder, 6, beside=beside)
            except Killed:
                pass
            else:
                break
        assert numbers(folder) in ([0, 1, 2, 3], [0, 1, 2, 3, 4, 5])
        # Killed once more while the restart tidies up.
        with killed_at(step % 3, monkeypatch):
            try:
                land(folder, 8)
            except Killed:
                assert len(numbers(folder)) in (4, 6)
        land(folder, 8)
        assert numbers(folder) == list(range(8))
        committed = {path for paths in LakeReader(folder).tables().values() for path in paths}
        assert set(folder.glob("table=*/**/*.parquet")) == committed
    assert step > 8
    assert {"fsync", "write", "replace"} <= set(made)


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> ForkServerContext:
    """Return a context whose processes begin with everything imported, and share nothing."""
    # They would import pytest's own main module first: half a second each.
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["relume.ingest.lake", "relume.ingest.tail"])
    return context


def test_a_tail_that_is_killed_again_and_again_lands_every_line_once(
    tmp_path: Path, forks: ForkServerContext
) -> None:
    log, lake = tmp_path / "slurm-12.out", tmp_path / "lake"
    LakeWriter(lake).close()
    draw = random.Random(12)
    landed: list[Row] = []
    commits = 0
    for turn in range(KILLS + 1):
        with log.open("ab") as stream:
            stream.write(made_up(turn, draw))
        ours, theirs = forks.Pipe()
        process = forks.Process(target=land_forever, args=(log, lake, 400, theirs))
        process.start()
        theirs.close()
        if turn < KILLS:
            for _ in range(draw.randrange(6)):
                ours.recv()
            ours.poll(draw.random() * 0.01)  # into the next commit, to wherever it has come
            process.kill()
        else:
            ours.send("finish")
        process.join(60)
        ours.close()
        assert process.exitcode == (0 if turn == KILLS else -9)
        landed += newly_landed(lake, commits)
        assert landed == logical(log.read_bytes())[: len(landed)]
        commits = max((commit.sequence for commit in LakeReader(lake).commits()), default=0)
    assert commits > KILLS
    assert landed == newly_landed(lake, 0) == logical(log.read_bytes())


Row = tuple[bytes, int, int]


def made_up(turn: int, draw: random.Random) -> bytes:
    """Lines that all differ; the last one is cut anywhere."""
    lines = (
        b"%d:%d %s%s" % (turn, n, b"x" * draw.randrange(90), draw.choice([b"\n", b"\r\n", b"\r"]))
        for n in range(60)
    )
    return b"".join(lines)[: -draw.randrange(1, 20)]


def newly_landed(lake: Path, after: int) -> list[Row]:
    """Rows of the commits from `after` + 1 on, each of which must be whole: lines between ticks."""
    reader, ticks, found = LakeReader(lake), list[int](), list[Row]()
    for landing in reader.landings(after):
        if isinstance(landing, LineBatch):
            assert len(ticks) % 2 == 1
            found += rows(landing)
        else:
            assert isinstance(landing, Tick)
            ticks.append(landing.event_time)
    sequences = [commit.sequence for commit in reader.commits(after)]
    assert sequences == list(range(after + 1, after + 1 + len(sequences)))
    assert ticks[::2] == ticks[1::2] == sorted(ticks[::2])
    assert len(ticks) == 2 * len(sequences)
    if sequences:
        assert f'"offset":{ticks[-1]},' in reader.positions()[SOURCE]
    return found


def logical(log: bytes) -> list[Row]:
    holder = LineHolder("log")
    blocks = [*holder.take(log), *holder.finish()]
    return [row for block in blocks for row in rows(LineBatch(block=block))]


def rows(batch: LineBatch) -> list[Row]:
    found, start, block = [], 0, batch.block
    for raw in block.data.removesuffix(b"\n").split(b"\n"):
        found.append((raw, block.line_at(start), block.byte_offset_at(start)))
        start += len(raw) + 1
    return found
