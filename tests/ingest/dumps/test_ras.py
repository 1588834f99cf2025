"""Reports of RAS as text and as JSON say the same of who lags."""

from __future__ import annotations

from typing import Any

from relume.dumps import RasPlace
from relume.ingest.dumps.ras import read_json, read_text

TEXT = """\
NCCL version 2.28.3 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12090

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         4         8         8   RUNNING  INCOMPLETE,MISMATCH

Errors
======

DEAD
  1 job process is considered dead (unreachable via the RAS network)
  Process 4711 on node 10.0.0.2 managing GPU 3

#0-0 (00000000000000ab) INCOMPLETE
  Missing communicator data from 1 rank
  Rank 7 -- GPU 3 managed by process 4711 on node 10.0.0.2

#0-0 (00000000000000ab) ERROR
  Asynchronous error on 1 rank
  Rank 2 reported Unhandled CUDA error -- GPU 2 managed by process 12 on node 10.0.0.1

Warnings
========

#0-0 (00000000000000ab) MISMATCH
  Communicator ranks have different status
  7 ranks have status RUNNING
  Communicator ranks have different AllReduce operation counts
  5 ranks have launched up to operation 12
  Rank 1 has launched up to operation 11 -- GPU 1 managed by process 11 on node 10.0.0.1
  Rank 4 has not launched any operations -- [process information not found]

  Communicator ranks have different Broadcast operation counts
  5 ranks have launched up to operation 3
  2 ranks have launched up to operation 2
  Rank 1 -- GPU 1 managed by process 11 on node 10.0.0.1
  Rank 4 -- GPU 0 (NVML 4) managed by process 14 on node 10.0.0.2
"""


def rank(number: int, launched: int, **status: Any) -> dict[str, Any]:
    return {
        "rank": number,
        "host": "10.0.0.1",
        "pid": 10 + number,
        "cuda_dev": number,
        "nvml_dev": number,
        "status": {"init_state": 0, "async_error": 0, "abort_flag": False} | status,
        "collective_counts": {"AllReduce": launched, "Broadcast": 1},
    }


def test_text() -> None:
    report = read_text(TEXT, "ras.txt")
    [comm] = report.communicators
    assert (comm.name, comm.size) == ("00000000000000ab", 8)
    assert report.dead == (RasPlace(node="10.0.0.2", gpu="3"),)
    assert comm.unresponsive == (RasPlace(rank=7, node="10.0.0.2", gpu="3"),)
    assert comm.errors == ((RasPlace(rank=2, node="10.0.0.1", gpu="2"), "Unhandled CUDA error"),)
    counts = {
        few.number: (few.ranks, [p.rank for p in few.places]) for few in comm.launched["AllReduce"]
    }
    assert counts == {12: (5, []), 11: (1, [1]), 0: (1, [4])}
    counts = {
        few.number: (few.ranks, [p.rank for p in few.places]) for few in comm.launched["Broadcast"]
    }
    assert counts == {3: (5, []), 2: (2, [1, 4])}


def test_json() -> None:
    missing = rank(3, 0) | {"status": {"unresponsive": True, "considered_dead": True}}
    told = {
        "nccl_version": "2.28.3",
        "communicators": [
            {
                "hash": "0xab",
                "size": 4,
                "ranks": [rank(0, 5), rank(1, 4), rank(2, 5, async_error=2)],
                "missing_ranks": [missing],
            }
        ],
    }
    report = read_json(told, "ras.json")
    [comm] = report.communicators
    assert list(comm.launched) == ["AllReduce"]  # Broadcast is alike on all
    few, others = comm.launched["AllReduce"]
    assert (few.number, [p.rank for p in few.places], others.ranks) == (4, [1], 2)
    assert comm.unresponsive == (RasPlace(rank=3, node="10.0.0.1", gpu="3"),)
    assert report.dead == comm.unresponsive
    assert comm.errors == ((RasPlace(rank=2, node="10.0.0.1", gpu="2"), "System error"),)


def test_nonsense_gives_nothing() -> None:
    assert read_text("step 1\n  Rank 3 -- GPU\n#0-0 (zz) MISMATCH\n", "x").communicators == ()
    wrong: list[Any] = [None, [], {"communicators": 7}, {"communicators": [{"ranks": [1]}]}]
    for told in wrong:
        assert all(not c.launched for c in read_json(told, "x").communicators)
