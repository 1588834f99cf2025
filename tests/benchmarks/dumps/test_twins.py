"""Hangs of which nobody can know who was at fault, and those of which the dumps tell."""

from __future__ import annotations

from math import inf

from relume.benchmarks.dumps.faults import Hang
from relume.benchmarks.dumps.programs import Call, Drain, GroupOf, Host, Instruction, Job
from relume.benchmarks.dumps.running import Run
from relume.benchmarks.dumps.twins import has_twin


def hang(world: int, culprit: int, *, groups: tuple[tuple[int, ...], ...] = ()) -> Hang:
    """Return a job of one step in which a rank is stuck before the last collective of everybody."""
    everybody = GroupOf("0", "default_pg", tuple(range(world)))
    job = Job("x", world, [everybody, *(GroupOf(str(r), "TP", r) for r in groups)])
    for rank in range(world):
        own = [
            Call(n, "all_reduce", (8,), (8,)) for n, g in enumerate(job.groups) if rank in g.ranks
        ]
        program: list[Instruction] = [Host(0.001), *own[1:], own[0], Drain()]
        job.programs.append(program)
    healthy = tuple(map(tuple, job.programs))
    job.programs[culprit].insert(1, Host(inf))
    return Hang("cascade", job, culprits=frozenset({culprit}), healthy=healthy)


def twin(one: Hang, *gone: int) -> bool:
    run = Run(one.job, one.faults).run()
    return has_twin(one, run, set(range(one.job.world)) - set(gone))


def test_in_one_group_any_of_those_without_a_dump_may_be_the_one() -> None:
    assert twin(hang(4, 2), 2, 3)


def test_with_its_dump_there_it_is_known() -> None:
    assert not twin(hang(4, 2), 3)


def test_the_one_that_is_missing_may_be_at_fault_or_its_network() -> None:
    assert twin(hang(4, 2), 2)


def test_who_is_missed_in_its_small_group_is_no_twin_of_who_is_not() -> None:
    """Rank 1 waits for 0 in their own group; were 3 at fault, 2 would wait and 1 be through."""
    one = hang(4, 0, groups=((0, 1), (2, 3)))
    run = Run(one.job, one.faults).run()
    assert [record.completed is None for record in run.records[1]] == [True, True]
    assert [record.completed is None for record in run.records[2]] == [False, True]
    other = hang(4, 3, groups=((0, 1), (2, 3)))
    assert Run(other.job, other.faults).run().records[1][0].completed is not None
