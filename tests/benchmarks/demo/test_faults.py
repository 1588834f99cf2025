from __future__ import annotations

import pytest

from relume.benchmarks.demo.faults import FAULTS
from relume.benchmarks.demo.world import GPUS_PER_NODE, World, make_world

SEEDS = [f"seed {number}" for number in range(10)]


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_the_words_of_the_cause_stand_in_the_ending(fault: str) -> None:
    for seed in SEEDS:
        ending = FAULTS[fault](make_world(seed))
        lines = [line for role in ending.lines.values() for line in role]
        assert lines
        assert not [line for line in lines if "\n" in line or "\r" in line]
        assert ending.root is None or any(ending.root in line for line in lines)


@pytest.mark.parametrize("seed", SEEDS)
def test_only_the_victims_of_a_lost_gpu_speak_of_a_timeout(seed: str) -> None:
    world = make_world(seed)
    ending = FAULTS["gpu_fell_off_the_bus"](world)
    node, gpu = ending.culprit["node"], ending.culprit["gpu"]
    assert all(f" {node} kernel: NVRM" in line for line in ending.lines[f"kernel:{node}"])
    silent = rank_of(world, node, gpu)
    waiting = [line for line in ending.lines["job"] if "Watchdog caught" in line]
    assert len(waiting) == world.ranks - 1
    assert not [line for line in waiting if f"[Rank {silent}]" in line]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rank_that_never_joins_has_the_lowest_counter(seed: str) -> None:
    world = make_world(seed)
    ending = FAULTS["rank_never_joins"](world)
    enqueued = {
        int(line.split("]")[0].removeprefix("[rank")): int(
            line.partition("last enqueued work: ")[2].partition(",")[0]
        )
        for line in ending.lines["job"]
        if "last enqueued work" in line
    }
    assert len(enqueued) == world.ranks
    lowest = min(enqueued.values())
    assert [rank for rank, counter in enqueued.items() if counter == lowest] == [
        ending.culprit["rank"]
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_dead_node_is_another_than_the_one_that_reports_it(seed: str) -> None:
    world = make_world(seed)
    ending = FAULTS["node_failure"](world)
    assert ending.culprit["node"] in world.nodes[1:]
    assert any(f"ON {world.nodes[0]} CANCELLED" in line for line in ending.lines["job"])


def test_a_world_is_its_seed() -> None:
    assert make_world("a").nodes == make_world("a").nodes
    assert len({make_world(seed).job_id for seed in SEEDS}) == len(SEEDS)
    assert {len(make_world(seed).nodes) for seed in SEEDS} <= {2, 4, 8}


def rank_of(world: World, node: str, gpu: str) -> int:
    local = next(number for number in range(GPUS_PER_NODE) if world.pci(number) == gpu)
    return world.nodes.index(node) * GPUS_PER_NODE + local
