from __future__ import annotations

import json
from pathlib import Path

import pytest

from relume.benchmarks.corpora.infinitehbd import DAY_MICROS, load
from relume.errors import InputError
from relume.verdict import Domain


def row(
    node: str, day: float, what: str, level: str = "Hardware Failure", kind: str = "GPU"
) -> dict[str, object]:
    return {
        "node_id": node,
        "event_time": day,
        "event_type": what,
        "fault_type": {"Level": level, "Class": kind, "Desc": "made up"},
    }


def write(data: Path, rows: object) -> Path:
    folder = data / "infinitehbd"
    folder.mkdir()
    (folder / "fault_trace.json").write_text(json.dumps(rows))
    return data


def test_starts_and_ends_of_a_node_are_joined_by_kind(tmp_path: Path) -> None:
    rows = [
        row("a", 1, "fault_start"),
        row("a", 2, "fault_start", kind="NIC"),
        row("a", 3, "fault_end", kind="NIC"),
        row("a", 5, "fault_end"),
        row("b", 4, "fault_start", "Software Failure", "File System"),
        row("c", 6, "fault_start", "Other Failure", "Stress Test Failure"),
        row("d", 7, "fault_start", "Other Failure", "Unknown Error"),
    ]
    faults = load(write(tmp_path, rows)).faults
    assert [(one.node, one.start // DAY_MICROS, one.end // DAY_MICROS) for one in faults] == [
        ("a", 1, 5),
        ("a", 2, 3),
        ("b", 4, 7),
        ("c", 6, 7),
        ("d", 7, 7),
    ]
    assert [one.desk_domain for one in faults] == [
        Domain.HARDWARE,
        Domain.NETWORK,
        Domain.PLATFORM,
        Domain.HARDWARE,
        Domain.UNKNOWN,
    ]


@pytest.mark.parametrize("rows", [[{"node_id": "a"}], ["text"], 7])
def test_rows_of_another_form_are_refused(tmp_path: Path, rows: object) -> None:
    with pytest.raises(InputError, match="expected rows of faults"):
        load(write(tmp_path, rows))
