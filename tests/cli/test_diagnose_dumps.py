"""`relume diagnose` on folders of dumps, with logs and without."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hostile import Hostile
from recorders import document, entry
from relume.cli import app
from relume.errors import RelumeError

OPEN = {"state": "scheduled"}
FIRST_WAIT = (
    "ranks 0-1, 3 wait for rank 2, the first in nccl:all_reduce number 7 of group "
    "0 (default_pg) for rank 2"
)
WAITING = [entry(5), entry(6, **OPEN)]
TIMED_OUT = (
    "[rank{rank}]:[E302 10:00:01.482718000 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught "
    "collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
    "Timeout(ms)=600000) ran for 600042 milliseconds before timing out."
)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["diagnose", *arguments])


def write_dumps(folder: Path, absent: int = 2) -> None:
    for rank in range(4):
        entries = [entry(5)] if rank == absent else WAITING
        told = document(entries, pg_status={}) if rank == absent else document(entries)
        (folder / f"trace_{rank}").write_bytes(pickle.dumps(told))


def test_a_folder_of_dumps_alone(tmp_path: Path) -> None:
    write_dumps(tmp_path)
    result = run(str(tmp_path))
    assert result.exit_code == 1
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert any(line.startswith("verdict  hang: rank never joined (unknown)") for line in lines)
    assert "culprit  rank 2" in lines
    assert "stuck in  nccl:all_reduce number 7 of group 0 (default_pg)" in lines
    assert f"waits  {FIRST_WAIT}" in lines


def test_dumps_as_json_for_programs(tmp_path: Path) -> None:
    write_dumps(tmp_path)
    [verdict] = json.loads(run(str(tmp_path), "--json").stdout)["verdicts"]
    assert verdict["stuck"] == {
        "pattern": "never_joined",
        "culprits": [{"node": None, "rank": 2, "local_rank": None, "gpu": None, "nic": None}],
        "suspects": [],
        "group": "0 (default_pg)",
        "sequence": 7,
        "operation": "nccl:all_reduce",
        "waiting": [0, 1, 3],
        "absent": [2],
        "waits": [FIRST_WAIT],
        "dumped": 4,
        "missing": [],
    }
    assert verdict["files"] == [str(tmp_path / f"trace_{rank}") for rank in range(4)]


def test_logs_and_dumps_together(tmp_path: Path) -> None:
    write_dumps(tmp_path)
    log = "\n".join(TIMED_OUT.format(rank=rank) for rank in (0, 1, 3)) + "\n"
    (tmp_path / "job.log").write_text(log)
    [verdict] = json.loads(run(str(tmp_path), "--json").stdout)["verdicts"]
    assert (verdict["kind"], verdict["culprit"]["rank"]) == ("hang", 2)
    assert verdict["root_cause_file"] == str(tmp_path / "job.log")
    assert verdict["exclude_nodes"] == []
    assert "dumps" in {reason["code"] for reason in verdict["reasons"]}


def test_stacks_beside_logs(tmp_path: Path) -> None:
    for rank in range(4):
        where = "read_batch (data.py:7)" if rank == 3 else "all_reduce (distributed_c10d.py:9)"
        text = f'Process {rank}: python\nPython v3.11.7 (x)\n\nThread 1 (idle): "MainThread"\n    {where}\n    <module> (train.py:3)\n'
        (tmp_path / f"stack_rank_{rank}.txt").write_text(text)
    [verdict] = json.loads(run(str(tmp_path), "--json").stdout)["verdicts"]
    assert (verdict["kind"], verdict["culprit"]["rank"], verdict["stuck"]) == ("hang", 3, None)


def test_a_hostile_dump_among_others_is_told_and_never_run(tmp_path: Path) -> None:
    write_dumps(tmp_path)
    mark = tmp_path / "ran"
    evil: dict[str, Any] = document() | {"entries": Hostile(f"touch {mark}")}
    (tmp_path / "trace_1").write_bytes(pickle.dumps(evil))
    [verdict] = json.loads(run(str(tmp_path), "--json").stdout)["verdicts"]
    assert not mark.exists()
    assert verdict["culprit"]["rank"] == 2
    assert verdict["skipped"] == {"dump_refused": 1}
    assert any("it tries to load" in words for words in verdict["why"])
    assert any("collective dumps of rank 1" in words for words in verdict["missing_evidence"])


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (pickle.dumps(Hostile("true")), "it tries to load posix.system"),
        (pickle.dumps(document(WAITING))[:-9], "a pickle that can't be used"),
        (json.dumps(document(WAITING)).encode()[:300], "JSON that can't be used"),
        (pickle.dumps({"step": 1}), "data that is no flight recorder"),
    ],
    ids=["hostile", "cut", "cut json", "other"],
)
def test_one_dump_that_cannot_be_used_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "dump_0").write_bytes(data)
    result = run(str(tmp_path / "dump_0"))
    assert isinstance(result.exception, RelumeError)
    assert result.exception.exit_code == 2
    assert says in str(result.exception)


def test_a_dump_with_nothing_open_is_unknown_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "dump_0").write_bytes(pickle.dumps(document([entry(5)], rank=0)))
    result = run(str(tmp_path / "dump_0"))
    assert result.exit_code == 0
    assert "nothing is open in the dumps of rank 0" in result.stdout
