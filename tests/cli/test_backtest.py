from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recording import START, TRACEBACK, entry, logged, recorded, steps
from relume.cli import app
from relume.errors import InputError

runner = CliRunner()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    log = logged(folder, "7.out", [*steps(30), *TRACEBACK])
    recorded(folder, entry(files=(log,), start=START))
    return folder


def test_it_prints_tables(data: Path) -> None:
    result = runner.invoke(app, ["backtest", str(data)])
    assert result.exit_code == 0, result.output
    assert "False alarms" in result.stdout
    assert "made up" in result.stdout


def test_json_is_one_document(data: Path) -> None:
    result = runner.invoke(app, ["backtest", str(data), "--json"])
    document = json.loads(result.stdout)
    assert document["schema_version"] == 1
    assert document["provenance"]["corpus"] == "made up"
    assert document["counts"]["attempts"] == 1


def test_results_are_kept_and_gone_on_with(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for _ in range(2):
        assert runner.invoke(app, ["backtest", str(data), "--out", str(out)]).exit_code == 0
    assert len((out / "results.jsonl").read_text().splitlines()) == 1
    report = json.loads((out / "report.json").read_text())
    assert report["counts"]["alarms"] == 1


def test_a_folder_that_is_neither_data_set_nor_lake_is_refused(tmp_path: Path) -> None:
    result = runner.invoke(app, ["backtest", str(tmp_path)])
    assert result.exit_code != 0
    assert "neither a data set nor a lake" in str(result.exception)


def test_presets_are_compared_when_asked_for(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = runner.invoke(app, ["backtest", str(data), "--presets", "--out", str(out), "--json"])
    goodput = json.loads(result.stdout)["goodput"]
    assert sum(goodput["shares"].values()) == pytest.approx(1, abs=1e-9)
    presets = goodput["presets"]
    assert [one["preset"] for one in presets] == ["cautious", "standard", "aggressive"]
    assert (out / "presets" / "cautious" / "results.jsonl").is_file()


def test_several_processes_give_the_same_document(data: Path) -> None:
    documents = []
    for workers in ("1", "2"):
        result = runner.invoke(app, ["backtest", str(data), "--json", "--workers", workers])
        documents.append(json.loads(result.stdout))
        assert documents[-1].pop("provenance")["cores"] == int(workers)
    assert documents[0] == documents[1]
    assert documents[0]["given_up"] == {}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler means nothing here"),
        (["--slurm"], "--slurm means nothing here"),
        (["--engine", "dask"], "expected either --scheduler ADDRESS or --slurm"),
        (["--engine", "dask", "--slurm", "--scheduler", "x"], "both --scheduler and --slurm"),
        (["--engine", "dask", "--slurm"], "add --out FOLDER"),
        (["--engine", "dask", "--scheduler", "x", "--workers", "2"], "--workers means nothing"),
        (["--interface", "lo"], "--interface means nothing here"),
        (["--slurm-option", "-pcpu"], "--slurm-option means nothing here"),
    ],
)
def test_options_that_don_t_go_together_are_refused(
    data: Path, options: list[str], said: str
) -> None:
    result = runner.invoke(app, ["backtest", str(data), *options])
    assert isinstance(result.exception, InputError)
    assert said in str(result.exception)
