"""Loaders of recordings without a clock of incidents: bigscience, m4, gpud, loghub, mlperf."""

from __future__ import annotations

from pathlib import Path

import pytest

from relume.benchmarks.corpora.m4 import blocks_of
from relume.benchmarks.corpora.registry import CORPORA, find
from relume.dataset import AttemptEntry
from relume.errors import InputError
from relume.ingest.datasets import read_dataset
from relume.verdict import Domain, Kind


def put(path: Path, text: str = "line\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def made(name: str, data: Path) -> dict[str, AttemptEntry]:
    """The data set of a corpus by the names of its attempts; all of its logs are there."""
    find(name).write(data, data / "out")
    entries = list(read_dataset(data / "out").attempts())
    assert all(Path(file.path).is_file() for entry in entries for file in entry.files)
    assert len({entry.attempt for entry in entries}) == len(entries)
    return {entry.title: entry for entry in entries}


def text_of(entry: AttemptEntry, file: int = 0) -> str:
    return Path(entry.files[file].path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [corpus.name for corpus in CORPORA if corpus.data])
def test_a_folder_without_the_recording_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"name (?:the folder|the data folder|it) with --data"):
        find(name).write(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_unknown_corpus_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'mlperf'"):
        find("mlprf")


def test_a_data_set_is_not_overwritten(tmp_path: Path) -> None:
    put(tmp_path / "mlperf-training-v2.1/a/b/c/result_0.txt")
    made("mlperf", tmp_path)
    with pytest.raises(InputError, match="one that is there already"):
        made("mlperf", tmp_path)


def test_mlperf_runs_are_healthy_and_stay_where_they_are(tmp_path: Path) -> None:
    log = tmp_path / "mlperf-training-v2.1/site/system/bert/result_0.txt"
    put(log)
    (entry,) = made("mlperf", tmp_path).values()
    assert (entry.incidents, entry.state, entry.start) == ((), None, None)
    assert entry.files[0].path == str(log)
    assert entry.name == "site/system/bert/result_0.txt"


def test_bigscience_runs_that_the_scheduler_ended_have_no_incident(tmp_path: Path) -> None:
    runs = tmp_path / "bigscience/experiments"
    put(runs / "gpt2-meg/perf_n16-1999618.out")
    put(runs / "gpt2-meg/base_n8-1809562.out")
    put(runs / "gpt2-hf/base_n4-1832555.out")
    put(runs / "gpt2-hf/base.out")
    put(runs / "bandwidth/bench.txt")
    entries = made("bigscience", tmp_path)
    states = {name: entry.state for name, entry in entries.items()}
    assert states == {
        "gpt2-hf/base": None,
        "gpt2-hf/base_n4-1832555": None,
        "gpt2-meg/base_n8-1809562": "CANCELLED",
        "gpt2-meg/perf_n16-1999618": "TIMEOUT",
    }
    assert all(entry.incidents == () for entry in entries.values())
    assert entries["gpt2-meg/base_n8-1809562"].attempt == "bigscience/1809562@0.0"


def test_kernel_logs_of_gpud_are_not_labelled(tmp_path: Path) -> None:
    files = tmp_path / "gpud-kernel-logs/files/pkg"
    put(files / "xid/testdata/dmesg-with-xid.log")
    put(files / "kmsg/testdata/kmsg.1.log")
    put(files / "ib/testdata/rate")
    entries = made("gpud", tmp_path)
    assert sorted(entries) == [
        "pkg/kmsg/testdata/kmsg.1.log",
        "pkg/xid/testdata/dmesg-with-xid.log",
    ]
    for entry in entries.values():
        assert entry.incidents is None
        assert entry.files[0].stream == "kernel"


def test_lines_of_loghub_lose_their_label_and_alerts_are_apart(tmp_path: Path) -> None:
    put(tmp_path / "loghub/BGL/BGL_2k.log", "- 1 all is well\nKERNDTLB 2 alert\n- 3 still\n")
    put(tmp_path / "loghub/Thunderbird/Thunderbird_2k.log", "- 1 session opened\n")
    put(tmp_path / "loghub/Spark/Spark_2k.log", "INFO done\n")
    put(tmp_path / "loghub/HPC/HPC_2k.log", "1 node-2 unavailable\n")
    entries = made("loghub", tmp_path)
    labels = {name: entry.incidents for name, entry in entries.items()}
    assert labels == {"BGL": (), "BGL-alerts": None, "HPC": None, "Spark": (), "Thunderbird": ()}
    assert text_of(entries["BGL"]) == "1 all is well\n3 still\n"
    assert text_of(entries["BGL-alerts"]) == "2 alert\n"


DIARY = """# try
```
launch it
```
the log:
```
{log}
```
```
srun: error: Node failure on node999
```
"""
DMESG = """\
[Mon Jan  5 03:00:00 2026] Linux version 4
[Mon Jan  5 04:00:00 2026] INFO: task epilog.sh:77 blocked for more than 120 seconds.
[Tue Jan  6 04:10:00 2026] INFO: task python:88 blocked for more than 120 seconds.
[Tue Jan  6 04:12:00 2026] INFO: task python:88 blocked for more than 240 seconds.
"""


def m4(tmp_path: Path) -> dict[str, AttemptEntry]:
    runs = tmp_path / "m4-logs/tr_141-hanging"
    put(runs / "x_0-try3/README.md", DIARY.format(log="PID 7: before the third gate"))
    put(runs / "x_0-try3/dmesg.txt", DMESG)
    put(runs / "x_0-try3/gpu.query.0.txt", "Product Name : GPU\n")
    put(runs / "x_0-try5/README.md", DIARY.format(log="terminate called"))
    put(runs / "x_02/README.md", DIARY.format(log="step\nsrun: error: Node failure on node031"))
    put(runs / "x_04/README.md", DIARY.format(log="iteration: 4875"))
    put(runs / "x_06/README.md", DIARY.format(log="srun: error: Node failure on node037"))
    return made("m4", tmp_path)


def test_the_freeze_of_m4_began_before_the_kernel_saw_it(tmp_path: Path) -> None:
    entry = m4(tmp_path)["x_0-try3"]
    assert entry.incidents is not None
    (hang,) = entry.incidents
    seen = 1_767_672_600_000_000  # 2026-01-06 04:10:00 UTC
    assert (hang.kind, hang.domain) == (Kind.HANG, Domain.PLATFORM)
    assert (hang.onset, hang.visible) == (seen - 120_000_000, seen)
    assert entry.start == seen - 120_000_000 - round(3.5 * 3600e6)
    assert entry.state == "RUNNING"
    assert [file.stream for file in entry.files] == [None, "kernel"]
    assert text_of(entry) == "PID 7: before the third gate\n"


def test_diaries_of_m4_label_what_they_are_sure_of(tmp_path: Path) -> None:
    entries = m4(tmp_path)
    assert entries["x_0-try5"].incidents is None
    assert entries["x_04"].incidents == ()
    for name, node, domain in (("x_02", "node031", None), ("x_06", "node037", Domain.HARDWARE)):
        incidents = entries[name].incidents
        assert incidents is not None
        (crash,) = incidents
        assert (crash.kind, crash.domain) == (Kind.CRASH, domain)
        assert crash.culprit_nodes == (node,)
    assert text_of(entries["x_02"]) == "step\nsrun: error: Node failure on node031\n"


def test_what_the_kernel_said_before_anything_was_blocked_is_healthy(tmp_path: Path) -> None:
    entries = m4(tmp_path)
    before = entries["healthy/dmesg-before.log"]
    assert (before.incidents, before.files[0].stream) == ((), "kernel")
    assert text_of(before) == "[Mon Jan  5 03:00:00 2026] Linux version 4\n"
    assert entries["healthy/gpu.query.0.txt"].incidents == ()


def test_blocks_of_a_diary_end_where_their_fence_does() -> None:
    assert list(blocks_of("a\n```\nb\nc\n```\nd\n```sh\n```\n```\nopen")) == [["b", "c"], []]
