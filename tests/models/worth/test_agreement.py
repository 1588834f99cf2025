from __future__ import annotations

import pytest

from relume.advice import Operation
from relume.models.worth.agreement import Act, Handled, act_of, agreement_of


@pytest.mark.parametrize(
    ("state", "again", "act"),
    [
        ("FAILED", True, Act.STARTED_AGAIN),
        ("FAILED", False, Act.LEFT),
        ("FAILED", None, Act.UNKNOWN),
        ("NODE_FAIL", True, Act.STARTED_AGAIN),
        ("CANCELLED by 0", False, Act.CANCELLED),
        ("CANCELLED", True, Act.RESTARTED),
        ("REQUEUED", True, Act.REQUEUED),
        ("COMPLETED", True, Act.NOTHING),
        ("TIMEOUT", False, Act.NOTHING),
        ("RUNNING", False, Act.UNKNOWN),
        (None, True, Act.UNKNOWN),
    ],
)
def test_what_people_did_is_told_by_the_end_and_by_what_came_next(
    state: str | None,
    again: bool | None,  # noqa: FBT001 - a parameter of the table
    act: Act,
) -> None:
    assert act_of(state, again=again) is act


def test_agreement_counts_what_can_be_compared() -> None:
    found = agreement_of(
        [
            Handled(Operation.RESTART, Act.STARTED_AGAIN),
            Handled(Operation.RESTART_EXCLUDING, Act.REQUEUED, avoided=True),
            Handled(Operation.RESTART_EXCLUDING, Act.REQUEUED, avoided=False),
            Handled(Operation.STOP, Act.STARTED_AGAIN),
            Handled(Operation.STOP, Act.LEFT),
            Handled(Operation.HOLD, Act.STARTED_AGAIN),  # people may just have been slow
            Handled(Operation.RESTART, Act.UNKNOWN),
            Handled(None, Act.CANCELLED),  # for reasons of their own, who knows
            Handled(None, Act.NOTHING),
        ]
    )
    assert (found.agreed.right, found.agreed.total) == (4, 5)
    assert (found.avoided.right, found.avoided.total) == (1, 2)
    assert found.pairs[None, Act.CANCELLED] == 1
    assert (None, Act.NOTHING) not in found.pairs
    assert sum(found.pairs.values()) == 8
