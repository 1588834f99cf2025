from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relume.errors import InputError
from relume.models.lemons.quarantine import DAY, Change, Move, Quarantine, QuarantineSettings
from relume.verdict import Domain


def moves(changes: Iterable[Change]) -> list[tuple[str, str]]:
    return [(change.node, change.move.value) for change in changes]


@pytest.mark.parametrize("domain", [Domain.WORKLOAD, Domain.UNKNOWN, Domain.SCHEDULER])
def test_only_evidence_of_hardware_grade_holds_a_node(domain: Domain) -> None:
    fleet = Quarantine(QuarantineSettings(), nodes=100)
    fleet.fault("n1", 0, domain)
    assert fleet.returned("n1", DAY) == []
    assert fleet.held == {}


def test_a_full_cap_keeps_the_riskiest_and_says_that_there_is_no_room() -> None:
    fleet = Quarantine(QuarantineSettings(cap=0.01), nodes=100)
    for at in (0, DAY, 2 * DAY):
        fleet.fault("bad", at, Domain.HARDWARE)
    fleet.fault("once", 2 * DAY, Domain.HARDWARE)
    assert moves(fleet.returned("bad", 3 * DAY)) == [("bad", "hold")]
    full = fleet.returned("once", 3 * DAY)
    assert moves(full) == [("once", "no_room")]
    assert full[0].why == "1 fault; all 1 places are taken"
    fleet.fault("once", 9 * DAY, Domain.HARDWARE)
    assert moves(fleet.returned("once", 10 * DAY)) == [("bad", "parole"), ("once", "hold")]


def test_a_cap_of_less_than_a_node_holds_nobody() -> None:
    fleet = Quarantine(QuarantineSettings(cap=0.02), nodes=49)
    fleet.fault("n1", 0, Domain.HARDWARE)
    assert moves(fleet.returned("n1", 1)) == [("n1", "no_room")]


def test_faults_before_the_window_are_forgotten() -> None:
    fleet = Quarantine(QuarantineSettings(window_days=10), nodes=100)
    fleet.fault("n1", 0, Domain.HARDWARE)
    assert fleet.returned("n1", 11 * DAY) == []


def test_paroles_come_in_time_and_in_order() -> None:
    fleet = Quarantine(QuarantineSettings(cap=0.5, parole_days=7), nodes=10)
    for day, node in enumerate(("b", "a", "c")):
        fleet.fault(node, day * DAY, Domain.NETWORK)
        fleet.returned(node, day * DAY)
    assert fleet.advance(6 * DAY) == []
    let_go = fleet.advance(30 * DAY)
    assert [(change.node, change.at // DAY) for change in let_go] == [("b", 7), ("a", 8), ("c", 9)]
    assert let_go[0].why == "quiet for 7 days"


def test_a_node_that_an_operator_took_back_starts_anew() -> None:
    fleet = Quarantine(QuarantineSettings(), nodes=100)
    fleet.fault("n1", 0, Domain.HARDWARE)
    fleet.returned("n1", DAY)
    fleet.release("n1")
    assert fleet.held == {}
    assert fleet.returned("n1", 2 * DAY) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda: QuarantineSettings(cap=1.5),
        lambda: QuarantineSettings(parole_days=0),
        lambda: Quarantine(QuarantineSettings(), nodes=0),
    ],
)
def test_settings_that_make_no_sense_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(InputError):
        make()


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 40), st.sampled_from(sorted(Domain))),
        max_size=60,
    ),
    st.floats(0, 0.6),
)
def test_the_cap_holds_whatever_happens(events: list[tuple[int, int, Domain]], cap: float) -> None:
    fleet = Quarantine(QuarantineSettings(cap=cap), nodes=10)
    told: set[str] = set()
    for node, day, domain in sorted(events, key=lambda event: event[1]):
        fleet.fault(f"n{node}", day * DAY, domain)
        for change in fleet.returned(f"n{node}", day * DAY + 1):
            if change.move is Move.HOLD:
                assert change.node not in told
                told.add(change.node)
            elif change.move is Move.PAROLE:
                told.remove(change.node)
        assert set(fleet.held) == told
        assert len(told) <= cap * 10 + 1e-9
