"""What older versions wrote is read as if it had been written today; what newer ones did, isn't."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from old_lakes import (
    first_sample,
    first_scheduler_event,
    land_by_hand,
    second_scheduler_event,
    third_scheduler_event,
)
from relume.errors import Permanent
from relume.events import Sample, SchedulerEvent, Tick
from relume.ingest.lake import CorruptSegmentError, LakeReader, LakeWriter, NewerSegmentError
from relume.ingest.lake.frames import scan
from relume.ingest.lake.migrations import MIGRATIONS, migrated
from relume.ingest.lake.segments import schema_of
from relume.ingest.lake.sql import connect
from relume.schemas import SCHEMAS, present_version

OLD = SchedulerEvent(
    source="slurm", cluster="lab", attempt="lab/1@1.0", state="RUNNING", nodes=("n1", "n2")
)
NEW = SchedulerEvent(
    source="slurm",
    attempt="lab/2@1.0",
    state="FAILED",
    user="u1",
    exclude_nodes=("n9",),
    num_nodes=2,
    name="train",
)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Return a lake with a segment of each version of SchedulerEvent."""
    land_by_hand(tmp_path, "scheduler_event", first_scheduler_event(0))
    with LakeWriter(tmp_path) as lake:
        lake.append([NEW])
        lake.commit()
    return tmp_path


def test_every_older_version_has_a_way_to_the_present_one() -> None:
    expected = {(kind, older) for kind in SCHEMAS for older in range(1, present_version(kind))}
    assert set(MIGRATIONS) == expected


def test_an_old_segment_is_read_as_the_events_of_today(mixed: Path) -> None:
    assert list(LakeReader(mixed).landings()) == [OLD, NEW]
    assert list(LakeReader(mixed).landings_about({OLD.attempt})) == [OLD]


def test_a_sample_of_before_devices_is_read_without_one(tmp_path: Path) -> None:
    land_by_hand(tmp_path, "sample", first_sample(0))
    with LakeWriter(tmp_path) as lake:
        new = Sample(source="x", metric="nic_state_code", value=4.0, device="mlx5_0/1")
        lake.append([new])
        lake.commit()
    old = Sample(
        source="dcgm", cluster="lab", metric="gpu_power_watts", value=99.5, node="n1", gpu="3"
    )
    assert list(LakeReader(tmp_path).landings()) == [old, new]
    with connect(tmp_path) as connection:
        devices = connection.sql("SELECT device FROM sample ORDER BY ALL").fetchall()
    assert devices == [("mlx5_0/1",), (None,)]


def test_a_migrated_table_is_of_the_present_schema() -> None:
    schema = schema_of(SchedulerEvent)
    found = migrated(first_scheduler_event(7), SchedulerEvent, schema, "here")
    assert found.schema.equals(schema, check_metadata=True)
    assert found.column("landed").to_pylist() == [7]
    empty = first_scheduler_event(7).slice(0, 0)
    assert migrated(empty, SchedulerEvent, schema, "here").num_rows == 0


def test_jobs_of_version_2_have_no_name(tmp_path: Path) -> None:
    land_by_hand(tmp_path, "scheduler_event", second_scheduler_event(0))
    [event] = LakeReader(tmp_path).landings()
    assert event == SchedulerEvent(
        source="slurm",
        cluster="lab",
        attempt="lab/3@1.0",
        state="RUNNING",
        nodes=("n1", "n2"),
        user="u1",
        exclude_nodes=("n9",),
        num_nodes=2,
    )


def test_jobs_of_version_3_have_no_gpus(tmp_path: Path) -> None:
    land_by_hand(tmp_path, "scheduler_event", third_scheduler_event(0))
    [event] = LakeReader(tmp_path).landings()
    assert isinstance(event, SchedulerEvent)
    assert event.name == "train"
    assert (event.gpus, event.eligible_time) == (None, None)


def test_sql_shows_one_schema_over_all_versions(mixed: Path) -> None:
    with connect(mixed) as connection:
        rows = connection.sql(
            'SELECT attempt, "user", exclude_nodes, required_nodes, num_nodes, landed, '
            "date::VARCHAR < '2026' FROM scheduler_event ORDER BY attempt"
        ).fetchall()
        assert connection.table("scheduler_event").columns == [
            *schema_of(SchedulerEvent).names,
            "date",
        ]
    assert rows == [
        ("lab/1@1.0", None, [], [], None, 0, True),
        ("lab/2@1.0", "u1", ["n9"], [], 2, 0, False),
    ]


def test_frames_show_one_schema_over_all_versions(mixed: Path) -> None:
    frame = scan(mixed, "scheduler_event").sort("attempt").collect()
    assert frame.columns == [*schema_of(SchedulerEvent).names, "date"]
    assert frame["user"].to_list() == [None, "u1"]
    assert frame["exclude_nodes"].to_list() == [[], ["n9"]]
    assert frame["date"].cast(str).to_list()[0] == "2025-06-07"


@pytest.mark.parametrize(
    ("table", "metadata", "found"),
    [
        ("scheduler_event", {"relume.schema_version": "9"}, "schema version 9 of SchedulerEvent"),
        ("gpu_event", {}, "table 'gpu_event'"),
    ],
)
def test_a_newer_version_is_refused_by_name(
    tmp_path: Path, table: str, metadata: dict[str, str], found: str
) -> None:
    rows = first_scheduler_event(0)
    rows = rows.replace_schema_metadata(
        {"relume.event": "SchedulerEvent", **metadata, "relume.schema_version": "9"}
    )
    land_by_hand(tmp_path, table, rows)
    for read in (lambda: list(LakeReader(tmp_path).landings()), lambda: connect(tmp_path)):
        with pytest.raises(NewerSegmentError, match=found) as caught:
            read()
        assert isinstance(caught.value, Permanent)
        assert "newer Relume" in str(caught.value)


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {"relume.event": "SchedulerEvent"},
        {"relume.event": "SchedulerEvent", "relume.schema_version": "two"},
        {"relume.event": "Tick", "relume.schema_version": "1"},
    ],
)
def test_a_segment_that_does_not_say_what_it_is_is_damaged(
    tmp_path: Path, metadata: dict[str, str] | None
) -> None:
    rows = first_scheduler_event(0).replace_schema_metadata(metadata)
    land_by_hand(tmp_path, "scheduler_event", rows)
    with pytest.raises(CorruptSegmentError):
        list(LakeReader(tmp_path).landings())


def test_the_journal_says_which_version_a_segment_is(tmp_path: Path) -> None:
    with LakeWriter(tmp_path) as lake:
        lake.append([Tick(event_time=1), NEW])
        lake.commit()
    [commit] = LakeReader(tmp_path).commits()
    assert {s.table: s.schema_version for s in commit.segments} == {"tick": 1, "scheduler_event": 4}


def test_rows_of_the_present_version_are_left_as_they_are() -> None:
    table = schema_of(Tick).empty_table()
    assert migrated(table, Tick, schema_of(Tick), "here") is table
    assert isinstance(table, pa.Table)
