"""Each bench on a corpus made by hand: what it counts, and that its result can be stored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from relume.benchmarks import cases, diagnose_speed, examples, healthy
from relume.benchmarks.corpora.healthy import HealthyLog
from relume.benchmarks.corpora.mlperf import FOLDER
from relume.benchmarks.corpora.reference import EXAMPLES, TABLE, Entry, Example
from relume.benchmarks.demo import bench as demo
from relume.benchmarks.demo.corpus import generate
from relume.benchmarks.machine import REFERENCE_MB_PER_SECOND, VOID_BELOW
from relume.benchmarks.result import BenchResult, read, store
from relume.errors import InputError
from relume.models.signatures.loader import load_catalogue
from relume.verdict import Domain, Kind, Locator, Retry, Verdict

OUT_OF_MEMORY = (
    "[rank3]: Traceback (most recent call last):",
    '[rank3]:   File "train.py", line 8, in step',
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 301.00 MiB is free.",
)
STOPPED = (
    '0: :::MLLOG {"namespace": "", "time_ms": 1772400000000, "event_type": "INTERVAL_END", '
    '"key": "run_stop", "value": null, "metadata": {"file": "t.py", "lineno": 6, "status": "success"}}'
)
TIME_LIMIT = (
    "slurmstepd: error: *** JOB 77120 ON n07 CANCELLED AT 2026-03-09T04:11:27 DUE TO TIME LIMIT ***"
)
STEPS = [f"{{'loss': {3 - step / 100:.3f}, 'epoch': 0.{step}}}" for step in range(50)]


def case(name: str, *text: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": name,
        "class": "made_up",
        "kind": "crash",
        "fault_domain": "user",
        "root_cause_line": 2,
        "culprit": "rank 3",
        "text": text,
        "accept": {
            "kind": ["crash"],
            "line": [2],
            "domain": ["workload"],
            "culprit_optional": False,
            "culprit_also": [],
        },
    } | changes


@pytest.fixture
def data(tmp_path: Path) -> Path:
    records = [case("right", *OUT_OF_MEMORY), case("mislabelled", *OUT_OF_MEMORY, kind="benign")]
    records[1]["accept"] = records[1]["accept"] | {"kind": ["benign"], "line": [0]}
    (tmp_path / "failure-cases").mkdir()
    text = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "failure-cases" / "cases.jsonl").write_text(text, encoding="utf-8")
    for number, lines in enumerate(([*STEPS, STOPPED], [*STEPS, *OUT_OF_MEMORY])):
        log = tmp_path / FOLDER / "site" / "system" / "bert" / f"result_{number}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    texts = {
        "bigscience/experiments/gpt2-small/done.out": "\n".join(STEPS),
        "bigscience/experiments/gpt2-small/limit.out": TIME_LIMIT,
        "m4-logs/tr_141-hanging/try/dmesg.txt": "[ 1.5] NVRM: loading NVIDIA UNIX module\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def stored(result: BenchResult, folder: Path) -> dict[str, Any]:
    record = read(store(result, folder / "results"))
    assert {"cpus", "python"} <= set(record["machine"])
    assert record["cpu_seconds"] > 0
    assert record["peak_rss_bytes"] > 0
    assert set(record["bars"]) <= set(record["measures"])
    return record


def test_cases_scores_plain_and_perturbed_cases(data: Path) -> None:
    record = stored(cases.run(data), data)
    measures = record["measures"]
    assert measures["kind"]["value"] == measures["root_line"]["value"] == 0.5
    assert measures["culprit"]["value"] == 1.0
    assert measures["domain"]["value"] == 1.0
    assert measures["benign_called_failure"] == 1
    assert record["notes"]["wrong"]["kind"] == ["mislabelled"]
    assert record["corpus"]["cases"] == 2
    perturbed = record["notes"]["perturbed_kind"]
    assert record["corpus"]["perturbed"] == sum(copies["of"] for copies in perturbed.values())
    assert perturbed["spliced"]["of"] == perturbed["coloured"]["of"] == 2
    drops = {name for name in measures if name.startswith("perturbed_")}
    assert drops == {
        f"perturbed_{name}_drop" for name in ("kind", "root_line", "culprit", "domain")
    }
    assert drops <= set(record["bars"])
    assert record["pass"] is False


def test_a_result_holds_none_of_the_recorded_text(data: Path) -> None:
    text = json.dumps(stored(cases.run(data), data))
    assert "allocate" not in text
    assert "train.py" not in text


def test_healthy_counts_every_failure_as_a_false_alarm(data: Path) -> None:
    record = stored(healthy.run(data), data)
    measures = record["measures"]
    assert (measures["mlperf_false_alarms"], measures["mlperf_called_benign"]) == (1, 1)
    assert measures["bigscience_false_alarms"] == measures["m4_false_alarms"] == 0
    assert measures["scheduler_ends"] == measures["scheduler_ends_recognised"] == 1
    assert record["notes"]["rules_of_false_alarms"] == {"cuda_oom": 1}
    assert record["corpus"]["logs"] == 5
    assert record["bars"]["mlperf_false_alarms"]["pass"] is False


@pytest.mark.parametrize(
    ("changes", "ended", "wrong"),
    [
        ({}, False, False),
        ({"kind": Kind.NUMERIC}, False, False),
        ({"kind": Kind.HANG}, True, True),
        ({"kind": Kind.CRASH, "domain": Domain.SCHEDULER}, True, False),
        ({"kind": Kind.CRASH, "domain": Domain.SCHEDULER}, False, True),
        ({"domain": Domain.HARDWARE}, True, True),
        ({"domain": Domain.SCHEDULER, "exclude_nodes": ("n1",)}, True, True),
    ],
)
def test_what_a_false_alarm_is(changes: dict[str, Any], *, ended: bool, wrong: bool) -> None:
    calm = Verdict(
        *("job", Kind.BENIGN, None, Domain.UNKNOWN, None, None),
        *(Locator(), Retry.UNCLEAR, "NONE", 0.9),
    )
    log = HealthyLog("m4", Path("log"), ended_by_scheduler=ended)
    assert healthy.is_false_alarm(log, replace(calm, **changes)) is wrong


LINES = (
    Example("cuda_oom", OUT_OF_MEMORY[2], None, 3, 3),
    Example(
        "nccl_ib_nonfatal",
        "n1:7:9 [0] NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error(10)",
        "n1",
        None,
        None,
    ),
    Example(
        "xid_79", "NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.", "n9", None, None
    ),
    Example("py_config", "all is well", None, None, None),
)


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    lines = b"".join(msgspec.json.encode(example) + b"\n" for example in LINES)
    (tmp_path / EXAMPLES).write_bytes(lines)
    row = "| loss_nan | `loss: nan` P; `no such words` P | by | root | user | no | rank |"
    (tmp_path / TABLE).write_text(row.replace("loss_nan", "no_such_rule") + "\n" + row)
    return tmp_path


def test_examples_counts_who_is_named_and_which_rule_speaks(reference: Path) -> None:
    record = stored(examples.run(reference), reference)
    measures, notes = record["measures"], record["notes"]
    assert [measures[f"{name}_right"] for name in examples.FIELDS] == [1, 1, 1]
    assert [measures[f"{name}_named"] for name in examples.FIELDS] == [2, 1, 1]
    assert notes["missed"]["node"] == ["xid_79"]
    assert notes["false"] == {"node": [], "rank": [], "gpu": ["nccl_ib_nonfatal"]}
    assert measures["rule_speaks"] == 3
    assert notes["rule_not_found"] == ["py_config"]
    assert notes["signatures_without_rule"] == ["no_such_rule"]
    assert notes["wordings_without_sample"] == [
        "no_such_rule: loss: nan",
        "no_such_rule: no such words",
        "loss_nan: no such words",
    ]
    assert record["pass"] is False


def test_examples_alone_are_enough(reference: Path) -> None:
    (reference / TABLE).unlink()
    record = stored(examples.run(reference / EXAMPLES), reference)
    assert "wordings_without_sample" not in record["measures"]


def test_a_described_wording_is_looked_up_as_it_is_printed() -> None:
    table = (
        Entry("throttle_sw", ("bit 0x20 SW_THERMAL",)),
        Entry("dcgm_dbe", ("Detected %d volatile double-bit ECC error(s) in GPU",)),
        Entry("throttle_hw", ("bit 0x200 NO_SUCH",)),
    )
    assert examples.wordings_without_sample(load_catalogue(), table) == [
        "throttle_hw: bit 0x200 NO_SUCH"
    ]


def test_examples_say_which_data_they_need() -> None:
    with pytest.raises(InputError, match=r"found no --data; expected failure-signature-examples"):
        examples.run(None)


def test_diagnose_speed_measures_as_many_lines_as_it_says(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnose_speed, "LINES", 1_000)
    monkeypatch.setattr(diagnose_speed, "ROUNDS", 3)
    record = stored(diagnose_speed.run(data), data)
    assert record["corpus"]["lines"] == 1_000
    assert record["measures"]["lines_per_cpu_second"] > 0
    assert record["measures"]["peak_rss_bytes"] == record["peak_rss_bytes"]
    reference = record["measures"]["reference_memchr_mb_per_cpu_second"]
    slow = reference < VOID_BELOW * REFERENCE_MB_PER_SECOND
    assert (record["void"] is not None) is slow


def test_demo_scores_its_own_corpus_and_needs_no_data(tmp_path: Path) -> None:
    record = stored(demo.run(None), tmp_path)
    assert record["pass"] is True
    assert record["corpus"]["attempts"] == len(generate(tmp_path / "again"))
    assert "simulated" in record["corpus"]["name"]
    assert set(record["notes"]["wrong"]) == {
        "kind",
        "root_line",
        "culprit",
        "domain",
        "healthy",
        "excluded",
    }
