"""What became of nodes, by Slurm's words of any kind."""

from __future__ import annotations

import pytest

from relume.events import Actor, NodeEvent
from relume.models.fleet.nodes import NodeBook, Turn
from relume.slurm.nodes import is_drained, is_out


def told(*states: str, actor: Actor | None = None) -> list[Turn | None]:
    book = NodeBook()
    events = (NodeEvent(source="slurm", node="n1", state=state, actor=actor) for state in states)
    return [book.take(event) for event in events]


@pytest.mark.parametrize(
    ("states", "turns"),
    [
        (("IDLE", "MIXED", "ALLOCATED"), [None, None, None]),
        (("IDLE", "DOWN*", "IDLE"), [None, Turn.OUT, Turn.BACK]),
        (("drained*", "drng", "idle"), [Turn.OUT, None, Turn.RESUMED]),
        (("DOWN*", "DOWN*+DRAIN", "MIXED"), [Turn.OUT, None, Turn.RESUMED]),
        (("NOT_RESPONDING", "RESPONDING"), [Turn.OUT, Turn.BACK]),
        (("IDLE+DRAIN", "RESPONDING", "RESUME"), [Turn.OUT, None, Turn.RESUMED]),
    ],
)
def test_turns(states: tuple[str, ...], turns: list[Turn | None]) -> None:
    assert told(*states) == turns


def test_who_comes_back_by_an_admin_was_resumed() -> None:
    book = NodeBook()
    book.take(NodeEvent(source="slurm", node="n1", state="DOWN"))
    resumed = NodeEvent(source="slurm", node="n1", state="RESUME", actor=Actor.ADMIN)
    assert book.take(resumed) is Turn.RESUMED


def test_partitions_are_counted_as_nodes_move() -> None:
    book = NodeBook()
    for node, state in (("n1", "IDLE"), ("n2", "DOWN"), ("n3", "IDLE")):
        book.take(NodeEvent(source="slurm", node=node, state=state, partitions=("gpu", "all")))
    assert (book.partition("gpu"), book.partition("all"), len(book)) == ((3, 2), (3, 2), 3)
    book.take(NodeEvent(source="slurm", node="n3", state="DRAIN", partitions=("all",)))
    assert (book.partition("gpu"), book.partition("all")) == ((2, 1), (3, 1))
    assert NodeBook(book.states).partition("all") == (3, 1)
    assert (book.is_in("n3", "gpu"), book.is_in("n3", "all"), book.is_in("n9", "all")) == (
        False,
        True,
        False,
    )


def test_a_check_that_changed_nothing_changes_nothing() -> None:
    book = NodeBook()
    assert book.take(NodeEvent(source="nhc", node="n1", check="nhc")) is None
    assert len(book) == 0


@pytest.mark.parametrize("state", ["IDLE+POWERED_DOWN", "idle~", "MIXED+PLANNED", "alloc#", "comp"])
def test_states_of_nodes_that_get_jobs(state: str) -> None:
    assert not is_out(state)


@pytest.mark.parametrize("state", ["maint", "IDLE+MAINTENANCE", "reboot^", "FAIL", "futr", "inval"])
def test_states_of_nodes_that_get_none(state: str) -> None:
    assert is_out(state)
    assert is_drained("IDLE+DRAIN+NOT_RESPONDING")
