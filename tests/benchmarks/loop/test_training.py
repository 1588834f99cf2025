from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from looping import FAILED_AT, NODES, SECOND, begun, came_back, happened
from relume.benchmarks.loop.training import (
    PROGRAM,
    SAVE_EVERY,
    Fault,
    FaultKind,
    History,
    opted_in,
    require_torch,
)
from relume.errors import UnreachableError
from relume.identity import read_comment


def test_a_history_is_read_back_as_the_job_writes_it() -> None:
    event = {
        "what": "fault",
        "attempt": 1,
        "step": 23,
        "rank": 2,
        "node": "node3",
        "time": 1767323045.25,
    }
    text = f"{json.dumps(event)}\n" * 2

    events = History.parse(text + '{"what": "st').events

    assert len(events) == 2
    assert events[0].at == 1_767_323_045_250_000
    assert (events[0].what, events[0].attempt, events[0].node) == ("fault", 1, "node3")
    assert History.parse("").events == ()


def test_a_history_tells_what_happened_in_each_attempt() -> None:
    history = came_back(step=20)
    assert history.attempts == 2
    assert history.ended
    assert not history.recovering
    assert history.fault_at(0) == FAILED_AT
    assert history.fault_at(1) is None
    assert history.faulty_nodes(0) == {"node3"}
    assert history.nodes(1) == set(NODES)
    assert history.began_with(1) == 20
    assert history.first_step_at(1) == FAILED_AT + 155 * SECOND // 10
    assert (history.began_at(2), history.began_with(2), history.first_step_at(2)) == (None,) * 3


def test_an_attempt_has_begun_when_its_last_rank_has() -> None:
    late = happened("begin", -2, rank=3, node="node4")
    assert History((*begun(0, -8, 0, NODES[:3]), late)).began_at(0) == late.at


def test_of_ranks_that_all_fail_the_first_counts() -> None:
    faults = [happened("fault", at, rank=rank) for rank, at in enumerate((0.3, 0.1, 0.2))]
    assert History((*begun(0, -8, 0), *faults)).fault_at(0) == faults[1].at


def test_a_job_recovers_from_its_failure_to_its_next_step() -> None:
    failed = (*begun(0, -8, 0), happened("fault", 0))
    again = (*failed, *begun(1, 15, 0))
    stepped = (*again, happened("step", 16, attempt=1))
    assert not History(failed[:-1]).recovering
    assert History(failed).recovering
    assert History(again).recovering
    assert not History(stepped).recovering


def test_a_job_starts_until_its_newest_attempt_does_a_step() -> None:
    launched = (happened("launch", -11), *begun(0, -8, 0))
    stepped = (*launched, happened("step", -7), happened("fault", 0))
    again = (*stepped, happened("launch", 12, attempt=1))
    assert History().starting
    assert History(launched).starting
    assert not History(stepped).starting
    assert History(again).starting
    assert not History((*again, happened("step", 16, attempt=1))).starting


@pytest.mark.parametrize(("step", "checkpoint"), [(0, 0), (4, 0), (5, 5), (23, 20)])
def test_a_fault_knows_the_checkpoint_before_it(step: int, checkpoint: int) -> None:
    assert Fault(FaultKind.SIGKILL, step).checkpoint == checkpoint
    assert checkpoint % SAVE_EVERY == 0


def test_the_comment_of_a_job_opts_in() -> None:
    assert read_comment(opted_in("killed-1")).run == "killed-1"


def test_a_missing_pytorch_is_named_with_what_makes_it(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="run `make torch`"):
        require_torch(tmp_path / "python")
    (tmp_path / "python").touch()
    assert require_torch(tmp_path / "python").is_absolute()


def test_the_job_needs_nothing_of_relume() -> None:
    tree = ast.parse(PROGRAM.read_text())
    modules = {
        name.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert not [name for name in modules if name.startswith("relume")]
