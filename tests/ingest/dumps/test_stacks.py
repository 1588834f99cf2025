"""Stacks as py-spy and faulthandler write them give one main thread a process."""

from __future__ import annotations

import json
from typing import Any

from relume.dumps import Frame
from relume.ingest.dumps.stacks import MAX_FRAMES, MAX_THREADS, read_json, read_text

PY_SPY = """\
Process 4117: python train.py --rank 5
Python v3.11.7 (/usr/bin/python3.11)

Thread 4120 (idle): "Thread-1 (_pin_memory_loop)"
    wait (threading.py:327)
    _pin_memory_loop (torch/utils/data/_utils/pin_memory.py:52)
Thread 4117 (active+gil): "MainThread"
    0x7f024cc4524a (libc.so.6)
    ncclGroupEnd+0x1f (libnccl.so.2)
    all_reduce (torch/distributed/distributed_c10d.py:2501)
    step (train.py:88)
    <module> (train.py:120)
"""
FAULTHANDLER = """\
Timeout (0:05:00)!
Thread 0x00007f024c9856c0 [Thread-1] (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait

Thread 0x00007f024d3f2b80 (most recent call first):
  File "/job/data.py", line 17 in read_batch
  File "/job/train.py", line 40 in <module>
"""


def test_py_spy_as_text() -> None:
    [stack] = read_text(PY_SPY, "stacks.txt")
    assert (stack.process, stack.rank) == ("process 4117", 5)
    assert stack.frames[1:3] == (
        Frame("ncclGroupEnd+0x", "libnccl.so.2", None),
        Frame("all_reduce", "distributed_c10d.py", 2501),
    )
    assert stack.frames[0].function == "0x"


def test_several_processes_in_one_file() -> None:
    other = PY_SPY.replace("4117", "4118").replace("--rank 5", "")
    first, second = read_text(PY_SPY + "\n" + other, "rank_9.txt")
    assert (first.rank, second.rank) == (5, None)  # the name of a file of several is nobody's
    assert second.process == "process 4118"


def test_faulthandler_names_the_thread_that_began_the_program() -> None:
    [stack] = read_text(FAULTHANDLER, "stack_rank_3.txt")
    assert stack.rank == 3
    assert [frame.function for frame in stack.frames] == ["read_batch", "<module>"]


def test_py_spy_as_json() -> None:
    def thread(name: str, *functions: str) -> dict[str, Any]:
        frames = [{"name": f, "filename": "/job/train.py", "line": 3} for f in functions]
        return {"pid": 7, "thread_name": name, "owns_gil": False, "frames": frames}

    told = [thread("Thread-1", "wait"), thread("MainThread", "step", "<module>")]
    [stack] = read_json(json.loads(json.dumps(told)), "rank4.json")
    assert (stack.rank, stack.process) == (4, "process 7")
    assert stack.frames == (Frame("step", "train.py", 3), Frame("<module>", "train.py", 3))


def test_nonsense_gives_nothing() -> None:
    assert read_text("", "x") == []
    assert read_text("no stack\n  File\n", "x") == []
    wrong: list[Any] = [None, {}, [1], [{"frames": 3}], "text"]
    for told in wrong:
        assert read_json(told, "x") == []


def test_bounds() -> None:
    deep = 'Thread 7 (idle): "MainThread"\n' + "    f (a.py:1)\n" * (MAX_FRAMES + 50)
    [stack] = read_text(deep, "x")
    assert len(stack.frames) == MAX_FRAMES
    many = "Thread 7 (idle)\n    f (a.py:1)\n" * (MAX_THREADS + 50)
    assert len(read_text(many, "x")) == 1
