"""Writing and reading a lake: order, durability, and what is wrong by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from relume.clock import ManualClock, from_iso
from relume.errors import InputError, Permanent, Retryable
from relume.events import (
    Event,
    LogLine,
    NodeEvent,
    Sample,
    SchedulerEvent,
    SourceStatus,
    Tick,
)
from relume.ingest.blocks import BlockAssembler
from relume.ingest.lake import (
    CorruptSegmentError,
    LakeBusyError,
    LakeError,
    LakeReader,
    LakeWriteError,
    LakeWriter,
    Landing,
    LineBatch,
    MissingSegmentError,
    buffers,
)
from relume.ingest.lake.columns import LINE_SCHEMA
from relume.ingest.lake.files import checksum
from relume.ingest.lake.segments import TABLES, read_segment, schema_of
from relume.ingest.tailing.lines import LineHolder
from relume.schemas import SCHEMAS, event_of
from relume.verdict import Health

NOON = from_iso("2026-01-02T12:00:00Z")
STATUS = SourceStatus(source="tail", status=Health.UNKNOWN, reason="not there yet")
JOB = SchedulerEvent(source="slurm", attempt="lab/12@1.0", state="RUNNING", nodes=("n1", "n2"))


def batch(raw: bytes, file: str = "slurm-12.out", **origin: object) -> LineBatch:
    assembler = BlockAssembler(file)
    [block] = [*assembler.feed(raw), *assembler.finish()]
    return LineBatch(block=block, observed_at=NOON, **origin)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data" / "lake"


@pytest.fixture
def lake(folder: Path) -> Iterator[LakeWriter]:
    with LakeWriter(folder, clock=ManualClock(NOON)) as made:
        yield made


def events(folder: Path) -> list[Event]:
    return list(LakeReader(folder).events())


def test_everything_comes_back_in_the_order_it_landed(lake: LakeWriter, folder: Path) -> None:
    first: list[Landing] = [Tick(event_time=1, sources=(STATUS,)), JOB, JOB, Tick(event_time=2)]
    second: list[Landing] = [NodeEvent(source="slurm", node="n1", state="idle"), Tick(event_time=3)]
    lake.append(first[:1])
    lake.append(first[1:])
    assert (lake.commit().sequence, lake.sequence) == (1, 1)
    lake.append(second)
    landed = lake.commit()
    assert (landed.sequence, landed.rows, landed.committed_at) == (2, 2, NOON)
    assert events(folder) == [*first, *second]
    assert list(LakeReader(folder).landings(after=1)) == second


def test_lines_of_logs_come_back_as_the_batch_they_were(lake: LakeWriter, folder: Path) -> None:
    given = batch(b"3: one\n\x1b[1mtwo\x1b[0m\r\nthr\ree\n", attempt="lab/12@1.0", node="n7")
    lake.append([Tick(event_time=1), given, Tick(event_time=2)])
    lake.commit()
    _, landed, _ = LakeReader(folder).landings()
    assert isinstance(landed, LineBatch)
    assert landed.block.data == given.block.data == b"3: one\ntwo\nthr\nee\n"
    for at in (0, 6, 7, 11, 15):
        assert landed.block.line_at(at) == given.block.line_at(at)
        assert landed.block.byte_offset_at(at) == given.block.byte_offset_at(at)
    assert (landed.attempt, landed.node, landed.observed_at) == ("lab/12@1.0", "n7", NOON)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"a\n1%\r2%\r3%\nb\n", [(0, 0), (1, 2), (1, 2), (1, 2), (2, 11)]),
        (b"a\r\n\x1b[1mb\x1b[0m\nc\n", [(0, 0), (1, 3), (2, 13)]),
        (b"\xff\r\xff\n\xff\n", [(0, 0), (0, 0), (1, 4)]),
        (b"a\nb\nc\n", [(0, 0), (1, 2), (2, 4)]),
    ],
    ids=["redraws", "colours", "undecodable", "plain"],
)
def test_each_tailed_line_lands_with_its_number_and_offset(
    lake: LakeWriter, folder: Path, raw: bytes, expected: list[tuple[int, int]]
) -> None:
    [block] = LineHolder("log").take(raw)
    lake.append([batch(b"before\n"), LineBatch(block=block), batch(b"after\n")])
    lake.commit()
    lines = [line for line in events(folder) if isinstance(line, LogLine)][1:-1]
    assert [(line.line, line.offset) for line in lines] == expected


def test_offsets_are_right_where_what_is_put_in_makes_up_for_what_is_taken_out(
    lake: LakeWriter, folder: Path
) -> None:
    [block] = LineHolder("log").take(b"\xff\n\x1bM\nc\n")
    assert block.data == "\ufffd\n\nc\n".encode()
    lake.append([LineBatch(block=block)])
    lake.commit()
    [landed] = LakeReader(folder).landings()
    assert isinstance(landed, LineBatch)
    assert [landed.block.byte_offset_at(at) for at in (0, 4, 5)] == [0, 2, 5]


def test_events_read_the_prefixes_that_landing_did_not(lake: LakeWriter, folder: Path) -> None:
    raw = b"3: [2026-01-02 11:00:00] hello\nJan  2 11:30:00 gpu-7 kernel: bye\n"
    lake.append([batch(raw, stream="stderr", node="n7")])
    lake.commit()
    first, second = LakeReader(folder, zone="+01:00").events()
    assert isinstance(first, LogLine)
    assert isinstance(second, LogLine)
    assert (first.task, first.node, first.message) == (3, "n7", "hello")
    assert (second.node, second.message, second.line) == ("gpu-7", "bye", 1)
    assert first.event_time == from_iso("2026-01-02T10:00:00Z")
    assert second.event_time == from_iso("2026-01-02T10:30:00Z")  # its year is that of landing
    assert (first.observed_at, first.stream, first.source) == (NOON, "stderr", "tail")
    table = pq.read_table(LakeReader(folder).tables()["log_line"][0], partitioning=None)
    assert table.column("parsed").to_pylist() == [False, False]
    assert table.column("message_start").to_pylist() == [0, 0]


def test_parsed_and_plain_lines_share_a_table_in_order(lake: LakeWriter, folder: Path) -> None:
    pushed = [LogLine(f"pushed {n}", n, 0, "loki", message_start=2) for n in range(3)]
    lake.append([pushed[0], batch(b"tailed 1\n"), pushed[1], pushed[2], batch(b"tailed 2\n")])
    lake.commit()
    texts = [line.text for line in events(folder) if isinstance(line, LogLine)]
    assert texts == ["pushed 0", "tailed 1", "pushed 1", "pushed 2", "tailed 2"]
    assert pushed[2] in events(folder)


def test_a_large_commit_waits_on_disk_unseen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buffers, "FLUSH_BYTES", 100)
    landings: list[Landing] = []
    for number in range(20):
        landings += [
            batch(b"line %d\n" % number),
            LogLine(f"p{number}", 0, 0, "f"),
            Tick(event_time=number),
        ]
    with LakeWriter(folder) as lake:
        lake.append(landings)
        assert list(LakeReader(folder).landings()) == []
        assert list(folder.glob("table=*")) == []
        lake.commit()
    [path] = LakeReader(folder).tables()["log_line"]
    assert pq.ParquetFile(path).num_row_groups > 2
    found = [
        e.event_time if isinstance(e, Tick) else getattr(e, "text", "") for e in events(folder)
    ]
    assert found == [one for n in range(20) for one in (f"line {n}", f"p{n}", n)]


def test_where_sources_stand_lands_with_their_lines(folder: Path) -> None:
    with LakeWriter(folder) as lake:
        lake.append([Tick(event_time=1)])
        lake.commit({"a": "1", "b": "1"})
        lake.commit({"a": "2", "b": None})
        assert lake.positions == LakeReader(folder).positions() == {"a": "2"}
        lake.append([Tick(event_time=2)])
    with LakeWriter(folder) as again:
        assert (again.positions, again.sequence) == ({"a": "2"}, 2)
        again.append([Tick(event_time=3)])
        again.commit({"c": "x"})
    assert [tick.event_time for tick in events(folder)] == [1, 3]
    assert LakeReader(folder).positions() == {"a": "2", "c": "x"}


def test_nothing_to_land_makes_no_commit(lake: LakeWriter, folder: Path) -> None:
    lake.append([])
    lake.append([batch(b"\x1b[0m\n")])
    assert lake.commit().rows == 1
    landed = lake.commit({})
    assert (landed.sequence, landed.rows, landed.bytes) == (1, 0, 0)
    assert len(list(LakeReader(folder).commits())) == 1


def test_segments_are_partitioned_by_table_and_date(lake: LakeWriter, folder: Path) -> None:
    lake.append([Tick(event_time=1), batch(b"x\n")])
    lake.commit()
    tables = LakeReader(folder).tables()
    assert {path.relative_to(folder).as_posix() for paths in tables.values() for path in paths} == {
        "table=tick/date=2026-01-02/00000000000000000001.parquet",
        "table=log_line/date=2026-01-02/00000000000000000001.parquet",
    }
    for kind in (Tick, LogLine):
        assert event_of(pq.read_schema(tables[TABLES[kind]][0])) is kind


def test_every_event_has_its_table() -> None:
    assert set(TABLES) == set(SCHEMAS)
    assert TABLES[SchedulerEvent] == "scheduler_event"
    for kind, schema in SCHEMAS.items():
        assert schema_of(kind).names[: len(schema)] == schema.names
    assert LINE_SCHEMA.names[-2:] == ["landed", "parsed"]


def test_a_value_that_does_not_fit_leaves_everything_as_it_was(
    lake: LakeWriter, folder: Path
) -> None:
    lake.append([Tick(event_time=1)])
    with pytest.raises(InputError, match="table of Sample"):
        lake.append([Tick(event_time=2), Sample(source="x", metric="a", value=1, rank=2**40)])
    with pytest.raises(InputError, match="valid Unicode"):
        lake.append([Tick(event_time=3), batch(b"x\n", source="\ud800")])
    lake.append([Tick(event_time=4)])
    lake.commit()
    assert [tick.event_time for tick in events(folder)] == [1, 4]


def test_a_lake_has_one_writer(lake: LakeWriter, folder: Path) -> None:
    with pytest.raises(LakeBusyError, match="one writer") as caught:
        LakeWriter(folder)
    assert isinstance(caught.value, Retryable)
    lake.close()
    LakeWriter(folder).close()


def test_a_reader_sees_what_is_committed_while_the_writer_goes_on(
    lake: LakeWriter, folder: Path
) -> None:
    seen = []
    for number in range(3):
        lake.append([Tick(event_time=number)])
        seen.append(len(events(folder)))
        lake.commit()
    assert seen == [0, 1, 2]


def test_no_lake_is_no_empty_lake(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="no journal"):
        list(LakeReader(tmp_path).landings())


def test_another_order_is_refused(lake: LakeWriter, folder: Path) -> None:
    lake.commit({"a": "1"})
    with pytest.raises(InputError, match="order of events"):
        list(LakeReader(folder).events("shuffled"))  # type: ignore[arg-type]


def write_two(folder: Path) -> list[Path]:
    with LakeWriter(folder) as lake:
        for number in range(2):
            lake.append([batch(b"line %d of a log\n" % number * 50)])
            lake.commit()
    return LakeReader(folder).tables()["log_line"]


def test_a_missing_segment_is_named_when_it_is_reached(folder: Path) -> None:
    _, second = write_two(folder)
    second.unlink()
    landings = LakeReader(folder).landings()
    next(landings)
    with pytest.raises(MissingSegmentError, match=second.name) as caught:
        next(landings)
    assert isinstance(caught.value, Permanent)


def test_what_an_unfinished_commit_left_is_taken_away(folder: Path) -> None:
    write_two(folder)
    left = folder / "table=tick/date=2026-01-03/00000000000000000003.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"PAR1")
    (folder / "staging" / "tick.parquet").write_bytes(b"PAR1")
    LakeWriter(folder).close()
    assert not left.exists()
    assert list((folder / "staging").iterdir()) == []
    assert len(list(LakeReader(folder).landings())) == 2


@pytest.mark.parametrize(
    "damage", ["short", "a bit of the data", "a bit of the footer", "other file"]
)
def test_a_damaged_segment_is_named_never_read(folder: Path, damage: str) -> None:
    first, second = write_two(folder)
    data = bytearray(second.read_bytes())
    data[40 if damage == "a bit of the data" else -200] ^= 1
    if damage == "short":
        data = data[:-1]
    elif damage == "other file":
        data = bytearray(first.read_bytes())
    second.write_bytes(data)
    with pytest.raises(CorruptSegmentError, match=second.name):
        list(LakeReader(folder).landings())


def test_a_file_that_was_damaged_before_it_landed_is_named_too(
    lake: LakeWriter, folder: Path
) -> None:
    lake.append([Tick(event_time=1)])
    lake.commit()
    [commit] = LakeReader(folder).commits()
    [segment] = commit.segments
    path = folder / segment.path
    path.write_bytes(b"PAR1 and no more")
    fake = replace(segment, bytes=path.stat().st_size, crc32=checksum(path))
    with pytest.raises(CorruptSegmentError, match="a whole Parquet file"):
        list(read_segment(folder, fake))


def test_a_disk_that_fails_ends_the_writer_and_spares_the_lake(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = LakeWriter(folder)
    lake.append([Tick(event_time=1)])
    lake.commit({"a": "1"})
    lake.append([Tick(event_time=2)])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(LakeWriteError, match="No space left"):
            lake.commit({"a": "2"})
    with pytest.raises(LakeWriteError, match="No space left"):
        lake.append([Tick(event_time=3)])
    lake.close()
    assert [tick.event_time for tick in events(folder)] == [1]
    with LakeWriter(folder) as again:
        assert again.positions == {"a": "1"}


def test_an_entry_that_was_written_in_part_is_a_failure(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = LakeWriter(folder)
    lake.append([Tick(event_time=1)])
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:9]))
        with pytest.raises(LakeWriteError, match="No space left"):
            lake.commit()
    lake.close()
    with LakeWriter(folder) as again:
        assert again.sequence == 0
