"""Faults count late, alone, and until a person gives the node back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relume.models.lemons.online import SHARED_NODES, SHARED_SECONDS, Fault, NodeLedger
from relume.models.lemons.quarantine import Change, Move, QuarantineSettings
from relume.verdict import Domain

SECOND, HOUR = 1_000_000, 3600
SETTLES = round(SHARED_SECONDS)
SETTINGS = QuarantineSettings(cap=0.02, min_faults=2)


def fault(node: str, second: int, attempt: str | None = "") -> Fault:
    name = f"lab/{second}@0.0" if attempt == "" else attempt
    return Fault(node=node, at=second * SECOND, domain=Domain.HARDWARE, attempt=name)


def walked(
    *faults: Fault, nodes: int = 100, settings: QuarantineSettings = SETTINGS
) -> list[Change]:
    ledger = NodeLedger(settings)
    changes = []
    for one in faults:
        changes += ledger.advance(one.at, nodes)
        ledger.note(one)
    last = faults[-1].at + SETTLES * SECOND
    return [*changes, *ledger.advance(last, nodes)]


def moves(changes: list[Change]) -> list[tuple[str, Move]]:
    return [(one.node, one.move) for one in changes]


def test_two_faults_hold_a_node_and_one_does_not() -> None:
    assert moves(walked(fault("n1", 0), fault("n1", HOUR))) == [("n1", Move.HOLD)]
    assert walked(fault("n1", 0)) == []


def test_one_attempt_is_one_fault_however_often_it_is_told() -> None:
    assert walked(fault("n1", 0, "lab/1@0.0"), fault("n1", HOUR, "lab/1@0.0")) == []


def test_what_slurm_says_of_the_same_failure_is_no_second_fault() -> None:
    assert walked(fault("n1", 0, None), fault("n1", 60)) == []
    assert walked(fault("n1", 0), fault("n1", 60, None)) == []
    assert moves(walked(fault("n1", 0), fault("n1", 3 * HOUR, None))) == [("n1", Move.HOLD)]


def test_what_strikes_many_nodes_at_once_is_nobodys_fault() -> None:
    once = [fault(f"n{number}", number) for number in range(SHARED_NODES)]
    twice = [fault(f"n{number}", HOUR + number) for number in range(SHARED_NODES)]
    assert walked(*once, *twice) == []
    fewer = [one for one in (*once, *twice) if one.node != "n0"]
    assert len(walked(*fewer)) == SHARED_NODES - 1


def test_beyond_the_cap_there_is_no_room() -> None:
    pairs = [fault(node, second) for second in (0, HOUR) for node in ("n1", "n2", "n3")]
    assert [move for _, move in moves(walked(*pairs))] == [Move.HOLD, Move.HOLD, Move.NO_ROOM]
    assert {move for _, move in moves(walked(*pairs, nodes=49))} == {Move.NO_ROOM}


def test_who_is_out_of_service_is_held_when_it_comes_back_by_itself() -> None:
    ledger = NodeLedger(SETTINGS)
    ledger.went_out("n1")
    for one in (fault("n1", 0), fault("n1", HOUR)):
        ledger.note(one)
        assert ledger.advance(one.at + SETTLES * SECOND, 100) == []
    back = ledger.came_back("n1", 3 * HOUR * SECOND, by_hand=False)
    assert moves(back) == [("n1", Move.HOLD)]
    by_hand = ledger.came_back("n1", 4 * HOUR * SECOND, by_hand=True)
    assert moves(by_hand) == [("n1", Move.PAROLE)]
    assert ledger.faults == []
    assert ledger.came_back("n1", 5 * HOUR * SECOND, by_hand=False) == []


def test_it_is_let_go_after_a_month() -> None:
    ledger = NodeLedger(SETTINGS)
    for one in (fault("n1", 0), fault("n1", HOUR)):
        ledger.note(one)
        ledger.advance(one.at + SETTLES * SECOND, 100)
    assert moves(ledger.advance(31 * 24 * HOUR * SECOND, 100)) == [("n1", Move.PAROLE)]


def test_what_is_told_has_a_generation_of_its_own() -> None:
    ledger = NodeLedger(SETTINGS)
    for one in (fault("n1", 0), fault("n1", HOUR)):
        ledger.note(one)
        changes = ledger.advance(one.at + SETTLES * SECOND, 100)
    hold = ledger.tell(changes[0])
    [parole] = ledger.came_back("n1", 4 * HOUR * SECOND, by_hand=True)
    end = ledger.tell(parole)
    assert hold is not None
    assert end is not None
    assert (hold.generation, end.generation) == (1, 2)
    assert hold.fault.attempt == end.fault.attempt == f"lab/{HOUR}@0.0"


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 100_000)), min_size=1, max_size=40),
    st.integers(1, 400),
)
def test_never_more_are_held_than_there_is_room_and_state_goes_on(
    told: list[tuple[int, int]], nodes: int
) -> None:
    """A ledger that was restored in the middle says the same as one that went on."""
    faults = [fault(f"n{node}", second, f"lab/{n}@0.0") for n, (node, second) in enumerate(told)]
    faults.sort(key=lambda one: one.at)
    whole, parted = NodeLedger(SETTINGS), NodeLedger(SETTINGS)
    for number, one in enumerate(faults):
        if number == len(faults) // 2:
            state = parted
            parted = NodeLedger(SETTINGS)
            parted.restore(
                state.faults, state.waiting, state.out, state.quarantine.holds, state.told
            )
        assert whole.advance(one.at, nodes) == parted.advance(one.at, nodes)
        whole.note(one)
        parted.note(one)
        assert len(whole.quarantine.held) <= int(0.02 * nodes)
