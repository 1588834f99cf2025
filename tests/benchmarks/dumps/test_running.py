"""Jobs run to their end without a fault, and to the hang that was injected with one."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from relume.benchmarks.dumps.faults import FAMILIES, FAULTY_STEP, STEPS, make_hang
from relume.benchmarks.dumps.programs import LAYOUTS, Host, make_job
from relume.benchmarks.dumps.running import Faults, Run, open_records


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
@pytest.mark.parametrize("world", [8, 16, 32])
def test_a_healthy_job_completes_everything(layout: str, world: int) -> None:
    for seed in range(4):
        job = make_job(layout, world, STEPS, Random(seed))
        run = Run(job, Faults()).run()
        assert list(open_records(run)) == []
        assert all(records for records in run.records)


def test_collectives_of_a_group_are_called_alike_by_all_its_ranks() -> None:
    job = make_job("pipeline", 16, STEPS, Random(3))
    run = Run(job, Faults()).run()
    for number, group in enumerate(job.groups):
        called = {
            tuple(r.called for r in run.records[rank] if r.group == number and not r.is_p2p)
            for rank in group.ranks
        }
        assert len(called) == 1


def test_a_collective_completes_when_its_last_rank_has_started_it() -> None:
    job = make_job("ddp", 8, 2, Random(1))
    run = Run(job, Faults()).run()
    firsts = [records[0] for records in run.records]
    assert len({first.completed for first in firsts}) == 1
    ends = [first.completed for first in firsts if first.completed is not None]
    assert max(first.started or inf for first in firsts) < ends[0]


def test_a_stuck_host_stops_everybody_in_that_step() -> None:
    job = make_job("tensor", 8, STEPS, Random(2))
    job.programs[5].insert(job.steps[5][FAULTY_STEP], Host(inf))
    run = Run(job, Faults()).run()
    assert {rank for rank, _ in open_records(run)} == set(range(8)) - {5}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_hangs_and_says_who_did_it(family: str) -> None:
    for seed in range(4):
        hang = make_hang(family, 16, Random(seed))
        run = Run(hang.job, hang.faults).run()
        assert list(open_records(run))
        assert bool(hang.culprits) is (family != "all_started")
        assert hang.culprits <= set(range(16))


def test_the_same_seed_makes_the_same_hang() -> None:
    first, second = (make_hang("cascade", 16, Random(7)) for _ in range(2))
    assert (first.job, first.culprits) == (second.job, second.culprits)
