"""What sinfo and sacctmgr print of nodes, in their forms."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.events import Actor, CheckOutcome, NodeEvent
from relume.ingest.nodes.documents import read_nodes
from relume.ingest.nodes.sinfo import read_node_history, read_sinfo
from relume.ingest.nodes.states import STATE
from relume.ingest.skips import SkipCounts

TIME = 1767323045000000  # 2026-01-02T03:04:05Z


def sinfo(*lines: str, zone: str = "UTC") -> tuple[list[NodeEvent], dict[str, int]]:
    skipped = SkipCounts()
    return list(read_sinfo(lines, skipped, zone=zone)), skipped.as_dict()


def said(events: list[NodeEvent]) -> list[tuple[str, str | None, str | None]]:
    return [(event.node, event.state, event.reason) for event in events]


def test_a_table_with_bars() -> None:
    events, skipped = sinfo(
        "AVAIL|NODES(A/I) |HOSTNAMES|STATE |REASON |TIMESTAMP|USER|STATE |NODELIST ",
        "up|0/0 |gpu-a01|drain* |bad riser, waits |2026-01-02T04:04:05|ada|drained* |gpu-a01 ",
        "up|1/0 |gpu-a02|mix- |none |Unknown|Unknown|mixed |gpu-a02 ",
        "up|1/0 |gpu-a02|mix- |none |Unknown|Unknown|mixed |gpu-a02 ",
        zone="Europe/Berlin",
    )
    assert said(events) == [
        ("gpu-a01", "drain*", "bad riser, waits"),
        ("gpu-a02", "mix-", None),
    ]
    assert [event.event_time for event in events] == [TIME, None]
    assert [event.actor for event in events] == [Actor.ADMIN, None]
    assert skipped == {}


def test_a_reason_with_bars_and_line_breaks() -> None:
    events, skipped = sinfo(
        "NODELIST|REASON|USER|TIMESTAMP|STATE",
        "n1|a | b",
        "c|root|2026-01-02T03:04:05|down*",
    )
    assert said(events) == [("n1", "down*", "a | b\nc")]
    assert skipped == {"node_row_joined": 1}


def test_reasons_alone_with_bars() -> None:
    events, _ = sinfo("REASON|NODELIST|TIMESTAMP", "a | b|n1|2026-01-02T03:04:05", "c|n2|Unknown")
    assert said(events) == [("n1", None, "a | b"), ("n2", None, "c")]


def test_the_usual_table_of_reasons_has_no_state() -> None:
    events, skipped = sinfo(
        "REASON               USER      TIMESTAMP           NODELIST",
        "Not responding       slurm     2026-01-02T03:04:05 gpu-a[01-02]",
        "NHC: check_hw_ib: no root      2026-01-02T03:04:05 gpu-a07",
        "",
    )
    assert said(events) == [
        ("gpu-a01", None, "Not responding"),
        ("gpu-a02", None, "Not responding"),
        ("gpu-a07", None, "NHC: check_hw_ib: no"),
    ]
    assert [event.actor for event in events] == [Actor.SLURM, Actor.SLURM, Actor.CHECK]
    assert (events[2].check, events[2].outcome) == ("check_hw_ib", CheckOutcome.FAILED)
    assert skipped == {}


def test_the_long_table_ends_with_the_reason() -> None:
    events, skipped = sinfo(
        "Fri Jan 02 03:04:05 2026",
        "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON",
        "gpu-a01        1      gpu*    drained* 64     2:16:2 500000        0      1   (null) bad riser",
        "gpu-a01        1     other    drained* 64     2:16:2 500000        0      1   (null) bad riser",
        "gpu-a02        1      gpu*        idle 64     2:16:2 500000        0      1   (null) none",
    )
    assert said(events) == [("gpu-a01", "drained*", "bad riser"), ("gpu-a02", "idle", None)]
    assert skipped == {"node_line": 1}


@pytest.mark.parametrize(
    "row", ["n1|hungry|x", "|idle|x", "n[1-|idle|x", "n[1-99999999]|idle|x", "n1|idle"]
)
def test_a_row_without_sense_is_counted(row: str) -> None:
    events, skipped = sinfo("NODELIST|STATE|REASON", row, "n2|idle|none")
    assert said(events) == [("n2", "idle", None)]
    assert skipped == {"node_row": 1}


@pytest.mark.parametrize("state", ["idle", "IDLE+DRAIN", "mixed-", "drng", "down*", "alloc$", "DRAINED*",
                                   "IDLE+CLOUD+POWERED_DOWN", "inval", "plnd", "reboot^", "maint"])  # fmt: skip
def test_states(state: str) -> None:
    assert STATE.fullmatch(state)


def test_accounting_of_nodes_has_a_start_and_an_end() -> None:
    skipped = SkipCounts()
    lines = [
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User",
        "lab||2026-01-01T00:00:00|Unknown||Cluster registered TRES|",
        "lab|n2|2026-01-02T03:04:05|Unknown|DOWN*|Not responding|slurm(64030)",
        "lab|n1|2026-01-02T03:00:00|2026-01-02T04:00:00|DRAIN|bad riser | x|root(0)",
    ]
    events = read_node_history(lines, skipped, cluster="other")
    assert said(events) == [
        ("n1", "DRAIN", "bad riser | x"),
        ("n2", "DOWN*", "Not responding"),
        ("n1", "RESUME", "bad riser | x"),
    ]
    assert [event.actor for event in events] == [Actor.ADMIN, Actor.SLURM, None]
    assert {event.cluster for event in events} == {"lab"}
    assert events[1].event_time == TIME
    assert skipped.as_dict() == {"node_row": 1}


def documents(*nodes: object, key: str = "nodes") -> tuple[list[NodeEvent], dict[str, int]]:
    skipped = SkipCounts()
    text = json.dumps({"meta": {}, key: nodes, "errors": []})
    return read_nodes(text, skipped, observed_at=5), skipped.as_dict()


def test_json_of_older_releases() -> None:
    events, skipped = documents(
        {
            "name": "n1",
            "state": "down",
            "state_flags": ["DRAIN", "NOT_RESPONDING"],
            "reason": "Not responding",
            "reason_changed_at": TIME // 1_000_000,
            "reason_set_by_user": "slurm",
        },
        {"name": "n2", "state": "idle", "reason": "", "reason_changed_at": 0},
    )
    assert said(events) == [
        ("n1", "down+DRAIN+NOT_RESPONDING", "Not responding"),
        ("n2", "idle", None),
    ]
    assert [(event.event_time, event.observed_at) for event in events] == [(TIME, 5), (None, 5)]
    assert skipped == {}


def test_json_of_newer_releases() -> None:
    seconds = TIME // 1_000_000
    events, skipped = documents(
        {
            "name": "n1",
            "state": ["IDLE", "DRAIN"],
            "reason": "NHC: check_hw_mem: too little",
            "reason_changed_at": {"set": True, "infinite": False, "number": seconds},
            "reason_set_by_user": "root",
        },
        {"name": "", "state": ["IDLE"]},
        "rubbish",
        {"name": "n3", "state": []},
    )
    assert said(events) == [("n1", "IDLE+DRAIN", "NHC: check_hw_mem: too little")]
    assert (events[0].event_time, events[0].check) == (TIME, "check_hw_mem")
    assert skipped == {"node_row": 3}


def test_json_of_sinfo_lists_groups_one_for_each_partition() -> None:
    group = {
        "node": {"state": ["DRAIN"]},
        "nodes": {"nodes": ["n1", "n2"], "total": 2},
        "reason": {"description": "bad riser", "time": {"set": True, "number": 7}, "user": "ada"},
    }
    events, skipped = documents(group, group, key="sinfo")
    assert said(events) == [("n1", "DRAIN", "bad riser"), ("n2", "DRAIN", "bad riser")]
    assert [event.event_time for event in events] == [7_000_000, 7_000_000]
    assert skipped == {}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"nodes": 3}', b"\xff", b"[" * 100_000])
def test_another_document_is_refused(text: str | bytes) -> None:
    with pytest.raises(InputError, match="nodes as JSON"):
        read_nodes(text, SkipCounts())


@given(st.lists(st.text(st.sampled_from("n1[]-|STAEREONDLI idle\n"), max_size=30), max_size=8))
def test_whatever_the_lines_are_it_never_raises(lines: list[str]) -> None:
    for header in ("NODELIST|STATE|REASON", "NODELIST STATE REASON", "REASON USER NODELIST"):
        sinfo(header, *lines)
    read_node_history(["NodeName|State|Reason", *lines], SkipCounts())
