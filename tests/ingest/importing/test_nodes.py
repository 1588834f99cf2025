"""What Slurm says of nodes lands as node events, each once."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from importing import landed, make_dataset, make_entry
from relume.dataset import LogFile
from relume.events import NodeEvent
from relume.ingest.importing import ImportReport, Unit, import_units, units_of
from relume.ingest.importing import steps as steps_of_unit
from relume.ingest.lake import LakeWriter
from relume.ingest.lake.sql import connect

TIME = 1_767_323_045_000_000  # 2026-01-02T03:04:05Z
HOUR = 3_600_000_000
TABLE = "REASON  USER  TIMESTAMP  NODELIST\nbad riser  root 2026-01-02T04:04:05 n[1-2]\n"
HISTORY = """\
Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
lab|n1|2026-01-02T04:04:05|2026-01-02T05:04:05|DOWN|Not responding|slurm(64030)
"""
NODE = {"name": "n1", "state": "idle", "boot_time": 1, "real_memory": 5, "reason": "x"}
DOCUMENT = json.dumps(
    {"nodes": [NODE | {"reason_changed_at": TIME // 1_000_000, "reason_set_by_user": "ada"}]}
)
DAEMON = """\
[2026-01-02T04:04:04.000] sched: Allocate JobId=7 NodeList=n[1-2] #CPUs=8
[2026-01-02T04:04:05.000] error: Nodes n[1-2] not responding, setting DOWN
[2026-01-02T04:04:06.000] update_node: node n2 reason set to: bad riser
[2026-01-02T04:04:07.000] update_node: node n2 state set to DRAINED
"""


def bring(lake: Path, *sources: Path) -> ImportReport:
    with LakeWriter(lake) as writer:
        return import_units(writer, units_of(sources, cluster="lab", zone="+01:00"))


def told(lake: Path) -> list[NodeEvent]:
    return [event for event in landed(lake) if isinstance(event, NodeEvent)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TABLE, [("n1", None, TIME), ("n2", None, TIME)]),
        (HISTORY, [("n1", "DOWN", TIME), ("n1", "RESUME", TIME + HOUR)]),
        (DOCUMENT, [("n1", "idle", TIME)]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_slurm_prints_lands_as_node_events(
    tmp_path: Path, text: str, expected: list[object], *, packed: bool
) -> None:
    (tmp_path / "logs").mkdir()
    path = tmp_path / "logs" / "said"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    report = bring(tmp_path / "lake", tmp_path / "logs")
    events = told(tmp_path / "lake")
    assert [(event.node, event.state, event.event_time) for event in events] == expected
    assert {event.cluster for event in events} == {"lab"}
    assert (report.lines, report.events) == (0, len(events))
    assert bring(tmp_path / "lake", path).already == 1


def test_sql_shows_them(tmp_path: Path) -> None:
    (tmp_path / "events").write_text(HISTORY)
    bring(tmp_path / "lake", tmp_path / "events")
    with connect(tmp_path / "lake") as connection:
        rows = connection.sql("SELECT node, state, reason, actor FROM node_event").fetchall()
    assert rows == [
        ("n1", "DOWN", "Not responding", "slurm"),
        ("n1", "RESUME", "Not responding", None),
    ]


def test_rows_without_sense_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"n{number}|idle\n" for number in range(30))
    (tmp_path / "sinfo").write_text(f"NODELIST|STATE\n{rows}n99|hungry\n")
    report = bring(tmp_path / "lake", tmp_path / "sinfo")
    assert (report.events, report.skipped.as_dict()) == (30, {"node_row": 1})


def test_a_document_that_was_cut_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(DOCUMENT[:-5])
    [error] = bring(tmp_path / "lake", tmp_path / "nodes.json").refused
    assert f"nodes as JSON in {tmp_path / 'nodes.json'}" in str(error)


def test_the_log_of_a_daemon_lands_as_lines_and_as_node_events(tmp_path: Path) -> None:
    path = tmp_path / "slurmctld.log"
    path.write_text(DAEMON)
    report = bring(tmp_path / "lake", path)
    rows = landed(tmp_path / "lake")
    assert [row[2] for row in rows[:4] if isinstance(row, tuple)] == ["slurmctld"] * 4
    assert [
        (one.node, one.state, one.reason, one.event_time, one.source, one.cluster)
        for one in told(tmp_path / "lake")
    ] == [
        ("n1", "DOWN", "Not responding", TIME, "slurmctld", "lab"),
        ("n2", "DOWN", "Not responding", TIME, "slurmctld", "lab"),
        ("n2", "DRAINED", "bad riser", TIME + 2_000_000, "slurmctld", "lab"),
    ]
    assert (report.lines, report.events) == (4, 3)
    assert bring(tmp_path / "lake", path).already == 1


def test_a_data_set_names_the_node_of_a_daemon(tmp_path: Path) -> None:
    (tmp_path / "slurmd.log").write_text(
        "[2026-01-02T04:04:05.000] error: health_check failed: rc:1 output:ERROR\n"
    )
    logs = [
        LogFile(path=str(tmp_path / name), stream="slurmctld", node="n7")
        for name in ("slurmd.log", "gone.log")
    ]
    make_dataset(tmp_path / "set", [make_entry(7)], *logs)
    report = bring(tmp_path / "lake", tmp_path / "set")
    [event] = told(tmp_path / "lake")  # in the zone of the data set
    assert (event.node, event.check, event.event_time) == ("n7", "HealthCheckProgram", TIME + HOUR)
    assert not report.refused
    assert report.skipped.as_dict() == {"unreadable": 1}


class Killed(BaseException):
    """Stands for SIGKILL."""


def bring_until(lake: Path, units: list[Unit], calls: int) -> bool:
    """Import, killed at the `calls`-th step; whether it came to its end before."""
    left = iter(range(calls))

    def advance(_: int) -> None:
        if next(left, None) is None:
            raise Killed

    writer = LakeWriter(lake)
    try:
        import_units(writer, units, commit_bytes=1, advance=advance)
    except Killed:
        return False
    finally:
        writer.close()
    return True


def test_killed_at_every_step_each_row_lands_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps_of_unit, "EVENTS_AT_ONCE", 1)
    (tmp_path / "slurmctld.log").write_text(DAEMON)
    (tmp_path / "history").write_text(HISTORY)
    units = list(units_of([tmp_path / "slurmctld.log", tmp_path / "history"]))
    assert bring_until(tmp_path / "whole", units, 1000)
    expected = landed(tmp_path / "whole")
    assert len(expected) == 9
    kills = 0
    while not bring_until(lake := tmp_path / str(kills), units, kills):
        assert landed(lake) == expected[: len(landed(lake))]
        assert bring_until(lake, units, 1000)
        assert landed(lake) == expected
        kills += 1
    assert kills > 7
