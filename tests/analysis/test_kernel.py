"""Kernel lines of many nodes find the attempts that were there."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from importing import START, make_dataset, make_entry
from relume.analysis.kernel import SCHEMA, kernel_lines
from relume.dataset import AttemptEntry, LogFile
from relume.events import LogLine, SchedulerEvent
from relume.ingest.importing import import_units, units_of
from relume.ingest.lake import LakeWriter

if TYPE_CHECKING:
    import polars as pl

HOUR = 3_600_000_000
FIRST, SECOND, OTHER = "lab/7@1772607600.0", "lab/8@1772607600.0", "else/9@1772607600.0"


def at(seconds: int) -> str:
    """Return a time after the start of the attempts, as ISO text."""
    return datetime.fromtimestamp(START // 1_000_000 + seconds, UTC).isoformat()


def make_lake(tmp_path: Path, entries: list[AttemptEntry], *logs: LogFile) -> Path:
    make_dataset(tmp_path / "set", entries, *(log for log in logs if log.node))
    others = [log.path for log in logs if not log.node]
    with LakeWriter(tmp_path / "lake") as writer:
        report = import_units(writer, units_of([tmp_path / "set", *others], cluster="lab"))
    assert not report.refused
    return tmp_path / "lake"


def kernel_log(tmp_path: Path, name: str, *lines: str, node: str | None = None) -> LogFile:
    (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return LogFile(path=str(tmp_path / name), stream="kernel", node=node)


def found(frame: pl.DataFrame) -> list[tuple[str, str, str]]:
    assert frame.schema == SCHEMA
    return [
        (row["attempt"], row["node"], row["text"].split()[-1])
        for row in frame.iter_rows(named=True)
    ]


@pytest.fixture
def entries() -> list[AttemptEntry]:
    """Return two that follow one another on a node, and one of another cluster on its namesake."""
    return [
        make_entry(7),
        make_entry(8, nodes=("gpu-a02",), start=START + 2 * HOUR, end=START + 3 * HOUR),
        make_entry(9, attempt=OTHER),
    ]


def test_a_line_is_of_who_was_on_the_node_then(tmp_path: Path, entries: list[AttemptEntry]) -> None:
    log = kernel_log(
        tmp_path,
        "all.log",
        f"{at(-60)} gpu-a02 kernel: before",
        f"{at(-1)} gpu-a02 kernel: start",
        f"{at(9000)} GPU-A02.cluster kernel: second",
        f"{at(60)} gpu-a01 kernel: first",
        f"{at(60)} gpu-a03 kernel: elsewhere",
        f"{at(3600 + 59)} gpu-a01 kernel: late",
        f"{at(5400)} gpu-a02 kernel: idle",
        "[  12.345678] nobody knows when",
    )
    frame = kernel_lines(make_lake(tmp_path, entries, log))
    assert found(frame) == [
        (FIRST, "gpu-a02", "start"),
        (FIRST, "gpu-a01", "first"),
        (FIRST, "gpu-a01", "late"),
        (SECOND, "GPU-A02.cluster", "second"),
    ]
    assert frame["event_time"][1] == datetime.fromisoformat(at(60))
    assert (Path(frame["file"][1]).name, frame["line"][1]) == ("all.log", 3)


def test_a_shared_node_concerns_all_and_the_log_of_one_only_that(tmp_path: Path) -> None:
    line = f"{at(60)} kernel: Xid"
    shared = kernel_log(tmp_path, "kern.log", line.replace("kernel", "gpu-a01 kernel"))
    own = kernel_log(tmp_path, "own.log", f"{at(61)} gpu-a01 kernel: own")
    entries = [make_entry(7, files=(own,)), make_entry(8)]
    assert found(kernel_lines(make_lake(tmp_path, entries, shared))) == [
        (FIRST, "gpu-a01", "Xid"),
        (FIRST, "gpu-a01", "own"),
        (SECOND, "gpu-a01", "Xid"),
    ]


def test_clocks_without_a_year_are_of_about_the_attempts(
    tmp_path: Path, entries: list[AttemptEntry]
) -> None:
    clock = datetime.fromisoformat(at(60)).astimezone(UTC).strftime("%b %d %H:%M:%S")
    log = kernel_log(tmp_path, "kern.log", f"{clock} gpu-a01 kernel: Xid")
    assert found(kernel_lines(make_lake(tmp_path, entries, log))) == [(FIRST, "gpu-a01", "Xid")]


def test_clocks_are_read_in_the_zone(tmp_path: Path, entries: list[AttemptEntry]) -> None:
    clock = datetime.fromisoformat(at(60)).strftime("[%a %b %e %H:%M:%S %Y]")
    log = kernel_log(tmp_path, "dmesg", f"{clock} Xid", node="gpu-a01")
    lake = make_lake(tmp_path, entries, log)
    assert found(kernel_lines(lake)) == [(FIRST, "gpu-a01", "Xid")]
    assert found(kernel_lines(lake, zone="+05:00")) == []


def test_what_a_service_landed_is_there_while_it_runs(tmp_path: Path) -> None:
    runs = SchedulerEvent(
        source="x",
        cluster="lab",
        attempt=FIRST,
        state="RUNNING",
        event_time=START,
        nodes=("n1",),
    )
    line = LogLine(
        "Xid", 0, 0, "kmsg", stream="kernel", node="n1", event_time=START + HOUR, cluster="lab"
    )
    with LakeWriter(tmp_path / "lake") as writer:
        writer.append([runs, line])
        writer.commit()
    assert found(kernel_lines(tmp_path / "lake")) == [(FIRST, "n1", "Xid")]


def test_a_lake_without_kernel_logs_has_none(tmp_path: Path, entries: list[AttemptEntry]) -> None:
    assert kernel_lines(make_lake(tmp_path, entries)).is_empty()
