from __future__ import annotations

from typing import Any

import pytest

from looping import NODES, RESTARTED, asked, begun, came_back, happened, make_record, seen
from relume.advice import Operation
from relume.benchmarks.loop.record import Record
from relume.benchmarks.loop.scenarios import (
    GPU_LOST,
    KILLED,
    MAX_RESTARTS,
    OBSERVED,
    PYTHON_ERROR,
    STOPPED,
    STRANGER,
    Scenario,
    survived,
    survivor,
)
from relume.benchmarks.loop.training import History
from relume.identity import read_comment
from relume.verdict import Kind

ELSEWHERE = ("node1", "node2", "node4", "node5")
UNTOUCHED: dict[str, Any] = {
    "state": "FAILED",
    "restarts": 0,
    "marked": False,
    "history": History((*begun(0, -8, 0), happened("fault", 0, step=23))),
    "commands": (),
}


def moved(**changes: Any) -> Record:
    fields: dict[str, Any] = {
        "excluded": frozenset({"node3"}),
        "history": came_back(ELSEWHERE),
        "advice": (seen(0.5, settled=False), seen(10.5, Operation.RESTART_EXCLUDING)),
    }
    return make_record(GPU_LOST, **(fields | changes))


def given_up(**changes: Any) -> Record:
    faults = [happened("fault", at, attempt=attempt, step=23) for attempt, at in enumerate((0, 25))]
    fields: dict[str, Any] = {
        "state": "CANCELLED",
        "history": History((*begun(0, -8, 0), faults[0], *begun(1, 15, 20), faults[1])),
        "advice": (seen(10), seen(35, Operation.STOP, attempt=1)),
    }
    return make_record(PYTHON_ERROR, **(fields | changes))


def complaints(record: Record, scenario: Scenario) -> list[str]:
    return list(scenario.complaints(record))


def test_runs_as_they_should_be_give_no_reason_to_complain() -> None:
    hang = (seen(95, kind=Kind.HANG, settled=False), seen(105, kind=Kind.HANG))
    assert complaints(make_record(KILLED), KILLED) == []
    assert complaints(moved(), GPU_LOST) == []
    assert complaints(make_record(STOPPED, advice=hang), STOPPED) == []
    assert complaints(given_up(), PYTHON_ERROR) == []
    assert complaints(make_record(STRANGER, **UNTOUCHED), STRANGER) == []
    assert complaints(make_record(OBSERVED, **UNTOUCHED), OBSERVED) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "FAILED"}, "ended FAILED"),
        ({"restarts": 2}, "2 restarts after 1 of 1 faults"),
        ({"restarts": 0, "history": History()}, "0 restarts after 0 of 1 faults"),
        (
            {"commands": (*RESTARTED, asked(12, "scontrol", "requeuehold", "7"))},
            "2 commands to requeue it after 1 faults",
        ),
        ({"history": came_back(step=0)}, "attempt 1 began with step 0, not 20"),
        ({"excluded": frozenset({"node2"})}, "excluded ['node2'], not []"),
        ({"advice": ()}, "no settled Advice"),
        ({"advice": (seen(9, Operation.HOLD),)}, "the Advice is HOLD after a crash"),
        ({"advice": (seen(9, kind=Kind.HANG),)}, "the Advice is RESTART after a hang"),
    ],
)
def test_a_restart_that_is_not_as_it_should_be(changes: dict[str, Any], words: str) -> None:
    assert words in complaints(make_record(KILLED, **changes), KILLED)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"excluded": frozenset()}, "excluded [], not ['node3']"),
        ({"excluded": frozenset({"node2", "node3"})}, "excluded ['node2', 'node3'], not ['node3']"),
        ({"history": came_back(NODES)}, "it ran again on ['node3']"),
        ({"advice": (seen(9),)}, "the Advice is RESTART after a crash"),
    ],
)
def test_a_move_that_is_not_as_it_should_be(changes: dict[str, Any], words: str) -> None:
    assert words in complaints(moved(**changes), GPU_LOST)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "RUNNING"}, "ended RUNNING"),
        ({"restarts": 0}, "0 restarts; allowed are 1 to 3"),
        ({"restarts": MAX_RESTARTS + 1}, "4 restarts; allowed are 1 to 3"),
        ({"excluded": frozenset({"node1"})}, "excluded ['node1']"),
        ({"advice": (seen(10),)}, "the last word is none, not STOP"),
        ({"advice": (seen(35, attempt=1),)}, "the last word is RESTART, not STOP"),
    ],
)
def test_a_stop_that_is_not_as_it_should_be(changes: dict[str, Any], words: str) -> None:
    assert words in complaints(given_up(**changes), PYTHON_ERROR)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": "PENDING"}, "ended PENDING"),
        ({"commands": RESTARTED}, "2 commands that may have changed it"),
        ({"marked": True}, "0 restarts, marked True, []"),
        ({"restarts": 1}, "1 restarts, marked False, []"),
    ],
)
def test_a_job_that_was_to_be_left_alone(changes: dict[str, Any], words: str) -> None:
    assert words in complaints(make_record(STRANGER, **(UNTOUCHED | changes)), STRANGER)


def test_only_strangers_do_not_opt_in() -> None:
    for scenario in (KILLED, GPU_LOST, STOPPED, PYTHON_ERROR, OBSERVED):
        assert read_comment(scenario.plan(1).comment).opted_in
    assert not read_comment(STRANGER.plan(1).comment).opted_in


def test_a_survivor_comes_further_with_each_attempt() -> None:
    plan = survivor(4)
    checkpoints = [fault.checkpoint for fault in plan.faults]
    assert checkpoints == sorted(set(checkpoints))
    assert plan.steps > plan.faults[-1].step


def test_a_survivor_needs_a_settled_decision_about_each_failure() -> None:
    record = make_record(KILLED, advice=(seen(0.5, settled=False),))
    assert list(survived(record)) == ["no settled Advice about attempt 0"]
    assert list(survived(make_record(KILLED))) == []
