"""Whether Relume would have done what people did, as far as accounting tells that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from relume.advice import Operation
from relume.models.scoring.intervals import Proportion
from relume.models.worth.outcomes import DIED_STATES


class Act(StrEnum):
    """What people did about an attempt."""

    REQUEUED = "requeued"
    """Put back into the queue."""
    STARTED_AGAIN = "started again"
    """It had ended, and the run was tried again."""
    CANCELLED = "cancelled"
    """Ended by hand, and not tried again."""
    RESTARTED = "cancelled and started again"
    LEFT = "left"
    """It had failed, and the run was not tried again."""
    NOTHING = "nothing"
    """It went on to a good end, or to one that the scheduler made."""
    UNKNOWN = "unknown"


_AGAIN = frozenset({Act.REQUEUED, Act.STARTED_AGAIN, Act.RESTARTED})
_AGREES: dict[Operation, frozenset[Act]] = {
    Operation.RESTART: _AGAIN,
    Operation.RESTART_EXCLUDING: _AGAIN,
    Operation.STOP: frozenset({Act.CANCELLED, Act.LEFT}),
    Operation.OBSERVE: frozenset({Act.NOTHING}),
}
"""HOLD isn't there: a job that is held and let go looks like one that people started later."""


@dataclass(frozen=True, slots=True)
class Handled:
    """What was advised about an attempt (null: nothing), and what people did.

    `avoided` is whether the next attempt ran without the nodes that were to be left out; null where
    none were, or where nobody knows its nodes.
    """

    operation: Operation | None
    act: Act
    avoided: bool | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often people did as was advised.

    Attributes
    ----------
    agreed
        Of the attempts about which something was advised, where both is known and comparable.
        Where nothing was advised nobody can tell: people cancel jobs for reasons of their own.
    pairs
        How often what was advised and what was done came together.
    avoided
        Of the attempts that were to be started without some nodes and were started again, how many
        ran without them: by choice or by chance, accounting doesn't say.
    """

    agreed: Proportion
    pairs: dict[tuple[Operation | None, Act], int]
    avoided: Proportion


def act_of(state: str | None, *, again: bool | None) -> Act:
    """Return what people did about an attempt that ended so.

    `again` is whether its run was tried again; null where nobody knows.

    Examples
    --------
    >>> str(act_of("CANCELLED by 1000", again=True))
    'cancelled and started again'
    """
    if state is None:
        return Act.UNKNOWN
    word = state.partition(" ")[0]
    if word == "RUNNING" or (again is None and word in DIED_STATES):
        return Act.UNKNOWN
    if word == "CANCELLED":
        return Act.RESTARTED if again else Act.CANCELLED
    if word in {"REQUEUED", "SPECIAL_EXIT"}:
        return Act.REQUEUED
    if word in DIED_STATES:
        return Act.STARTED_AGAIN if again else Act.LEFT
    return Act.NOTHING


def agreement_of(handled: Iterable[Handled]) -> Agreement:
    """Count how often people did as was advised.

    Attempts about which nothing was advised and nothing was done are left out: there are many, and
    that both were silent is no merit.
    """
    pairs: Counter[tuple[Operation | None, Act]] = Counter()
    agreed = compared = avoided = told = 0
    for one in handled:
        if one.operation is None and one.act in {Act.NOTHING, Act.UNKNOWN}:
            continue
        pairs[one.operation, one.act] += 1
        agrees = None if one.operation is None else _AGREES.get(one.operation)
        if agrees is not None and one.act is not Act.UNKNOWN:
            compared += 1
            agreed += one.act in agrees
        if one.avoided is not None:
            told += 1
            avoided += one.avoided
    return Agreement(Proportion(agreed, compared), dict(pairs), Proportion(avoided, told))
