from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.advice import Operation
from relume.models.worth.counterfactual import (
    SECOND,
    Advised,
    Counterfactual,
    Failure,
    FalseAlarm,
    Hand,
    Held,
    compare,
)

HELD = Held(productive=1_000_000.0, held=2_000_000.0)


def failure(onset: int, end: int, *, start: int = 0, **changes: Any) -> Failure:
    """A failure on one GPU; seconds."""
    fields: dict[str, Any] = {"attempt": "lab/1@1.0", "gpus": 1}
    fields |= {"start": start * SECOND, "onset": onset * SECOND, "end": end * SECOND}
    return Failure(**(fields | changes))


def advised(at: float, operation: Operation = Operation.RESTART, **changes: Any) -> Advised:
    return Advised(operation=operation, rule="a_rule", time=round(at * SECOND), **changes)


def worth(*failures: Failure, false: int = 0) -> Counterfactual:
    alarms = [FalseAlarm(attempt="lab/9@1.0", gpus=2, rule="a_rule")] * false
    return compare(failures, alarms, HELD, restart_seconds=100.0)


def test_a_hang_that_a_person_ended_after_an_hour() -> None:
    found = worth(failure(100, 3700, by_hand=True, advised=advised(190)))
    assert found.lost == {
        Hand.BASELINE: 600,
        Hand.HUMAN: 1800,
        Hand.RELUME: 90,
        Hand.PERFECT: 0,
    }
    kept = HELD.held - 3600  # what was lost in the record is no part of any other world
    assert found.goodput[Hand.RELUME] == HELD.productive / (kept + 90)
    assert found.oracle_fraction == pytest.approx(510 / 600, rel=1e-3)
    assert found.by_rule["a_rule"].saved == 510


def test_a_job_that_dies_by_itself_needs_no_timer() -> None:
    found = worth(failure(100, 130, advised=advised(140)))
    assert (found.lost[Hand.BASELINE], found.lost[Hand.RELUME]) == (30, 40)
    assert found.by_rule["a_rule"].wasted == 10


def test_the_timer_ends_a_hang_before_late_advice_does() -> None:
    in_time = worth(failure(0, 1800, advised=advised(900)))
    after_the_end = worth(failure(0, 1800, advised=advised(1801)))
    assert in_time.lost[Hand.RELUME] == 610
    assert after_the_end.lost[Hand.RELUME] == 601


@pytest.mark.parametrize(
    ("one", "seconds"),
    [
        (None, 1800),
        (advised(20, Operation.OBSERVE), 1800),
        (advised(20, Operation.HOLD, hold_seconds=900), 920),
        (advised(20, Operation.STOP), 20),
    ],
)
def test_what_relume_leaves_alone_waits_for_a_person(one: Advised | None, seconds: int) -> None:
    assert worth(failure(0, 20, advised=one)).lost[Hand.RELUME] == seconds


def test_an_attempt_in_vain_is_lost_but_to_those_who_would_not_have_made_it() -> None:
    vain = failure(500, 530, start=100, repeats=True, advised=advised(540))
    assert worth(vain).lost == {
        Hand.BASELINE: 430,
        Hand.HUMAN: 0,
        Hand.RELUME: 440,
        Hand.PERFECT: 0,
    }
    spared = failure(500, 530, start=100, repeats=True, spared=True)
    assert worth(spared).lost[Hand.RELUME] == 0


def test_a_wrong_stop_and_a_false_alarm_are_paid_for() -> None:
    stop = failure(0, 20, advised=advised(30, Operation.STOP), stopped_wrongly=True)
    found = worth(stop, false=3)
    assert found.lost[Hand.RELUME] == 30 + 1800 + 3 * 2 * 100
    assert found.by_rule["a_rule"].false_alarms == 3
    assert found.by_rule["a_rule"].net == -(found.lost[Hand.RELUME] - 20)
    assert found.oracle_fraction is not None
    assert found.oracle_fraction < 0


def test_without_failures_there_is_nothing_to_be_a_share_of() -> None:
    found = worth()
    assert found.oracle_fraction is None
    assert set(found.goodput.values()) == {0.5}


@given(
    st.lists(
        st.tuples(
            st.integers(1, 64),
            st.integers(0, 10_000),
            st.integers(0, 10_000),
            st.booleans(),
            st.booleans(),
            st.one_of(st.none(), st.integers(0, 20_000)),
        ),
        max_size=8,
    )
)
def test_nobody_beats_perfection_and_rules_add_up(rows: list[tuple[Any, ...]]) -> None:
    failures = [
        failure(
            onset,
            onset + long,
            gpus=gpus,
            by_hand=by_hand,
            repeats=repeats,
            advised=None if at is None else advised(at),
        )
        for gpus, onset, long, by_hand, repeats, at in rows
    ]
    found = worth(*failures)
    assert all(found.lost[Hand.PERFECT] <= lost for lost in found.lost.values())
    assert all(lost >= 0 for lost in found.lost.values())
    net = sum(rule.net for rule in found.by_rule.values())
    assert net == pytest.approx(found.lost[Hand.BASELINE] - found.lost[Hand.RELUME])
    if found.oracle_fraction is not None:
        assert found.oracle_fraction <= 1 + 1e-9
