"""Every prefix grammar, stacked in the ways that launchers stack them, and what only looks like one."""

from __future__ import annotations

import itertools
import time
from dataclasses import asdict

import pytest

from relume.ingest.prefixes import MAX_PREFIX_CHARACTERS, Prefix, leading_clock, parse_prefix

C10D = "[E1209 08:14:37.206518430 ProcessGroupNCCL.cpp:2168]"
LAUNCHERS = [
    ("12: loss 1", {"task": 12}, "loss 1"),
    (" 12: loss 1", {"task": 12}, "loss 1"),
    ("12:loss 1", {"task": 12}, "loss 1"),
    ("12:", {"task": 12}, ""),
    ("1:  iteration 25/ 73", {"task": 1}, " iteration 25/ 73"),
    ("[default3]:loss 1", {"local_rank": 3}, "loss 1"),
    ("[default3]: loss 1", {"local_rank": 3}, "loss 1"),
    ("[trainer11]:loss 1", {"local_rank": 11}, "loss 1"),
    ("[rank3]:loss 1", {"rank": 3}, "loss 1"),
    ('[rank1]:   File "train.py", line 7', {"rank": 1}, '  File "train.py", line 7'),
    ("[rank: 0] Global seed set to 42", {"rank": 0}, "Global seed set to 42"),
    ("[rank=6] loss 1", {"rank": 6}, "loss 1"),
    ("[Rank 0] loss 1", {"group_rank": 0}, "loss 1"),
    ("[RANK:3] loss 1", {"group_rank": 3}, "loss 1"),
    ("[Rank 3/16] loss 1", {"group_rank": 3}, "loss 1"),
    ("[1,0]<stdout>:loss 1", {"rank": 0}, "loss 1"),
    ("[prterun-gpu-a01-77@1,5]<stderr>: loss 1", {"rank": 5}, "loss 1"),
    ("(pretraining, pid=4112) loss 1", {}, "loss 1"),
    ("(RayTrainWorker pid=4112, ip=10.0.0.17) loss 1", {"node": "10.0.0.17"}, "loss 1"),
    ("node001: loss 1", {"node": "node001"}, "loss 1"),
    ("gpu-b17: loss 1", {"node": "gpu-b17"}, "loss 1"),
    ("ip-10-0-0-17: loss 1", {"node": "ip-10-0-0-17"}, "loss 1"),
    ("dgx012.cluster.local: loss 1", {"node": "dgx012.cluster.local"}, "loss 1"),
]
TORCH = [
    (
        f"[rank3]:{C10D} [PG ID 1 PG GUID 1(default_pg) Rank 1] Watchdog caught",
        {"rank": 3, "group_rank": 1, "clock": "1209 08:14:37.206518430"},
        "Watchdog caught",
    ),
    (
        "[rank0]:[E327 05:11:09.318264155 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog",
        {"rank": 0, "group_rank": 0, "clock": "327 05:11:09.318264155"},
        "Watchdog",
    ),
    ("[E ProcessGroupNCCL.cpp:458] [Rank 2] Watchdog", {"group_rank": 2}, "Watchdog"),
    (
        "[rank1]:[F ProcessGroupNCCL.cpp:1169] [PG 0 Rank 1] [PG 0 Rank 1] stuck",
        {"rank": 1, "group_rank": 1},
        "stuck",
    ),
    ("[W socket.cpp:426] [c10d] The server", {}, "[c10d] The server"),
    (
        "W0412 06:31:52.480000 2417 torch/distributed/elastic/agent/server/api.py:719] Received",
        {"clock": "0412 06:31:52.480000"},
        "Received",
    ),
    (
        "I20260102 10:10:10.123456 140303732664128 trainer.cc:86] saved",
        {"clock": "20260102 10:10:10.123456"},
        "saved",
    ),
    (
        "[2026-01-02 03:04:05,678] torch.distributed.run: [WARNING] Setting",
        {"clock": "2026-01-02 03:04:05,678"},
        "Setting",
    ),
    ("ERROR:torch.distributed.elastic.multiprocessing.api:failed", {}, "failed"),
]
LIBRARIES = [
    ("gpu-a01:41:52 [2] NCCL INFO x", {"node": "gpu-a01", "gpu": "2"}, "NCCL INFO x"),
    ("gpu-a01:41 [2] NCCL INFO x", {"node": "gpu-a01", "gpu": "2"}, "NCCL INFO x"),
    ("10.0.0.17:41:52 [0] NCCL WARN x", {"node": "10.0.0.17", "gpu": "0"}, "NCCL WARN x"),
    ("10-0-0-17:41:52 [0] NCCL WARN x", {"node": "10-0-0-17", "gpu": "0"}, "NCCL WARN x"),
    (
        "gpu-a01:41:52 [2] misc/socket.cc:49 NCCL WARN x",
        {"node": "gpu-a01", "gpu": "2"},
        "NCCL WARN x",
    ),
    (
        "gpu-a01:41:52 [2] include/socket.h 398 NCCL WARN x",
        {"node": "gpu-a01", "gpu": "2"},
        "NCCL WARN x",
    ),
    (
        "gpu-a01:41:52 [2] 12.345678 initTransports:12 NCCL TRACE x",
        {"node": "gpu-a01", "gpu": "2"},
        "NCCL TRACE x",
    ),
    ("gpu-a01:41:52 [-1] NCCL INFO x", {"node": "gpu-a01"}, "NCCL INFO x"),
    (
        "[2026-01-02 03:04:05] gpu-a01:41:52 [7] transport.cc:154 (setup) NCCL WARN x",
        {"node": "gpu-a01", "gpu": "7", "clock": "2026-01-02 03:04:05"},
        "NCCL WARN x",
    ),
    (
        "[1767348000.123456] [gpu-a01:4242 :0]      ib_mlx5_log.c:177  UCX  ERROR x",
        {"node": "gpu-a01", "clock": "1767348000.123456"},
        "ib_mlx5_log.c:177  UCX  ERROR x",
    ),
    (
        "[1767348000.123456] [gpu-a01:4242 :0:4250]  ucp.c:1 UCX WARN x",
        {"node": "gpu-a01", "clock": "1767348000.123456"},
        "ucp.c:1 UCX WARN x",
    ),
    ("[gpu-a01:42:0:42] Caught signal 11", {"node": "gpu-a01"}, "Caught signal 11"),
    ("[gpu-a01:4242] *** Process received", {"node": "gpu-a01"}, "*** Process received"),
    ("[login:4242] PMIX ERROR: x", {"node": "login"}, "PMIX ERROR: x"),
]
KERNELS = [
    (
        "Jan 02 10:00:00 gpu-a01 kernel: [ 123.456789] NVRM: Xid",
        {"node": "gpu-a01", "clock": "Jan 02 10:00:00", "uptime_seconds": 123.456789},
        "NVRM: Xid",
    ),
    (
        "Jan  2 10:00:00 login kernel: NVRM: Xid",
        {"node": "login", "clock": "Jan  2 10:00:00"},
        "NVRM: Xid",
    ),
    (
        "Jan 02 10:00:00 gpu-a01 slurmd[42]: error: x",
        {"node": "gpu-a01", "clock": "Jan 02 10:00:00"},
        "error: x",
    ),
    (
        "2026-01-02T10:00:00.123456+01:00 gpu-a01 kernel: NVRM: Xid",
        {"node": "gpu-a01", "clock": "2026-01-02T10:00:00.123456+01:00"},
        "NVRM: Xid",
    ),
    ("[12345.678] usb", {"uptime_seconds": 12345.678}, "usb"),
    ("[    0.000000][   T12]  usb", {"uptime_seconds": 0.0}, " usb"),
    ("<6>[   14.207318] usb", {"uptime_seconds": 14.207318}, "usb"),
    ("6,4821,305217748,-;usb", {"uptime_seconds": 305.217748}, "usb"),
    (
        "kern  :warn  : [Fri Sep  6 09:12:34 2024] usb",
        {"clock": "Fri Sep  6 09:12:34 2024"},
        "usb",
    ),
    ("[Fri Sep  6 09:12:34 2024] INFO: task", {"clock": "Fri Sep  6 09:12:34 2024"}, "INFO: task"),
    ("kernel: usb", {}, "usb"),
    (
        "[2026-01-02T10:00:00.123] error: Nodes gpu-a01 not responding",
        {"clock": "2026-01-02T10:00:00.123"},
        "error: Nodes gpu-a01 not responding",
    ),
    ("[Feb 25 2026 13:59:45] [INFO] x", {"clock": "Feb 25 2026 13:59:45"}, "x"),
]
LOGGERS = [
    ("2026-01-02 03:04:05 step 1", {"clock": "2026-01-02 03:04:05"}, "step 1"),
    ("2026-01-02 03:04:05.330561: step 1", {"clock": "2026-01-02 03:04:05.330561"}, "step 1"),
    ("2026/01/02 03:04:05 - mmengine - INFO - step", {"clock": "2026/01/02 03:04:05"}, "step"),
    ("01/02/26 03:04:05 step 1", {"clock": "01/02/26 03:04:05"}, "step 1"),
    ("01/02/2026 03:04:05 - INFO - step", {"clock": "01/02/2026 03:04:05"}, "step"),
    ("[01/02/26 03:04:05] INFO     step", {"clock": "01/02/26 03:04:05"}, "step"),
    ("[01/02 03:04:05 d2.engine]: step", {"clock": "01/02 03:04:05"}, "step"),
    (
        "[2026-01-02 03:04:05,678] [INFO] [logging.py:69:log_dist] [Rank 0] step=40",
        {"clock": "2026-01-02 03:04:05,678", "group_rank": 0},
        "step=40",
    ),
    (
        "[rank0]:[titan] 2026-01-02 03:04:05,678 - root - INFO - step: 14",
        {"rank": 0, "clock": "2026-01-02 03:04:05,678"},
        "step: 14",
    ),
    (
        "[2026-01-02 03:04:05] CRITICAL [olmo.util:158, rank=6] Uncaught",
        {"clock": "2026-01-02 03:04:05", "rank": 6},
        "Uncaught",
    ),
    (
        "2026-01-02 03:04:05.678\tgpu-a01:3\tolmo.train:908\tINFO\t[step=20/90]",
        {"clock": "2026-01-02 03:04:05.678", "node": "gpu-a01", "local_rank": 3},
        "[step=20/90]",
    ),
    (
        "2026-01-02 03:04:05.678 | INFO     | utils.train:main:45 - step",
        {"clock": "2026-01-02 03:04:05.678"},
        "step",
    ),
    (
        "2026-01-02T03:04:05.123456789Z stdout F step 1",
        {"clock": "2026-01-02T03:04:05.123456789Z"},
        "step 1",
    ),
    ("2026-01-02T03:04:05Z step 1", {"clock": "2026-01-02T03:04:05Z"}, "step 1"),
    (
        "[NeMo I 2026-01-02 03:04:05 model_checkpoint:497] saved",
        {"clock": "2026-01-02 03:04:05"},
        "saved",
    ),
    ("[INFO|trainer.py:1516] 2026-01-02 03:04:05,6 >> step", {"clock": "2026-01-02 03:04:05,6"}, "step"),
    ("INFO 07-15 10:11:12 [core.py:12] step", {"clock": "07-15 10:11:12"}, "step"),
    ("INFO 2026-01-02 03:04:05 ts/train.py:232 step", {"clock": "2026-01-02 03:04:05"}, "step"),
    ("INFO:root:step", {}, "step"),
    ("submitit INFO (2026-01-02 03:04:05,1) - step", {"clock": "2026-01-02 03:04:05,1"}, "step"),
    ("[gpu-a01] 2026-01-02 03:04:05,678 (trainer:672) INFO: step",
     {"node": "gpu-a01", "clock": "2026-01-02 03:04:05,678"}, "step"),
    ("2026-01-02 03:04:05,110: rank4[812][MainThread]: INFO: step",
     {"clock": "2026-01-02 03:04:05,110", "rank": 4}, "step"),
    ("18:21:37  NVRM: Xid", {}, "NVRM: Xid"),
    ("[18:21:37] src/storage.cc:199: Using", {}, "src/storage.cc:199: Using"),
]  # fmt: skip
STACKED = [
    (
        "3: [default1]:[rank9]: RuntimeError: x",
        {"task": 3, "local_rank": 1, "rank": 9},
        "RuntimeError: x",
    ),
    (
        "2026-01-02T03:04:05.1Z 3: [rank9]: gpu-a01:41:52 [2] NCCL WARN x",
        {
            "clock": "2026-01-02T03:04:05.1Z",
            "task": 3,
            "rank": 9,
            "node": "gpu-a01",
            "gpu": "2",
        },
        "NCCL WARN x",
    ),
    (
        "Fri Jan  2 12:31:45 2026[1,4]<stdout>:gpu-a01:41:52 [0] transport.cc:154 NCCL WARN x",
        {"clock": "Fri Jan  2 12:31:45 2026", "rank": 4, "node": "gpu-a01", "gpu": "0"},
        "NCCL WARN x",
    ),
    (
        "2026-01-02T03:04:05.1Z [rank3]: 5: x",
        {"clock": "2026-01-02T03:04:05.1Z", "rank": 3},
        "5: x",
    ),
    ("[rank3]: [rank3]: x", {"rank": 3}, "x"),
    ("[rank3]: [rank4]: x", {"rank": 3}, "x"),
]


def fields(found: Prefix) -> dict[str, object]:
    return {
        name: value
        for name, value in asdict(found).items()
        if value is not None and name != "length"
    }


@pytest.mark.parametrize(
    ("line", "expected", "message"), [*LAUNCHERS, *TORCH, *LIBRARIES, *KERNELS, *LOGGERS]
)
def test_each_grammar(line: str, expected: dict[str, object], message: str) -> None:
    found = parse_prefix(line)
    assert fields(found) == expected
    assert line[found.length :] == message


@pytest.mark.parametrize(("line", "expected", "message"), STACKED)
def test_prefixes_stack_and_the_first_counts(
    line: str, expected: dict[str, object], message: str
) -> None:
    found = parse_prefix(line)
    assert fields(found) == expected
    assert line[found.length :] == message


@pytest.mark.parametrize("line", [line for line, _, _ in [*TORCH, *LIBRARIES, *KERNELS]])
def test_a_launcher_may_put_its_own_before_any_line(line: str) -> None:
    plain, labelled = parse_prefix(line), parse_prefix(f"[default5]: {line}")
    assert labelled.local_rank == 5
    assert labelled.length == plain.length + len("[default5]: ")
    assert fields(plain).items() <= fields(labelled).items()


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "iteration       25/    100 | consumed samples: 12",
        " iteration       25/    100 | consumed samples: 12",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "step: 14  loss: 3.2",
        "Epoch 0: 3%|",
        "Batch 0 Loss 3.1",
        "Rank 0: 9.98ms",
        "Epoch[0] Batch [20] Speed: 1",
        "{'loss': 1.26, 'epoch': 0.03}",
        " 12%|█▎        | 1/8 [02:04<14:28, 124.05s/it]",
        "  0%|          | 0/20 [00:00<?, ?it/s]",
        "| epoch 001:   0%| | 60/13120",
        "+ export MASTER_PORT=6000",
        "srun: error: gpu-a01: task 3: Exited with exit code 1",
        "slurmstepd: error: *** JOB 7 ON gpu-a01 CANCELLED AT 2026-01-02T03:04:05 ***",
        "[step:12] loss 3",
        "[epoch:1]",
        "[train.py] x",
        "[0.123] accuracy",
        "[]",
        "[[1025]]",
        "[1/1000] loss",
        "ERROR: Unexpected bus error encountered in worker",
        "INFO: task python3:42 blocked for more than 120 seconds.",
        "resnet50: 0.91",
        "fp16: True",
        "gpu0: 80%",
        "mlx5_0: link down",
        "eth0: link becomes ready",
        "(pid 52) is killed by signal",
        "  rank      : 0 (local_rank: 0)",
        "2 of 3 done",
        "12:34 left",
        "3.5 s",
        "2026-01-02",
        "Jan is a month",
        ":::MLLOG {}",
    ],
)
def test_content_is_no_prefix(line: str) -> None:
    assert parse_prefix(line) == Prefix()


@pytest.mark.parametrize(
    "line",
    [
        "2026-01-02 03:04:05 Starting training: 8 ranks",
        "2026-01-02 03:04:05 epoch 5: loss 3",
        "2026-01-02T03:04:05Z epoch5 loss: 3",
        "2026-01-02T03:04:05Z worker3 error: x",
        "Jan 02 03:04:05 Starting training: 8 ranks",
        "[2026-01-02 03:04:05] [INFO] [engine:12] x",
        "[2026-01-02 03:04:05] gpu0: 80%",
    ],
)
def test_words_after_a_clock_are_no_node(line: str) -> None:
    found = parse_prefix(line)
    assert found.clock is not None
    assert found.node is None


def test_a_level_is_taken_off_behind_a_loggers_clock_only() -> None:
    assert parse_prefix("[rank3]: ERROR something").length == len("[rank3]: ")
    line = "2026-01-02 03:04:05 ERROR something"
    assert line[parse_prefix(line).length :] == "something"


def test_digits_of_other_scripts_are_no_numbers() -> None:
    assert parse_prefix("٣: x") == Prefix()
    assert parse_prefix("[rank٣]: x") == Prefix()


@pytest.mark.parametrize(
    "piece",
    ["[", "]", "[[", "1", " ", "a", ":", "1:", "[rank1]: ", "1: ", "a.", "[PG ", "(a", "pid=1,",
     "\t", "-", "2026-01-02 03:04:05 ", "[INFO] ", "a:1", "[a:1", "x.py", "<6>", "é"],
)  # fmt: skip
def test_a_line_of_a_megabyte_costs_no_more_than_a_short_one(piece: str) -> None:
    line = piece * (1_000_000 // len(piece))
    start = time.process_time()
    found = parse_prefix(line)
    assert found.length <= MAX_PREFIX_CHARACTERS
    # Thousands of times what it takes: far from any noise, yet quadratic work would be seen.
    assert time.process_time() - start < 0.1


PIECES = (
    ["", "[", " ", "7: ", "[rank3]: "],
    ["2026-01-02", "2026/01/02", "1969-01-02", "0026-01-02", "02-01-2026"],
    ["T", " ", "_", "-"],
    ["03:04:05", "03:04:05,678", "03:04:05.123456789", "03:04:05.1234567890"],
    ["]", "", " UTC", "Z", "+01:00", " GMT", " Go", " stdout F ", " n1:3 a:1 INFO "],
    ["", " ", "[INFO] ", "7 step", ",7"],
)
"""What a line may begin with, piece by piece."""


def test_a_clock_that_leads_is_the_one_of_the_prefixes() -> None:
    led = 0
    for pieces in itertools.product(*PIECES):
        text = "".join(pieces)
        clock = leading_clock(text.encode())
        led += clock is not None
        assert clock in {None, parse_prefix(text).clock}, text
    assert led > 300
