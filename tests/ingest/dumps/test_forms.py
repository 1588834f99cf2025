"""Dumps are known by what they hold, under any name."""

from __future__ import annotations

import json
import pickle

import pytest

from recorders import document, entry
from relume.benchmarks.dumps.pickling import pickle_as_torch
from relume.ingest.dumps.forms import FLIGHT, PICKLE, RAS, STACKS, dump_form

RECORDER = document([entry(0)])
PY_SPY = 'Process 7: python train.py\nPython v3.11.7 (/usr/bin/python3)\n\nThread 7 (idle): "MainThread"\n    step (train.py:3)\n'
FAULTHANDLER = 'Timeout (0:05:00)!\nThread 0x00007f0a (most recent call first):\n  File "/job/train.py", line 3 in step\n  File "/job/train.py", line 9 in <module>\n'
RAS_TEXT = "NCCL version 2.28.3 compiled with CUDA 12.9\nCUDA runtime version 12090, driver version 12090\n\nJob summary\n===========\n\n  Nodes  Processes\n"


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_pickled_recorders(protocol: int) -> None:
    assert dump_form(pickle.dumps(RECORDER, protocol)) == FLIGHT


def test_recorders_as_pytorch_pickles_them_and_as_json() -> None:
    assert dump_form(pickle_as_torch(RECORDER)) == FLIGHT
    for indent in (None, 2):
        assert dump_form(json.dumps(RECORDER, indent=indent).encode()) == FLIGHT
    assert dump_form(b"\xef\xbb\xbf\n [" + json.dumps(RECORDER).encode()) == FLIGHT


def test_other_pickles_are_looked_at_too() -> None:
    assert dump_form(pickle.dumps({"step": 1})) == PICKLE
    assert dump_form(b"cos\nsystem\n(S'true'\ntR.") == PICKLE


def test_stacks() -> None:
    assert dump_form(PY_SPY.encode()) == STACKS
    assert dump_form(FAULTHANDLER.encode()) == STACKS
    assert (
        dump_form(b'[{"pid": 7, "thread_name": "MainThread", "owns_gil": false, "frames": []}]')
        == STACKS
    )


def test_a_log_that_ends_with_a_stack_stays_a_log() -> None:
    log = "".join(f"step {n} loss 2.1\n" for n in range(20)) + FAULTHANDLER
    assert dump_form(log.encode()) is None
    assert dump_form(b"Fatal Python error: Segmentation fault\n" + FAULTHANDLER.encode()) is None


def test_ras() -> None:
    assert dump_form(RAS_TEXT.encode()) == RAS
    assert (
        dump_form(b'{"nccl_version": "2.28", "communicators_count": 1, "communicators": []}') == RAS
    )


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"step 1\n",
        b'{"step": 1}',
        b"[INFO] pg_config nccl_version",
        b"Process 7: started\n",
        b"{",
    ],
)
def test_others_are_none(start: bytes) -> None:
    assert dump_form(start) is None


QUOTED = 'dumped: "pg_config": {}, "collective_seq_id": 7, "time_created_ns": 1'


@pytest.mark.parametrize(
    "line",
    [
        f"[[rank3]: {QUOTED}",
        f'["rank3"] {QUOTED}',
        f"[[0;33m {QUOTED}",
        json.dumps({"level": "error", "message": QUOTED}),
        json.dumps([{"message": QUOTED}]),
    ],
)
def test_a_log_of_such_lines_that_quotes_a_dump_stays_a_log(line: str) -> None:
    assert dump_form(f"{line}\n{line}\nstep 3 loss 2.0\n".encode()) is None


def test_a_dump_on_one_line_or_on_many_is_one() -> None:
    for indent in (None, 1):
        text = json.dumps(document([entry(1)]), indent=indent)
        assert dump_form(text.encode()) == FLIGHT
        assert dump_form(f"{text}\n".encode()) == FLIGHT


def test_a_log_that_holds_answers_of_ras_stays_a_log() -> None:
    answer = b"NCCL version 2.28.3 compiled with CUDA 12.9\nJob summary\n===========\n"
    steps = b"".join(b"step %d loss 2.0\n" % number for number in range(20))
    assert dump_form(answer) == RAS
    assert dump_form(steps + 3 * answer) is None
