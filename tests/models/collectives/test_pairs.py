"""Who left out its part of a send and a receive, told by ranks in the same place of other groups."""

from __future__ import annotations

from recorders import dump, group, pair, work
from relume.dumps import RankDump
from relume.events import Collective
from relume.models.collectives.graph import build_graph
from relume.models.collectives.pairs import who_left_out
from relume.models.collectives.state import build_state

FOUR = (0, 1, 2, 3)


def left_out(*dumps: RankDump) -> int | None:
    state = build_state(dumps)
    return who_left_out(state, build_graph(state).works)


def stage(rank: int, *works: Collective) -> RankDump:
    """Return a rank of two pipelines, (0, 1) and (2, 3), that is in a group with everybody."""
    pipeline = group((0, 1) if rank < 2 else (2, 3), f"p{rank // 2}", description="PP")
    return dump(rank, *works, groups=[group(FOUR), pipeline])


def send(number: int, rank: int, state: str = "completed") -> Collective:
    """Return a send of a rank to the other one of its pipeline."""
    return pair(number, f"send {rank % 2}->{1 - rank % 2}", state, group=f"p{rank // 2}")


def receive(number: int, rank: int, state: str = "completed") -> Collective:
    """Return a receive of a rank from the other one of its pipeline."""
    return pair(number, f"recv {rank % 2}<-{1 - rank % 2}", state, group=f"p{rank // 2}")


def healthy() -> list[RankDump]:
    """Return the pipeline that is through with its pairs and waits for everybody."""
    return [
        stage(2, send(1, 2), send(2, 2), receive(3, 2), work(7)),
        stage(3, receive(1, 3), receive(2, 3), send(3, 3), work(7)),
    ]


def test_who_called_fewer_than_its_like_left_one_out() -> None:
    sender = stage(0, send(1, 0), send(2, 0, "scheduled"))
    receiver = stage(1, receive(1, 1), work(7))
    assert left_out(sender, receiver, *healthy()) == 1


def test_who_called_more_than_its_like_is_a_step_ahead() -> None:
    ahead = stage(0, send(1, 0), send(2, 0), receive(3, 0), send(4, 0, "scheduled"))
    other = stage(1, receive(1, 1), receive(2, 1), send(3, 1), work(7))
    assert left_out(ahead, other, *healthy()) == 0


def test_of_two_sends_to_each_other_the_one_that_is_not_its_likes_is_wrong() -> None:
    sender = stage(0, send(1, 0), send(2, 0, "scheduled"))
    wrong = stage(1, receive(1, 1), send(2, 1, "scheduled"))
    assert left_out(sender, wrong, *healthy()) == 1
    assert left_out(sender, wrong) is None


def test_without_others_to_compare_with_it_is_who_did_not_come() -> None:
    sender = stage(0, send(1, 0), send(2, 0, "scheduled"))
    receiver = stage(1, receive(1, 1), work(7))
    assert left_out(sender, receiver) == 1


def test_without_others_who_waits_in_both_directions_is_a_step_ahead() -> None:
    ahead = stage(0, send(1, 0), send(2, 0, "scheduled"), receive(3, 0, "scheduled"))
    other = stage(1, receive(1, 1), work(7))
    assert left_out(ahead, other) == 0


def test_ranks_that_wait_in_one_work_left_nothing_out() -> None:
    assert left_out(*(stage(rank, work(7)) for rank in FOUR)) is None
