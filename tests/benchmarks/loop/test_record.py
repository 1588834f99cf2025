from __future__ import annotations

from looping import FAILED_AT, SECOND, asked, begun, came_back, happened, make_record, seen
from relume.benchmarks.loop.record import Recovery
from relume.benchmarks.loop.scenarios import KILLED, PYTHON_ERROR, survivor
from relume.benchmarks.loop.training import History


def test_the_times_of_a_recovery_come_from_ledger_commands_and_job() -> None:
    (recovery,) = make_record(KILLED).recoveries()
    seconds = {
        name: recovery.seconds(name)
        for name in (
            "durable_at",
            "settled_at",
            "released_at",
            "launched_at",
            "began_at",
            "stepped_at",
        )
    }
    assert seconds == {
        "durable_at": 0.5,
        "settled_at": 10.5,
        "released_at": 11.0,
        "launched_at": 12.0,
        "began_at": 15.0,
        "stepped_at": 15.5,
    }


def test_what_never_came_is_null() -> None:
    failed = History((*begun(0, -8, 0), happened("fault", 0)))
    (recovery,) = make_record(KILLED, history=failed, advice=(), commands=()).recoveries()
    assert recovery == Recovery(failed_at=FAILED_AT)
    assert recovery.seconds("released_at") is None


def test_each_failure_has_its_own_advice_and_release() -> None:
    history = History(
        (
            *came_back().events[:-1],
            happened("fault", 30, attempt=1, step=23, rank=2),
            *begun(2, 45, 20),
        )
    )
    record = make_record(
        KILLED,
        plan=survivor(1),
        history=history,
        advice=(seen(0.5), seen(31, attempt=1)),
        commands=(
            asked(-5, "scontrol", "release", "7"),
            asked(11, "scontrol", "release", "7"),
            asked(41, "scontrol", "release", "7"),
        ),
    )
    first, second = record.recoveries()
    assert (first.durable_at, first.released_at) == (
        FAILED_AT + SECOND // 2,
        FAILED_AT + 11 * SECOND,
    )
    assert (second.seconds("durable_at"), second.seconds("released_at")) == (1.0, 11.0)
    assert second.stepped_at is None


def test_only_faults_that_happened_count() -> None:
    record = make_record(KILLED)
    assert [attempt for attempt, _ in record.faults] == [0]
    twice = History((*came_back().events, happened("fault", 40, attempt=1, step=23)))
    again = make_record(PYTHON_ERROR, history=twice)
    assert [attempt for attempt, _ in again.faults] == [0, 1]
    assert make_record(KILLED, history=History()).faults == []


def test_the_last_settled_advice_about_an_attempt_counts() -> None:
    last = seen(20, generation=3)
    record = make_record(KILLED, advice=(seen(0.5, settled=False), seen(10), last))
    assert record.settled(0) == last.advice
    assert record.settled(1) is None
