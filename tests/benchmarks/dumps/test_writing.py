"""What is written is what PyTorch writes, and says what happened in the run."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from relume.benchmarks.dumps.faults import Hang, make_hang
from relume.benchmarks.dumps.programs import Batch, make_job
from relume.benchmarks.dumps.running import Faults, Run
from relume.benchmarks.dumps.writing import Form, choose_form, write_dumps

# Keys of torch/csrc/distributed/c10d/FlightRecorderDetail.hpp, format 2.10.
ENTRY = {
    "record_id", "pg_id", "process_group", "thread_name", "thread_id", "collective_seq_id",
    "p2p_seq_id", "op_id", "profiling_name", "time_created_ns", "input_sizes", "input_dtypes",
    "output_sizes", "output_dtypes", "state", "time_discovered_started_ns",
    "time_discovered_completed_ns", "retired", "timeout_ms", "is_p2p",
}  # fmt: skip


def form(version: str, **changes: Any) -> Form:
    fields: dict[str, Any] = {
        "version": version,
        "as_json": True,
        "names": "rank_{rank}",
        "backend": "nccl",
        "ring": 2000,
        "timing": True,
        "frames": False,
        "torch_pickle": False,
    }
    return Form(**(fields | changes))


def written(folder: Path, hang: Hang, how: Form, lost: float = 0.0) -> dict[int, dict[str, Any]]:
    run = Run(hang.job, hang.faults).run()
    there = write_dumps(folder, hang, run, how, Random(0), lost=lost)
    read = json.loads if how.as_json else pickle.loads
    return {rank: read((folder / f"rank_{rank}").read_bytes()) for rank in there}


def test_the_keys_are_those_of_the_format(tmp_path: Path) -> None:
    hang = Hang("none", make_job("pipeline", 8, 1, Random(1)))
    new = written(tmp_path, hang, form("2.10"))[0]
    assert set(new) == {"version", "pg_config", "comm_lib_version", "pg_status", "entries"}
    assert all(set(entry) == ENTRY for entry in new["entries"])
    old = written(tmp_path, hang, form("2.4"))[0]
    assert "nccl_version" in old
    assert set(old["entries"][0]) == ENTRY - {"thread_name", "thread_id"}


def test_json_has_zeros_and_text_where_a_pickle_has_null_and_numbers(tmp_path: Path) -> None:
    hang = make_hang("never_joined", 8, Random(1))
    told = written(tmp_path, hang, form("2.4"))[0]
    last = told["entries"][-1]
    assert last["time_discovered_completed_ns"] == 0
    assert isinstance(told["pg_status"]["0"]["last_enqueued_collective"], str)
    told = written(tmp_path, hang, form("2.4", as_json=False))[0]
    assert told["entries"][-1]["time_discovered_completed_ns"] is None
    assert isinstance(told["pg_status"]["0"]["last_enqueued_collective"], int)


def test_a_ring_keeps_the_last_and_a_batch_ends_with_its_marker(tmp_path: Path) -> None:
    jobs = (make_job("pipeline", 8, 2, Random(seed)) for seed in range(20))
    job = next(job for job in jobs if any(isinstance(one, Batch) for one in job.programs[0]))
    whole = written(tmp_path, Hang("none", job), form("2.4"))[0]["entries"]
    short = written(tmp_path, Hang("none", job), form("2.4", ring=10))[0]["entries"]
    assert [entry["record_id"] for entry in short] == [e["record_id"] for e in whole[-10:]]
    markers = [entry for entry in whole if entry["profiling_name"] == "nccl:coalesced"]
    assert markers
    assert {entry["state"] for entry in markers} == {"completed"}
    parts = [e for e in whole if e["is_p2p"] and e not in markers]
    assert {entry["state"] for entry in parts} == {"scheduled"}


def test_without_timing_nothing_has_started(tmp_path: Path) -> None:
    hang = make_hang("all_started", 8, Random(2))
    for timing in (True, False):
        told = written(tmp_path, hang, form("2.10", timing=timing))
        states = {entry["state"] for one in told.values() for entry in one["entries"]}
        assert ("started" in states) is timing


def test_the_dead_leave_no_dump_and_a_share_is_lost(tmp_path: Path) -> None:
    hang = Hang("died", make_job("ddp", 16, 2, Random(3)), Faults(died={4: 3}))
    assert set(written(tmp_path, hang, form("2.4"))) == set(range(16)) - {4}
    few = written(tmp_path, hang, form("2.4"), lost=0.25)
    assert len(few) == 12
    assert 4 not in few


@pytest.mark.parametrize("version", ["2.4", "2.10"])
def test_a_form_is_chosen_by_chance_within_what_the_hang_needs(version: str) -> None:
    hang = replace(make_hang("not_started", 8, Random(4)), ring=24)
    forms = [choose_form(hang, version, Random(seed)) for seed in range(30)]
    assert {one.timing for one in forms} == {True}
    assert {one.ring for one in forms} == {24}
    assert {one.as_json for one in forms} == {True, False}
    assert ({one.backend for one in forms} == {"nccl"}) is (version == "2.4")
