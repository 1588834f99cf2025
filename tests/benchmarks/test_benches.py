"""Each bench on a corpus made by hand: what it counts, and that its result can be stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from relume.benchmarks import cases, diagnose_speed, healthy
from relume.benchmarks.corpora.mlperf import FOLDER
from relume.benchmarks.demo import bench as demo
from relume.benchmarks.demo.corpus import generate
from relume.benchmarks.machine import REFERENCE_MB_PER_SECOND, VOID_BELOW
from relume.benchmarks.result import BenchResult, read, store

OUT_OF_MEMORY = (
    "[rank3]: Traceback (most recent call last):",
    '[rank3]:   File "train.py", line 8, in step',
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of which 301.00 MiB is free.",
)
STOPPED = (
    '0: :::MLLOG {"namespace": "", "time_ms": 1772400000000, "event_type": "INTERVAL_END", '
    '"key": "run_stop", "value": null, "metadata": {"file": "t.py", "lineno": 6, "status": "success"}}'
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
    assert record["measures"]["called_failure"] == 1
    assert record["measures"]["called_benign"] == 1
    assert sum(record["notes"]["rules_of_false_alarms"].values()) == 1
    assert record["corpus"]["logs"] == 2
    assert record["bars"]["called_failure"]["pass"] is False


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
