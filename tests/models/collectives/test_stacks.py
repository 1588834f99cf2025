"""The small group of stacks is suspect, where it is not the one that waits."""

from __future__ import annotations

from relume.dumps import Frame, ProcessStack
from relume.models.collectives.stacks import judge_stacks

WAITING = (Frame("all_reduce", "distributed_c10d.py", 10), Frame("step", "train.py", 5))
LOADING = (Frame("_try_get_data", "dataloader.py", 1), Frame("step", "train.py", 4))
WORKING = (Frame("collate", "batches.py", 7), Frame("step", "train.py", 4))


def stacks(*kinds: tuple[Frame, ...]) -> list[ProcessStack]:
    return [
        ProcessStack(process=f"process {rank}", file="x", rank=rank, frames=frames)
        for rank, frames in enumerate(kinds)
    ]


def test_the_few_who_do_not_wait_are_suspect() -> None:
    found = judge_stacks(stacks(WAITING, WAITING, LOADING, WAITING))
    assert found is not None
    assert (found.ranks, found.waits) == ((2,), True)
    assert found.place == "data loading: _try_get_data (dataloader.py:1)"
    assert found.why == (
        "stacks: 3 of 4 processes wait in a collective, rank 2 in "
        "data loading: _try_get_data (dataloader.py:1)"
    )


def test_line_numbers_do_not_part_stacks() -> None:
    moved = (Frame("all_reduce", "distributed_c10d.py", 99), Frame("step", "train.py", 7))
    assert judge_stacks(stacks(WAITING, moved, WAITING)) is None


def test_few_who_wait_for_many_are_victims() -> None:
    assert judge_stacks(stacks(WORKING, WORKING, WORKING, WAITING)) is None


def test_a_small_group_elsewhere_is_less_sure() -> None:
    found = judge_stacks(stacks(WORKING, WORKING, WORKING, LOADING))
    assert found is not None
    assert (found.ranks, found.waits) == ((3,), False)
    assert found.confidence < 0.7


def test_half_and_half_says_nothing() -> None:
    assert judge_stacks(stacks(WAITING, WAITING, LOADING, LOADING)) is None
    assert judge_stacks(stacks(WAITING)) is None
    assert judge_stacks([]) is None


def test_processes_without_a_rank_are_named_by_themselves() -> None:
    nameless = [
        ProcessStack(process=f"process {n}", file="x", frames=LOADING if n == 1 else WAITING)
        for n in range(4)
    ]
    found = judge_stacks(nameless)
    assert found is not None
    assert (found.ranks, found.processes) == ((), ("process 1",))
    assert "process 1 in data loading" in found.why
