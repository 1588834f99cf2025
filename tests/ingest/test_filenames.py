"""What names of logs say: the conventions, and what only resembles them."""

from __future__ import annotations

import pytest

from relume.ingest.filenames import Writer, writer_of


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("rank_3.log", Writer(rank=3)),
        ("logs/rank-12", Writer(rank=12)),
        ("Rank12.out", Writer(rank=12)),
        ("stderr_rank3", Writer(rank=3)),
        ("job_77_rank_4.err", Writer(rank=4)),
        ("nccl.rank7.log.gz", Writer(rank=7)),
        ("globalrank5.log", Writer(rank=5)),
        ("global_rank_5.log", Writer(rank=5)),
        ("local_rank_3.out", Writer(local_rank=3)),
        ("localrank3.out", Writer(local_rank=3)),
        ("rank_11_local_rank_3.out", Writer(rank=11, local_rank=3)),
        ("run/none_x1/attempt_0/3/stderr.log", Writer(local_rank=3)),
        ("dmesg-gpu-a01.log", Writer(node="gpu-a01")),
        ("dmesg_node017.txt.zst", Writer(node="node017")),
        ("node017.kern.log", Writer(node="node017")),
        ("messages-node017", Writer(node="node017")),
        ("node017-syslog.1", Writer(node="node017")),
        ("gpu-a01/dmesg", Writer(node="gpu-a01")),
        ("x/node017.cluster.local/kern.log", Writer(node="node017.cluster.local")),
    ],
)
def test_conventions(file: str, expected: Writer) -> None:
    assert writer_of(file) == expected


@pytest.mark.parametrize(
    "file",
    [
        "-", "log.3", "job-3.out", "slurm-77.out", "franke3.log", "frank3.log", "ranking_3.log",
        "tp_rank_0.log", "mp_rank_00", "node_rank_1.log", "rank0-7.log", "ranks_3", "node017.err",
        "gpu-a01/train.log", "run1/dmesg", "2026-01-02/dmesg", "attempt_1/kern.log", "dmesg",
        "logs/dmesg", "dmesg-2.log", "dmesg-old.log", "a/b", "", "rank_99999999",
    ],
)  # fmt: skip
def test_other_names_say_nothing(file: str) -> None:
    assert writer_of(file) == Writer()
