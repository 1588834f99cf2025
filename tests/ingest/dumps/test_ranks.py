"""Whose dump it is: by its groups, by itself, by its name."""

from __future__ import annotations

import pytest

from relume.ingest.dumps.flight import Flight
from relume.ingest.dumps.ranks import node_by_name, ranks_by_name, ranks_of


def flight(*candidates: int, rank: int | None = None) -> Flight:
    told = frozenset(candidates) if candidates else None
    return Flight("2.4", (), (), is_whole=True, rank=rank, node=None, candidates=told)


@pytest.mark.parametrize(
    ("names", "ranks"),
    [
        (["nccl_trace_rank_0", "nccl_trace_rank_11"], [0, 11]),
        (["a/_dump_3", "a/_dump_4"], [3, 4]),
        (["rank07.json.gz", "rank08.json.gz"], [7, 8]),
        (["node2_rank_3_1760000000.pkl", "node2_rank_4_1760000000.pkl"], [3, 4]),
        (["fr-0-of-8.pkl", "fr-1-of-8.pkl"], [0, 1]),
        (["0/trace", "1/trace"], [0, 1]),
        (["only.pkl"], [None]),
        (["x_1760000000", "x_1760000001"], [None, None]),
        (["same_1", "same_1"], [None, None]),
        ([], []),
    ],
)
def test_ranks_by_name(names: list[str], ranks: list[int | None]) -> None:
    assert ranks_by_name(names) == ranks


def test_what_a_dump_holds_stands_above_its_name() -> None:
    assert ranks_of(["dump_5", "dump_6"], [flight(2), flight(rank=3)]) == [2, 3]


def test_a_name_that_contradicts_the_groups_says_nothing() -> None:
    assert ranks_of(["dump_5", "dump_1"], [flight(0, 1), flight(0, 1)]) == [None, 1]


def test_a_node_stands_before_the_rank() -> None:
    assert node_by_name("dumps/gpu-a01_rank_3.pkl") == "gpu-a01"
    assert node_by_name("n07.cluster-rank12.json") == "n07.cluster"
    assert node_by_name("job77_rank_3") is None
    assert node_by_name("comm_lib_trace_rank_3") is None
