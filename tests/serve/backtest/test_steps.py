from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from relume.features.progress.markers import Phase
from relume.serve.backtest.steps import MAX_ROWS, MAX_STALE, StepRecord


@dataclass
class Shown:
    """How far a job has come."""

    new_steps: int = 0
    last_step: int | None = None
    entered_phase: Phase | None = None


def noted(*shown: tuple[int, Shown]) -> StepRecord:
    record = StepRecord()
    for at, progress in shown:
        record.note(progress, at)
    return record


def test_steps_are_noted_when_they_come_further() -> None:
    record = noted(
        (1, Shown(1, 10)),
        (2, Shown(1, 10)),
        (3, Shown(2, 20)),
        (4, Shown(3, 20)),
        (9, Shown(4, 30)),
    )
    assert record.rows == [(1, 10, 0), (3, 20, 0), (9, 30, 0)]
    assert not record.counts_lines


def test_numbers_that_start_over_are_counted_on() -> None:
    epoch = [(n, Shown(n, min(n, 100))) for n in range(1, 301)]
    record = noted(*epoch)
    assert record.counts_lines
    assert record.rows[-1].step >= 300 - MAX_STALE
    steps = [row.step for row in record.rows]
    assert steps == sorted(set(steps))


def test_the_time_in_an_evaluation_is_a_pause_up_to_its_end_or_the_next_step() -> None:
    ended = noted(
        (1, Shown(1, 1)),
        (2, Shown(1, 1, Phase.EVALUATION)),
        (5, Shown(1, 1, Phase.EVALUATION)),
        (7, Shown(1, 1)),
        (9, Shown(2, 2)),
    )
    open_end = noted(
        (1, Shown(1, 1)), (2, Shown(1, 1, Phase.CHECKPOINT)), (9, Shown(2, 2)), (10, Shown(3, 3))
    )
    assert ended.rows == [(1, 1, 0), (9, 2, 5)]
    assert open_end.rows == [(1, 1, 0), (9, 2, 7), (10, 3, 0)]


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=900
    ),
    st.integers(3, MAX_ROWS),
)
def test_rows_are_bounded_and_lose_neither_steps_nor_pauses(
    moves: list[tuple[int, int, int]], most: int
) -> None:
    record = StepRecord(max_rows=most)
    at = step = 0
    for later, further, pause in moves:
        at, step = at + later, step + further
        record.add(at, step, pause)
    rows = record.rows
    assert len(rows) <= most
    assert rows[-1][:2] == (max(row.at for row in rows), step)
    assert sum(row.pause for row in rows) == sum(pause for _, _, pause in moves)
    assert [row.at for row in rows] == sorted({row.at for row in rows})
    assert all(a.step <= b.step for a, b in pairwise(rows))
