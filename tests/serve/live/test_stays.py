from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relume.serve.live.stays import Stays

MOVES = st.lists(st.tuples(st.sampled_from("abc"), st.sets(st.sampled_from(["n1", "n2", "n3"]))))


@given(MOVES)
def test_who_is_alone_follows_from_where_all_are(moves: list[tuple[str, set[str]]]) -> None:
    stays, where = Stays(), dict[str, set[str]]()
    for name, nodes in moves:
        stays.move(name, nodes)
        where[name] = nodes
    for node in ("n1", "n2", "n3"):
        there = [name for name, nodes in where.items() if node in nodes]
        assert stays.alone_on(node) == (there[0] if len(there) == 1 else None)


def test_nothing_is_kept_of_those_who_left() -> None:
    stays = Stays()
    stays.move("a", ("n1", "n1"))
    stays.move("a", ())
    assert stays == Stays()
