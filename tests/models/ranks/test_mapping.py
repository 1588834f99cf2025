"""From rank to node and GPU, and back; contradictions are unknown."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from relume.ingest.loglines import LineParser
from relume.models.ranks.collecting import MAX_PER_RANK, RankCollector
from relume.models.ranks.facts import Source
from relume.models.ranks.layout import find_layout
from relume.models.ranks.mapping import RankMap, resolve


def collected(*lines: str, file: str = "job.log") -> RankCollector:
    collector = RankCollector()
    for number, text in enumerate(lines):
        collector.take(LineParser(file).parse(text, number, 0))
    return collector


def map_of(*lines: str, nodes: Sequence[str] = ()) -> RankMap:
    return resolve(collected(*lines), nodes=nodes)


def init(node: str, rank: int, size: int, gpu: int, bus: str = "4e000") -> str:
    return f"{node}:{100 + rank}:9 [{gpu}] NCCL INFO comm 0x1 rank {rank} nranks {size} cudaDev {gpu} busId {bus}"


def nodes(known: RankMap) -> list[str | None]:
    return [known.place(rank).node for rank in range(known.world_size or 0)]


def test_init_lines_make_the_map_and_a_pci_id_finds_the_rank() -> None:
    known = map_of(init("n1", 0, 2, 0, "7000"), init("n2", 1, 2, 0, "4e000"))
    assert known.world_size == 2
    assert nodes(known) == ["n1", "n2"]
    assert known.is_complete
    assert known.place(1).origin == (Source.NCCL_INIT, "job.log", 1)
    assert known.rank_at("n2.example.org", gpu="0000:4E:00") == 1
    assert known.rank_at("n2", gpu="0") == 1
    assert known.rank_at("n2", pid=101) == 1
    assert known.rank_at("n2", gpu="0000:07:00") is None
    assert known.ranks_on("n1") == (0,)


def test_a_communicator_of_a_part_of_the_job_does_not_count() -> None:
    known = map_of(init("n9", 0, 2, 0), init("n1", 0, 4, 0), init("n9", 1, 2, 1))
    assert known.place(0).node == "n1"
    assert known.place(1).node is None
    told = map_of("WORLD_SIZE=8 RANK=0 HOSTNAME=n1", init("n9", 1, 2, 1))
    assert (told.world_size, told.place(1).node) == (8, None)


def test_two_nodes_of_one_rank_are_none() -> None:
    known = map_of("rank 3 local_rank=1 host=n1", "rank 3 local_rank=1 host=n2")
    assert known.place(3).node is None
    [contradiction] = known.contradictions
    assert contradiction.rank == 3
    assert contradiction.nodes == ("n1", "n2")
    assert [origin.line for origin in contradiction.origins] == [0, 1]


def test_names_with_and_without_a_domain_are_one_node() -> None:
    known = map_of("rank 3 local_rank=1 host=n1.example", "rank 3 local_rank=1 host=n1")
    assert known.place(3).node == "n1.example"
    slurms = map_of("rank 3 local_rank=1 host=n1.example", nodes=["n1", "n2"])
    assert slurms.place(3).node == "n1"


def test_a_host_that_is_not_the_attempts_is_nobodys_place() -> None:
    known = map_of("rank 3 local_rank=1 host=evil9", nodes=["n1", "n2", "n3"])
    assert known.place(3).node is None
    assert known.place(3).local_rank == 1


def test_after_a_restart_the_newer_line_counts() -> None:
    collector = collected("rank 3 local_rank=1 host=n1")
    collector.restart("job.log")
    collector.take(LineParser("job.log").parse("rank 3 local_rank=1 host=n2", 9, 0))
    known = resolve(collector)
    assert known.place(3).node == "n2"
    assert known.contradictions == ()


def test_the_node_list_is_filled_in_by_blocks() -> None:
    assumed = map_of("world_size=4 rank=0 local_rank=0", nodes=["n1", "n2"])
    assert nodes(assumed) == ["n1", "n1", "n2", "n2"]
    assert assumed.place(2).origin == (Source.ASSUMED, None, None)
    confirmed = map_of(
        "WORLD_SIZE=4 RANK=0 HOSTNAME=n1", "WORLD_SIZE=4 RANK=3 HOSTNAME=n2", nodes=["n1", "n2"]
    )
    assert nodes(confirmed) == ["n1", "n1", "n2", "n2"]
    assert confirmed.place(2).origin == (Source.LAYOUT, None, None)


def test_ranks_that_blocks_cannot_explain_are_in_turns_or_unknown() -> None:
    turns = map_of(
        "WORLD_SIZE=4 RANK=0 HOSTNAME=n1", "WORLD_SIZE=4 RANK=1 HOSTNAME=n2", nodes=["n1", "n2"]
    )
    assert nodes(turns) == ["n1", "n2", "n1", "n2"]
    neither = map_of(
        "WORLD_SIZE=4 RANK=0 HOSTNAME=n2", "WORLD_SIZE=4 RANK=1 HOSTNAME=n1", nodes=["n1", "n2"]
    )
    assert nodes(neither) == ["n2", "n1", None, None]
    told = map_of("SLURM_DISTRIBUTION=cyclic", "WORLD_SIZE=4 RANK=9", nodes=["n1", "n2"])
    assert nodes(told) == ["n1", "n2", "n1", "n2"]


def test_the_node_of_a_launcher_is_that_of_the_ranks_that_it_starts() -> None:
    agents = ("0:   global_ranks=[2, 3]", "0:   global_world_sizes=[4, 4]")
    printed = map_of(
        *agents, "SLURM_NTASKS=2", "1: RANK=0 LOCAL_RANK=0 HOSTNAME=n2", nodes=["n1", "n2"]
    )
    assert printed.tasks_are_ranks is False
    assert nodes(printed) == ["n2", None, "n1", "n1"]
    assert nodes(map_of(agents[1], nodes=["n1", "n2"])) == ["n1", "n1", "n2", "n2"]


def test_a_device_index_that_all_ranks_of_a_node_have_is_none() -> None:
    known = map_of(init("n1", 0, 2, 0, "7000"), init("n1", 1, 2, 0, "4e000"))
    assert (known.place(0).gpu, known.place(1).gpu) == (None, None)
    assert known.rank_at("n1", gpu="0000:4e:00") == 1


def test_no_layout_where_ranks_do_not_divide() -> None:
    assert find_layout(["n1", "n2"], 3, {}) is None
    assert find_layout([], 4, {}) is None
    assert find_layout(["n1"], None, {}) is None


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["n1", "n2", "n3"])), max_size=30))
def test_a_place_is_what_all_lines_say(told: list[tuple[int, str]]) -> None:
    lines = [f"rank {rank} local_rank=0 host={node}" for rank, node in told]
    known = map_of(*lines)
    for rank in range(6):
        said = {node for number, node in told if number == rank}
        assert known.place(rank).node == (said.pop() if len(said) == 1 else None)


def test_lines_that_repeat_or_flood_stay_small() -> None:
    flood = [f"rank 1 local_rank=0 host=n{number}" for number in range(100)]
    assert len(collected(*flood, *flood).facts()) == MAX_PER_RANK
