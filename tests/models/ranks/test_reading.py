"""What single lines say of where ranks run, in the forms of the programs that print them."""

from __future__ import annotations

import pytest

from relume.ingest.loglines import LineParser
from relume.models.ranks.facts import RankFact, Said, Source
from relume.models.ranks.pci import normal_pci, unpacked_pci
from relume.models.ranks.reading import RANK_PATTERNS, global_rank, read_line
from relume.models.signatures.engine import build_engine


def said(text: str, file: str = "job.log") -> Said:
    return read_line(LineParser(file).parse(text, 0, 0))


def fact(text: str, file: str = "job.log") -> RankFact:
    [found] = said(text, file).facts
    return found


LINES = [
    (
        (
            "gpu-a02:411:902 [3] NCCL INFO ncclCommInitRank comm 0x55 rank 11 nranks 16 cudaDev 3 "
            "nvmlDev 3 busId cb000 commId 0x9a - Init START"
        ),
        ("gpu-a02", 11, 16, None, "3", "0000:cb:00", 411),
    ),
    (
        (
            "7: gpu-a02:411:902 [0] NCCL INFO comm 0x55 rank 7 nRanks 8 nNodes 2 localRanks 4 "
            "localRank 3 MNNVL 0"
        ),
        ("gpu-a02", 7, 8, 3, "0", None, 411),
    ),
    (
        "#  Rank  5 Group  0 Pid  7711 on  gpu-b03 device  1 [0x4e] NVIDIA H100",
        ("gpu-b03", 5, None, None, "1", "0000:4e:00", 7711),
    ),
    (
        "[rank9]: starting: local_rank=1 hostname=gpu-a02 device=cuda:1 pid=88",
        ("gpu-a02", 9, None, 1, "1", None, 88),
    ),
    ("Rank 12/64 running on gpu-b02, local rank 4", ("gpu-b02", 12, None, 4, None, None, None)),
    (
        "{'RANK': '3', 'LOCAL_RANK': '3', 'WORLD_SIZE': '16', 'HOSTNAME': 'n7'}",
        ("n7", 3, None, 3, None, None, None),
    ),
    (
        "SLURM_PROCID=6 SLURM_LOCALID=2 SLURMD_NODENAME=n2",
        ("n2", 6, None, 2, None, None, None),
    ),
]


@pytest.mark.parametrize(("text", "expected"), LINES)
def test_a_line_tells_the_place_of_one_rank(text: str, expected: tuple[object, ...]) -> None:
    found = fact(text)
    told = (found.node, found.rank, found.size, found.local_rank, found.gpu, found.pci, found.pid)
    assert told == expected


@pytest.mark.parametrize("text", [text for text, _ in LINES])
def test_the_scan_finds_the_line(text: str) -> None:
    engine = build_engine(RANK_PATTERNS, prefer="hyperscan")
    assert list(engine.scan(text.encode() + b"\n"))


def test_a_prefix_tells_the_rank_of_the_job_where_nccl_counts_in_a_group() -> None:
    found = fact("[rank13]: n2:41:52 [5] NCCL INFO comm 0x1 rank 1 nranks 2 cudaDev 5 busId 4e000")
    assert (found.rank, found.size, found.node, found.gpu) == (13, None, "n2", "5")


def test_launchers_tell_many_ranks_in_a_line() -> None:
    agent = said("1:   global_ranks=[8, 9, 10, 11]")
    assert [(f.rank, f.task, f.local_rank) for f in agent.facts] == [
        (8, 1, 0),
        (9, 1, 1),
        (10, 1, 2),
        (11, 1, 3),
    ]
    assert agent.ranks_per_node == 4
    assert said("  global_world_sizes=[16, 16]").world_size == 16
    books = said(
        "[2026-01-02 03:04:05,678] [INFO] [launch.py:145:main] global_rank_mapping="
        "defaultdict(<class 'list'>, {'n1': [0, 1], 'n2': [2, 3]})"
    )
    assert [(f.node, f.rank) for f in books.facts] == [("n1", 0), ("n1", 1), ("n2", 2), ("n2", 3)]
    assert {f.origin.source for f in books.facts} == {Source.LAUNCHER}


def test_the_environment_tells_the_layout() -> None:
    told = said("SLURM_JOB_NODELIST=gpu-a[01-02] SLURM_NTASKS=16 SLURM_TASKS_PER_NODE=8(x2)")
    assert told.nodes == ("gpu-a01", "gpu-a02")
    assert (told.tasks, told.ranks_per_node) == (16, 8)
    assert said("SLURM_DISTRIBUTION=cyclic").is_cyclic is True
    assert said("SLURM_DISTRIBUTION=block").is_cyclic is False


@pytest.mark.parametrize(
    "text",
    [
        "comm 0x1 rank 16 nranks 16 cudaDev 3 busId 4e000",
        "comm 0x1 rank 3 nranks 9999999 cudaDev 3 busId 4e000",
        "dp rank: 3, local_rank unknown",
        "pipeline parallel rank 1 on stage2",
        "ranked 3 on the list",
        "SLURM_JOB_NODELIST=gpu-a[01-",
        "global_ranks=[]",
    ],
)
def test_what_is_no_place_says_nothing(text: str) -> None:
    assert not said(text).facts
    assert not said(text).nodes


def test_the_rank_in_a_group_is_not_the_rank_of_the_job() -> None:
    parser = LineParser("job.log")
    group = parser.parse("[PG 2 Rank 3] Timeout", 0, 0)
    assert (group.rank, global_rank(group)) == (3, None)
    both = parser.parse("[rank7]:[E ProcessGroupNCCL.cpp:1] [PG 2 Rank 3] Timeout", 0, 0)
    assert global_rank(both) == 7
    assert global_rank(LineParser("rank_5.log").parse("hello", 0, 0)) == 5


def test_pci_ids_of_every_printer_are_one() -> None:
    assert {normal_pci(text) for text in ("0000:4E:00", "PCI:0000:4e:00", "4e:00.0")} == {
        unpacked_pci("4e000")
    }
    assert normal_pci("4e") is None
    assert normal_pci(None) is None
