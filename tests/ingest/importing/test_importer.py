"""Each row of each source lands once, in order, however often an import is tried."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from importing import landed, log_text, make_dataset, make_entry
from relume.dataset import LogFile
from relume.errors import InputError
from relume.events import Sample, SchedulerEvent
from relume.ingest.eventfiles import write_events
from relume.ingest.importing import EventsPart, ImportReport, LogPart, Unit, import_units, units_of
from relume.ingest.lake import LakeReader, LakeWriter, LineBatch
from relume.ingest.skips import SkipCounts

JOB = "lab/7@1772607600.0"


def bring(lake: Path, *sources: Path | str, **options: object) -> ImportReport:
    with LakeWriter(lake) as writer:
        return import_units(writer, units_of(sources, **options))  # type: ignore[arg-type]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def test_an_attempt_lands_between_its_start_and_its_end(tmp_path: Path, lake: Path) -> None:
    out, err = tmp_path / "7.out", tmp_path / "7.err"
    out.write_bytes(b"step 1\nstep 2\n")
    err.write_bytes(b"Traceback\n")
    entry = make_entry(7, out, run="llm", user="u1")
    entry = make_entry(
        7, run="llm", user="u1", files=(*entry.files, LogFile(path=str(err), stream="stderr"))
    )
    make_dataset(tmp_path / "set", [entry])
    report = bring(lake, tmp_path / "set")
    start, one, two, trace, end = landed(lake)
    assert isinstance(start, SchedulerEvent)
    assert isinstance(end, SchedulerEvent)
    assert (start.state, start.event_time, start.exit_code) == ("RUNNING", entry.start, None)
    assert (end.state, end.event_time, end.exit_code, end.signal) == ("FAILED", entry.end, 1, 0)
    assert (start.nodes, start.user, start.observed_at) == (entry.nodes, "u1", None)
    assert start.comment == '{"relume": {"run": "llm"}}'
    assert one == (JOB, None, "stdout", str(out), 0, 0, b"step 1")
    assert two == (JOB, None, "stdout", str(out), 1, 7, b"step 2")
    assert trace == (JOB, None, "stderr", str(err), 0, 0, b"Traceback")
    assert (report.imported, report.lines, report.events, report.text_bytes) == (1, 3, 2, 24)


@pytest.mark.parametrize(
    ("changes", "states"),
    [
        ({"state": "RUNNING", "end": None}, ["RUNNING"]),
        ({"state": "RUNNING"}, ["RUNNING", "RUNNING"]),
        ({"state": None, "end": None}, ["RUNNING", "UNKNOWN"]),
        ({"state": None}, ["RUNNING", "UNKNOWN"]),
        ({"state": "CANCELLED by 0"}, ["RUNNING", "CANCELLED"]),
        ({"comment": "my own"}, ["RUNNING", "FAILED"]),
    ],
)
def test_an_end_lands_when_one_is_known(
    tmp_path: Path, lake: Path, changes: dict[str, object], states: list[str]
) -> None:
    make_dataset(tmp_path / "set", [make_entry(7, **changes)])
    bring(lake, tmp_path / "set")
    events = landed(lake)
    assert [getattr(event, "state", None) for event in events] == states
    assert {getattr(event, "comment", None) for event in events} == {changes.get("comment")}


def test_the_logs_of_nodes_belong_to_no_attempt(tmp_path: Path, lake: Path) -> None:
    kernel = tmp_path / "kern.log"
    kernel.write_bytes(b"[    1.000000] usb 1-1: new device\n")
    make_dataset(tmp_path / "set", [make_entry(7)], LogFile(path=str(kernel), node="gpu-a01"))
    bring(lake, tmp_path / "set")
    [batch, *_] = LakeReader(lake).landings()
    assert isinstance(batch, LineBatch)
    assert (batch.attempt, batch.node, batch.stream) == (None, "gpu-a01", "kernel")
    assert (batch.cluster, batch.source, batch.observed_at) == ("lab", "import", None)


def test_named_logs_belong_to_the_attempt_that_is_named(tmp_path: Path, lake: Path) -> None:
    folder = tmp_path / "logs"
    (folder / "gpu-a01").mkdir(parents=True)
    (folder / "job.out").write_bytes(b"step 1\n")
    (folder / "gpu-a01" / "dmesg.txt").write_bytes(b"[    1.000000] usb 1-1: new device\n")
    (folder / "model.pt").write_bytes(b"PK\x03\x04")
    skipped = SkipCounts()
    bring(lake, folder, attempt=JOB, skipped=skipped)
    assert [row[:3] for row in landed(lake) if isinstance(row, tuple)] == [
        (JOB, None, "stdout"),
        (JOB, "gpu-a01", "kernel"),
    ]
    assert skipped.as_dict() == {"binary": 1}


def test_without_an_attempt_lines_are_nobodys(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n")
    bring(lake, tmp_path / "a.log", cluster="lab")
    [batch] = LakeReader(lake).landings()
    assert isinstance(batch, LineBatch)
    assert (batch.attempt, batch.cluster) == (None, "lab")


def test_compressed_logs_land_as_their_text(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(log_text(1, 300)))
    (tmp_path / "a.log").write_bytes(log_text(1, 300))
    bring(lake, tmp_path / "a.log.gz", tmp_path / "a.log")
    rows = [row for row in landed(lake) if isinstance(row, tuple)]
    half = len(rows) // 2
    assert [row[4:] for row in rows[:half]] == [row[4:] for row in rows[half:]]
    assert half > 200


def test_importing_again_does_nothing(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n")
    make_dataset(tmp_path / "set", [make_entry(7, tmp_path / "a.log")])
    sources = (tmp_path / "set", tmp_path / "a.log")
    first = bring(lake, *sources)
    before = landed(lake), len(list(LakeReader(lake).commits()))
    again = bring(lake, *sources)
    assert (first.imported, first.already) == (2, 0)
    assert (again.imported, again.resumed, again.already, again.lines) == (0, 0, 2, 0)
    assert (landed(lake), len(list(LakeReader(lake).commits()))) == before


def test_a_copy_in_another_folder_is_the_same(tmp_path: Path, lake: Path) -> None:
    for place in ("here", "there"):
        (tmp_path / place / "run").mkdir(parents=True)
        (tmp_path / place / "run" / "a.log").write_bytes(b"one\n")
        os.utime(tmp_path / place / "run" / "a.log", (1, 1 if place == "here" else 2))
    assert bring(lake, tmp_path / "here").imported == 1
    assert bring(lake, tmp_path / "there").already == 1


def test_equal_logs_of_two_nodes_are_two(tmp_path: Path, lake: Path) -> None:
    for node in ("gpu-a01", "gpu-a02"):
        (tmp_path / "logs" / node).mkdir(parents=True)
        (tmp_path / "logs" / node / "dmesg.txt").write_bytes(b"[    1.000000] Xid\n")
    assert bring(lake, tmp_path / "logs").imported == 2


@pytest.mark.parametrize("change", ["longer", "other first bytes", "gone"])
def test_a_log_that_changed_since_is_refused(tmp_path: Path, lake: Path, change: str) -> None:
    log, other = tmp_path / "a.log", tmp_path / "b.log"
    log.write_bytes(b"one\ntwo\n")
    other.write_bytes(b"well\n")
    make_dataset(tmp_path / "set", [make_entry(7, log), make_entry(8)])
    bring(lake, tmp_path / "set")
    before = landed(lake)
    if change == "gone":
        log.unlink()
    else:
        log.write_bytes(b"one\ntwo\nthree\n" if change == "longer" else b"ONE\ntwo\n")
    report = bring(lake, tmp_path / "set", other)
    [error] = report.refused
    assert f"import of attempt {JOB}; found other content" in str(error)
    assert "into a new lake" in str(error)
    assert (report.already, report.imported) == (1, 1)
    assert landed(lake)[:-1] == before


def test_a_log_that_is_written_to_meanwhile_is_refused(tmp_path: Path, lake: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"x" * 79 + b"\n")

    def units() -> Iterator[Unit]:
        def grow(_: SkipCounts) -> Iterator[SchedulerEvent]:
            with log.open("ab") as stream:
                stream.write(b"more\n")
            yield SchedulerEvent(source="test", attempt=JOB, state="RUNNING")

        [unit] = units_of([log])
        yield Unit(name="growing", parts=(EventsPart(read=grow), *unit.parts))

    with LakeWriter(lake) as writer:
        report = import_units(writer, units())
    assert "changed meanwhile: 85 bytes" in str(report.refused[0])
    assert len(landed(lake)) == 1
    with LakeWriter(lake) as writer:
        again = import_units(writer, units_of([log]))
    assert again.imported == 1


def test_files_that_are_no_logs_are_counted(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "core").write_bytes(b"\x7fELF" + b"\0" * 100)
    (tmp_path / "empty.log").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    names = ("core", "empty.log", "pipe", "nothing")
    make_dataset(tmp_path / "set", [make_entry(7, *(tmp_path / name for name in names))])
    report = bring(lake, tmp_path / "set")
    assert report.skipped.as_dict() == {"binary": 1, "empty": 1, "unreadable": 2}
    assert (report.lines, report.events) == (0, 2)


def test_a_damaged_end_is_counted_and_its_start_is_there(tmp_path: Path, lake: Path) -> None:
    packed = gzip.compress(log_text(3, 5000))
    (tmp_path / "a.log.gz").write_bytes(packed[: len(packed) // 2])
    report = bring(lake, tmp_path / "a.log.gz")
    assert report.skipped.as_dict() == {"truncated_compression": 1}
    assert report.lines > 100
    assert bring(lake, tmp_path / "a.log.gz").already == 1


def test_sources_that_cannot_be_read_again_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for source in ("-", tmp_path / "pipe"):
        with pytest.raises(InputError, match="can be read again"):
            list(units_of([source]))


def test_a_data_set_names_its_attempts_itself(tmp_path: Path) -> None:
    make_dataset(tmp_path / "set", [make_entry(7)])
    with pytest.raises(InputError, match="leave --attempt out"):
        list(units_of([tmp_path / "set"], attempt=JOB))
    with pytest.raises(InputError, match="first_submit_epoch"):
        list(units_of([tmp_path / "set"], attempt="12"))


def test_the_lake_of_a_service_is_refused(tmp_path: Path, lake: Path) -> None:
    with LakeWriter(lake) as writer:
        writer.commit({"judge": "0"})
    (tmp_path / "a.log").write_bytes(b"one\n")
    with pytest.raises(InputError, match="the lake of `relume serve`"):
        bring(lake, tmp_path / "a.log")


def test_progress_comes_to_the_size_of_the_files(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "a.log").write_bytes(log_text(1, 40_000))
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(log_text(2, 3000)))
    units = list(units_of([tmp_path / "a.log", tmp_path / "b.log.gz"]))
    size = sum(unit.size() for unit in units)
    for _ in range(2):  # and again, when all of it is there
        told: list[int] = []
        with LakeWriter(lake) as writer:
            import_units(writer, units, advance=told.append)
        assert sum(told) == size == sum(path.stat().st_size for path in tmp_path.glob("*.log*"))
    assert min(told) >= 0


ROWS = """\
JobID|State|ExitCode|Submit|Start|End|NodeList|User
7|FAILED|1:0|2026-03-04T07:00:00|2026-03-04T07:00:05|2026-03-04T08:00:05|gpu-a[01-02]|u1
7.batch|FAILED|1:0||2026-03-04T07:00:05|2026-03-04T08:00:05|gpu-a01|
8|no state|1:0|2026-03-04T07:00:00|||gpu-a01|u1
"""


def test_accounting_lands_as_the_events_of_its_attempts(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "sacct.txt").write_text(ROWS)
    (tmp_path / "job.out").write_bytes(b"step 1\n")
    report = bring(lake, tmp_path / "sacct.txt", tmp_path / "job.out", cluster="lab", zone="+01:00")
    start, end, _ = landed(lake)
    assert isinstance(start, SchedulerEvent)
    assert isinstance(end, SchedulerEvent)
    assert (start.state, end.state, end.nodes) == ("RUNNING", "FAILED", ("gpu-a01", "gpu-a02"))
    assert start.attempt == end.attempt == "lab/7@1772604000.0"
    assert report.skipped.as_dict() == {"sacct_row": 1}
    assert bring(lake, tmp_path / "sacct.txt", cluster="lab", zone="+01:00").already == 1


@pytest.mark.parametrize("name", ["a.jsonl", "a.log", "a.parquet", "a.arrow"])
def test_files_of_events_land_as_they_are(tmp_path: Path, lake: Path, name: str) -> None:
    events = [Sample(source="x", metric="m", value=float(number)) for number in range(20)]
    write_events(tmp_path / name.replace(".log", ".jsonl"), events)
    if name == "a.log":  # its content tells
        (tmp_path / "a.jsonl").rename(tmp_path / "a.log")
    assert bring(lake, tmp_path / name).events == 20
    assert landed(lake) == events


def test_bad_lines_of_events_are_counted(tmp_path: Path, lake: Path) -> None:
    good = b'{"event": "Tick", "schema_version": 1, "event_time": 7}\n'
    (tmp_path / "a.jsonl").write_bytes(good + b"{}\n" + good)
    report = bring(lake, tmp_path / "a.jsonl")
    assert (report.events, report.skipped.as_dict()) == (2, {"event": 1})


def test_a_table_of_no_events_is_refused(tmp_path: Path, lake: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    [error] = bring(lake, tmp_path / "a.parquet").refused
    assert "no event in its metadata" in str(error)


def test_json_logs_are_logs(tmp_path: Path, lake: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"event": "step", "loss": 1}\n')
    assert bring(lake, tmp_path / "a.jsonl").lines == 1


def test_a_position_of_another_version_is_refused(tmp_path: Path, lake: Path) -> None:
    with LakeWriter(lake) as writer:
        writer.commit({"import log /a.log": "elsewhere"})
    (tmp_path / "b.log").write_bytes(b"one\n")
    with pytest.raises(InputError, match="import into a new lake"):
        bring(lake, tmp_path / "b.log")


def test_a_file_that_goes_away_meanwhile_is_refused(tmp_path: Path, lake: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"one\n")

    def units() -> Iterator[Unit]:
        def remove(_: SkipCounts) -> Iterator[SchedulerEvent]:
            log.unlink()
            yield SchedulerEvent(source="test", attempt=JOB, state="RUNNING")

        [unit] = units_of([log])
        yield Unit(name="going", parts=(EventsPart(read=remove), *unit.parts))

    with LakeWriter(lake) as writer:
        report = import_units(writer, units())
    assert "found no file any more" in str(report.refused[0])
    assert len(landed(lake)) == 1
    assert Unit(name="gone", parts=(LogPart(path=log),)).size() == 0
