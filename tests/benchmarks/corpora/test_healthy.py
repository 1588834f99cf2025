from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.corpora.healthy import load
from relume.errors import InputError

HOST = "m4-logs/tr_141-hanging/try"
RUNS = "bigscience/experiments/gpt2-small"


def write(root: Path, name: str, text: str = "one\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path, "mlperf-training-v2.1/site/system/bert/result_0.txt")
    write(tmp_path, f"{RUNS}/done.out")
    write(tmp_path, f"{RUNS}/limit.out", "step\n*** JOB 7 ON n1 CANCELLED AT 2021 ***\n")
    write(tmp_path, f"{HOST}/gpu.query.0.txt", "GPU 0\n")
    write(
        tmp_path,
        f"{HOST}/dmesg.txt",
        "boot\nNVRM: loading\nINFO: task a:1 blocked for more than 120 seconds.\nNVRM: late\n",
    )
    return tmp_path


def test_every_group_is_found(data: Path) -> None:
    found = [(log.group, log.path.name, log.ended_by_scheduler) for log in load(data).logs]
    assert found == [
        ("mlperf", "result_0.txt", False),
        ("bigscience", "done.out", False),
        ("bigscience", "limit.out", True),
        ("m4", "dmesg.txt", False),
        ("m4", "gpu.query.0.txt", False),
    ]


def test_a_kernel_s_log_is_read_up_to_the_first_blocked_task(data: Path) -> None:
    lines = {log.path.name: log.lines for log in load(data).logs}
    assert lines["dmesg.txt"] == ("boot", "NVRM: loading")
    assert lines["gpu.query.0.txt"] == ("GPU 0",)
    assert lines["done.out"] is None


def test_the_hash_covers_every_log(data: Path) -> None:
    before = load(data).hash
    write(data, f"{HOST}/gpu.query.0.txt", "GPU 1\n")
    assert load(data).hash != before


@pytest.mark.parametrize("gone", [RUNS, HOST])
def test_a_recording_that_is_not_there_is_an_error(data: Path, gone: str) -> None:
    (data / gone).rename(data / "elsewhere")
    with pytest.raises(InputError, match=r"corpus \S+; found no .* --data"):
        load(data)
