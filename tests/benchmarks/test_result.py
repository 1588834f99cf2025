from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from relume.benchmarks.result import Bar, BenchResult, Measure, read, store
from relume.errors import InputError


def make_result(**changes: Any) -> BenchResult:
    fields: dict[str, Any] = {
        "id": "made-up",
        "version": "1.2.3",
        "machine": {"cpus": 2},
        "corpus": {"name": "made up", "hash": "abc", "cases": 9},
        "measures": {
            "kind": {"value": 0.9, "low": 0.6, "high": 0.98},
            "false_alarms": 0,
            "rate": 7.5,
        },
        "bars": {"kind": Bar(">=", 0.9), "false_alarms": Bar("==", 0)},
        "cpu_seconds": 1.5,
        "wall_seconds": 2.5,
        "peak_rss_bytes": 1000,
    }
    return BenchResult(**(fields | changes))


@pytest.mark.parametrize(
    ("op", "value", "measure", "passes"),
    [
        (">=", 0.9, 0.9, True),
        (">=", 0.9, 0.89, False),
        ("<=", 3, 3, True),
        ("<=", 3, 4, False),
        ("==", 0, 0, True),
        ("==", 0, 1, False),
        (">=", 0.9, {"value": 0.9, "low": 0.5, "high": 0.99}, True),
        ("<=", 0.9, {"value": 0.91, "low": 0.5, "high": 0.99}, False),
        (">=", 0.0, math.nan, False),
        ("<=", 0.0, math.nan, False),
    ],
)
def test_a_bar_judges_the_value_of_a_measure(
    op: str, value: float, measure: Measure, *, passes: bool
) -> None:
    assert Bar(op, value).passes(measure) is passes


def test_the_record_has_the_documented_form() -> None:
    record = make_result().record()
    documented = {
        "id": "made-up",
        "version": "1.2.3",
        "machine": {"cpus": 2},
        "corpus": {"name": "made up", "hash": "abc", "cases": 9},
        "cpu_seconds": 1.5,
        "wall_seconds": 2.5,
        "peak_rss_bytes": 1000,
        "measures": {
            "kind": {"value": 0.9, "low": 0.6, "high": 0.98},
            "false_alarms": 0,
            "rate": 7.5,
        },
        "bars": {
            "kind": {"op": ">=", "value": 0.9, "pass": True},
            "false_alarms": {"op": "==", "value": 0, "pass": True},
        },
        "pass": True,
    }
    assert record == documented | {"void": None, "notes": {}}


def test_one_failed_bar_fails_the_bench() -> None:
    result = make_result(bars={"kind": Bar(">=", 0.95), "false_alarms": Bar("==", 0)})
    assert result.passed is False
    record = result.record()
    assert record["pass"] is False
    assert {name: bar["pass"] for name, bar in record["bars"].items()} == {
        "kind": False,
        "false_alarms": True,
    }


def test_a_void_run_fails_whatever_it_reached() -> None:
    assert make_result(void="slow machine").record()["pass"] is False


def test_a_bar_without_its_measure_is_an_error_and_no_pass() -> None:
    with pytest.raises(KeyError, match="latency"):
        make_result(bars={"latency": Bar("<=", 1)}).record()


def test_what_is_stored_is_read_back(tmp_path: Path) -> None:
    result = make_result(notes={"wrong": ["höst 1"]})
    path = store(result, tmp_path / "new" / "results")
    assert path == tmp_path / "new" / "results" / "made-up.json"
    assert read(path) == result.record()
    assert [p.name for p in path.parent.iterdir()] == ["made-up.json"]
    assert path.read_text(encoding="utf-8").endswith("\n")


def test_storing_replaces_the_last_result(tmp_path: Path) -> None:
    store(make_result(version="1"), tmp_path)
    path = store(make_result(version="2"), tmp_path)
    assert read(path)["version"] == "2"


def test_a_result_that_cannot_be_written_leaves_the_last_one(tmp_path: Path) -> None:
    path = store(make_result(version="1"), tmp_path)
    with pytest.raises(TypeError):
        store(make_result(version="2", notes={"no JSON": object()}), tmp_path)
    (tmp_path / "made-up.json.new").mkdir()
    with pytest.raises(InputError, match=r"cannot store .*made-up\.json; found Is a directory"):
        store(make_result(version="2"), tmp_path)
    assert read(path)["version"] == "1"


def test_a_file_is_no_folder_for_results(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="choose another with --store"):
        store(make_result(), tmp_path / "file")


@pytest.mark.parametrize("content", [None, b"{", b"\xff"])
def test_what_is_no_result_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "made-up.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(
        InputError, match=r"cannot read the bench result .*made-up\.json; found [^\[]"
    ):
        read(path)


def test_records_are_json(tmp_path: Path) -> None:
    text = store(make_result(), tmp_path).read_text(encoding="utf-8")
    assert json.loads(text)["measures"]["kind"]["low"] == 0.6
