from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from recording import SECOND, START, TRACEBACK, entry, logged, recorded, steps
from relume.cli import app
from relume.errors import InputError
from relume.serve.ledger import Ledger, sqlite_url

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


def test_a_ledger_is_written_as_by_a_service_and_never_over_another(
    data: Path, tmp_path: Path
) -> None:
    file, out = tmp_path / "ledger.db", tmp_path / "out"
    command = ["backtest", str(data), "--out", str(out), "--ledger"]
    assert runner.invoke(app, [*command, str(file)]).exit_code == 0
    with Ledger.open(sqlite_url(file)) as ledger:
        [incident] = ledger.incidents()
        assert set(incident.advice) == {one.advice_id for one in ledger.listed()} != set()
    for other in (file, tmp_path / "new.db"):  # there already; and all is replayed already
        assert isinstance(runner.invoke(app, [*command, str(other)]).exception, InputError)
    assert runner.invoke(app, [*command, str(file), "--tune", "0.1"]).exit_code == 2


def test_the_ledger_and_the_score_say_the_same_of_alarms(tmp_path: Path) -> None:
    """Each of five jobs makes 120 steps, then none for a while; some go on."""
    stories = [(450, "COMPLETED"), (1200, "COMPLETED"), (1000, "FAILED"), (6000, "CANCELLED")]
    folder, entries = tmp_path / "data", []
    folder.mkdir()
    for number, (pause, state) in enumerate([*stories, (900, "CANCELLED")]):
        start = START + number * 20_000 * SECOND
        rest = steps(40, 121 + pause, start=start) if state == "COMPLETED" else []
        log = logged(folder, f"{number}.out", [*steps(120, start=start), *rest])
        end = start + (165 + pause) * SECOND
        entries.append(entry(100 + number, files=(log,), start=start, end=end, state=state))
    recorded(folder, *entries)
    file = tmp_path / "ledger.db"
    result = runner.invoke(app, ["backtest", str(folder), "--json", "--ledger", str(file)])
    [scored] = json.loads(result.stdout)["goodput"]["hang_alarms"]
    with Ledger.open(sqlite_url(file)) as ledger:
        found = Counter(one.label.value for one in ledger.outcomes())
    assert found == {"true": 2, "false": 1, "unlabelled": 2}
    assert {name: scored[name] for name in found} == found


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


def test_a_ledger_is_written_by_one_process(data: Path, tmp_path: Path) -> None:
    options = ["--ledger", str(tmp_path / "ledger.db"), "--workers", "2"]
    result = runner.invoke(app, ["backtest", str(data), *options])
    assert "expected all replayed in one process" in str(result.exception)
