from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from relume.models.templates.history import TemplateHistory
from relume.serve.backtest.engines import lessons
from relume.serve.backtest.engines.lessons import InOrder, Lesson, Lessons

PIECES = 6


def lesson(number: int) -> Lesson:
    return Lesson(f"lab/{number}@0.0", ("run ada/llm",), (b"ward %d is open" % number,))


@given(order=st.permutations(range(PIECES)), silent=st.sets(st.integers(0, PIECES - 1)))
def test_lessons_are_taught_in_the_order_of_the_pieces(order: list[int], silent: set[int]) -> None:
    """`silent` pieces have none; the history is one that writes down what it is told."""
    history = Lessons()
    learner = InOrder(history)
    for place in order:
        learner.take(place, () if place in silent else (lesson(place),))
    learner.close()
    assert history.kept == [lesson(place) for place in range(PIECES) if place not in silent]


@given(done=st.lists(st.integers(0, PIECES - 1), unique=True))
def test_what_waits_for_a_piece_that_never_came_is_taught_at_the_end(done: list[int]) -> None:
    history = Lessons()
    learner = InOrder(history)
    for place in done:
        learner.take(place, (lesson(place),))
    learner.close()
    assert history.kept == [lesson(place) for place in sorted(done)]


def test_known_attempts_need_no_lesson() -> None:
    known = TemplateHistory()
    known.learn(*lesson(1))
    kept = Lessons(known)
    assert [kept.learn(*lesson(number)) for number in (1, 2)] == [False, True]
    assert kept.kept == [lesson(2)]


def test_lessons_of_a_piece_are_bounded() -> None:
    kept, line = Lessons(), b"x" * (1 << 20)
    for number in range(100):
        kept.learn(f"lab/{number}@0.0", (), [line])
    assert sum(len(line) for one in kept.kept for line in one.lines) == lessons.MAX_BYTES + len(
        line
    )
