from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from relume.cli import app
from relume.errors import InputError
from relume.records import SCHEMA_VERSION


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["demo", *map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return run("--folder", folder / "new")


def test_demo_prints_its_report_and_says_where_it_is(folder: Path, result: Result) -> None:
    assert result.exit_code == 0
    path = folder / "new" / "report.txt"
    report = path.read_text(encoding="utf-8")
    assert result.stdout == f"{report}\nreport: {path}\nlogs:   {folder / 'new' / 'logs'}\n"
    assert result.stderr == ""


def test_demo_shows_every_attempt_with_its_truth(folder: Path, result: Result) -> None:
    labels = (folder / "new" / "logs" / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    rows = result.stdout.splitlines()[1 : len(labels) + 1]
    for text, row in zip(labels, rows, strict=True):
        label = json.loads(text)
        assert row.split()[:2] == [label["attempt"], label["kind"]]


def test_demo_writes_its_verdicts_as_json(folder: Path, result: Result) -> None:
    document = json.loads((folder / "new" / "report.json").read_bytes())
    assert (document["schema_version"], document["simulated"]) == (SCHEMA_VERSION, True)
    shown = [
        row.split()[0] for row in result.stdout.splitlines()[1:] if row.startswith(("meg", "mlp"))
    ]
    attempts = [Path(verdict["attempt"]).name for verdict in document["verdicts"]]
    assert set(shown) <= set(attempts)


def test_a_folder_that_cannot_be_used_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run("--folder", tmp_path / "file")
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        f"cannot write the demo to {tmp_path / 'file'}; found File exists; "
        "expected a folder that can be written; choose another with --folder"
    )


def test_a_foreign_report_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "report.txt").write_text("of the quarter")
    result = run("--folder", tmp_path)
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"the demo doesn't overwrite {tmp_path}/report.txt; ")
    assert (tmp_path / "report.txt").read_text() == "of the quarter"
    assert list(tmp_path.iterdir()) == [tmp_path / "report.txt"]


def test_another_seed_is_another_corpus(folder: Path, result: Result, tmp_path: Path) -> None:
    other = run("--folder", tmp_path, "--seed", 7)
    assert (other.exit_code, result.exit_code) == (0, 0)
    log = Path("logs", "megatron-healthy", "job.log")
    assert (tmp_path / log).read_bytes() != (folder / "new" / log).read_bytes()


def test_a_seed_is_a_number() -> None:
    assert run("--seed", "x").exit_code == 2
