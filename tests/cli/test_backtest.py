from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recording import START, TRACEBACK, entry, logged, recorded, steps
from relume.cli import app

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


def test_a_page_is_written_into_what_is_there(data: Path, tmp_path: Path) -> None:
    """A link, as a device, stays what it is."""
    (tmp_path / "link.html").symlink_to(tmp_path / "page.html")
    args = ["backtest", str(data), "--out", str(tmp_path / "out"), "--html"]
    assert runner.invoke(app, [*args, str(tmp_path / "link.html")]).exit_code == 0
    assert (tmp_path / "link.html").is_symlink()
    assert "</html>" in (tmp_path / "page.html").read_text()
    refused = runner.invoke(app, [*args, str(tmp_path / "none" / "page.html")])
    assert "page.html; found no such file or directory" in str(refused.exception)


@pytest.mark.parametrize("also", ["--presets", "--html=page.html"])
def test_tuning_makes_no_report(data: Path, also: str) -> None:
    result = runner.invoke(app, ["backtest", str(data), "--tune", "0.01", also])
    assert "expected one of them" in str(result.exception)
