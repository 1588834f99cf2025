"""The nodes of a cluster by Slurm's word: which are out of service, who took them out and back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from relume.events import Actor, NodeEvent
from relume.slurm.nodes import RESPONDING, is_drained, is_out


class Turn(StrEnum):
    """What became of a node."""

    OUT = "out"
    BACK = "back"
    """By itself, or by Slurm: it answers again."""
    RESUMED = "resumed"
    """A person, or a program of theirs, gave it back to jobs."""


@dataclass(frozen=True, slots=True)
class NodeState:
    """How a node was last told to be."""

    is_out: bool = False
    is_drained: bool = False
    partitions: tuple[str, ...] = ()
    reason: str | None = None
    actor: Actor | None = None
    since: int | None = None


@dataclass(slots=True)
class NodeBook:
    """The state of every node that was ever told of. Bounded by the cluster.

    Examples
    --------
    >>> book = NodeBook()
    >>> drained = NodeEvent(source="slurm", node="n1", state="IDLE+DRAIN", partitions=("gpu",))
    >>> book.take(drained)
    <Turn.OUT: 'out'>
    >>> book.partition("gpu"), book.is_out("n1"), book.partition("cpu")
    ((1, 0), True, None)
    >>> book.take(NodeEvent(source="slurm", node="n1", state="IDLE", partitions=("gpu",)))
    <Turn.RESUMED: 'resumed'>
    """

    states: dict[str, NodeState] = field(default_factory=dict)
    _total: Counter[str] = field(default_factory=Counter)
    _out: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for state in self.states.values():
            self._count(state, 1)

    def __len__(self) -> int:
        return len(self.states)

    def take(self, event: NodeEvent) -> Turn | None:
        """Take what is told of a node; null when nothing that matters has changed.

        Who is seen for the first time, in service, has not come back.
        """
        if event.state is None:
            return None  # a check that changed nothing
        before = self.states.get(event.node)
        now = _state(event, before or NodeState())
        if before is not None:
            self._count(before, -1)
        self._count(now, 1)
        self.states[event.node] = now
        return _turn(before or NodeState(), now, event)

    def is_out(self, node: str) -> bool:
        """Whether a node is known to be out of service."""
        state = self.states.get(node)
        return state is not None and state.is_out

    def is_in(self, node: str, partition: str | None) -> bool:
        """Whether a node is in a partition; not so where nobody told."""
        state = self.states.get(node)
        return state is not None and partition in state.partitions

    def partition(self, name: str) -> tuple[int, int] | None:
        """Return how many nodes a partition has, and how many of them are in service."""
        total = self._total[name]
        return (total, total - self._out[name]) if total else None

    def _count(self, state: NodeState, step: int) -> None:
        for name in state.partitions:
            self._total[name] += step
            self._out[name] += step * state.is_out


def _state(event: NodeEvent, before: NodeState) -> NodeState:
    words = event.state or ""
    partitions = event.partitions or before.partitions
    if words == RESPONDING and before.is_drained:  # it answers, and is still nobody's
        return before
    out = is_out(words)
    same = out == before.is_out and is_drained(words) == before.is_drained
    return NodeState(
        is_out=out,
        is_drained=is_drained(words),
        partitions=partitions,
        reason=event.reason if out else None,
        actor=event.actor if out else None,
        since=before.since if same else event.event_time or event.observed_at,
    )


def _turn(before: NodeState, now: NodeState, event: NodeEvent) -> Turn | None:
    if now.is_out and not before.is_out:
        return Turn.OUT
    if now.is_out or not before.is_out:
        return None
    by_hand = before.is_drained or event.actor is Actor.ADMIN
    return Turn.RESUMED if by_hand else Turn.BACK
