from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from relume.benchmarks.corpora.registry import CORPORA
from relume.benchmarks.registry import BENCHES
from relume.benchmarks.result import Bar, BenchResult, read, store
from relume.cli import app, main
from relume.errors import ConfigError, InputError
from relume.ingest.datasets import read_dataset
from relume.records import SCHEMA_VERSION


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    result = BenchResult(
        id="healthy",
        version="1",
        machine={},
        corpus={"name": "logs", "hash": "abc", "logs": 25},
        measures={"called_failure": 0},
        bars={"called_failure": Bar("==", 0)},
    )
    store(result, tmp_path / "results")
    return tmp_path / "results"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text("# Page\n<!-- bench:healthy -->\n<!-- /bench -->\n", encoding="utf-8")
    return path


def test_list_shows_every_bench_and_its_data() -> None:
    result = run("list")
    assert result.exit_code == 0
    for bench in BENCHES:
        assert f"{bench.id:<15} {bench.shows}\n" in result.stdout
        assert f"data: {bench.data}\n" in result.stdout


def test_list_as_json_has_a_schema_version() -> None:
    result = run("list", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["schema_version"] == SCHEMA_VERSION
    assert [bench["id"] for bench in document["benches"]] == [bench.id for bench in BENCHES]
    assert set(document["benches"][0]) == {"id", "shows", "data"}


def test_an_unknown_bench_exits_2_and_names_the_nearest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["relume", "bench", "run", "helthy"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("relume: unknown bench; found helthy; expected one of cases,")
    assert printed.err.endswith("did you mean 'healthy'?\n")


@pytest.mark.parametrize("options", [(), ("--data", "/nowhere/at/all")])
@pytest.mark.parametrize(
    "bench", [bench.id for bench in BENCHES if not bench.data.startswith("none")]
)
def test_a_bench_without_its_data_says_so_and_stores_nothing(
    tmp_path: Path, bench: str, options: tuple[str, ...]
) -> None:
    result = run("run", bench, "--store", tmp_path / "results", *options)
    assert isinstance(result.exception, InputError)
    assert f"bench {bench}" in str(result.exception)
    assert not (tmp_path / "results").exists()


def test_a_bad_configuration_is_told_before_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "relume.toml"
    config.write_text("[benchmark]\n", encoding="utf-8")
    monkeypatch.setenv("RELUME_CONFIG", str(config))
    # Without data the run itself would fail with another error.
    assert isinstance(run("run", "healthy").exception, ConfigError)


def test_table_writes_what_is_stored(document: Path, results: Path) -> None:
    assert run("table", document, "--results", results).exit_code == 0
    row = "| `healthy` | logs (25 logs) | called failure | 0 | == 0 | pass |"
    text = document.read_text(encoding="utf-8")
    assert row in text.splitlines()
    assert run("table", document, "--results", results).exit_code == 0
    assert document.read_text(encoding="utf-8") == text


def test_check_tells_a_difference_and_writes_nothing(document: Path, results: Path) -> None:
    before = document.read_bytes()
    assert run("table", document, "--results", results, "--check").exit_code == 1
    assert document.read_bytes() == before
    run("table", document, "--results", results)
    assert run("table", document, "--results", results, "--check").exit_code == 0


def test_check_finds_the_one_document_that_differs(
    tmp_path: Path, document: Path, results: Path
) -> None:
    other = tmp_path / "other.md"
    other.write_bytes(document.read_bytes())
    run("table", other, "--results", results)
    assert run("table", document, other, "--results", results, "--check").exit_code == 1
    assert run("table", other, document, "--results", results, "--check").exit_code == 1


def test_table_of_a_missing_document_is_a_usage_error(tmp_path: Path, results: Path) -> None:
    result = run("table", tmp_path / "nowhere.md", "--results", results)
    assert result.exit_code == 2
    assert "nowhere.md" in result.stderr


def test_table_without_a_stored_result_is_an_input_error(tmp_path: Path, document: Path) -> None:
    assert isinstance(run("table", document, "--results", tmp_path).exception, InputError)


def write_logs(folder: Path, text: str) -> Path:
    for number in range(2):
        path = folder / "site" / "system" / "bert" / f"result_{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in ("bigscience/experiments/gpt2-small/a.out", "m4-logs/tr_141-hanging/try/dmesg.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("calm\n", encoding="utf-8")
    return folder


def test_a_bench_below_its_bar_exits_1_and_stores_the_result(tmp_path: Path) -> None:
    logs = write_logs(tmp_path / "logs", "[rank0]: KeyError: 'size'\n")
    result = run("run", "healthy", "--data", logs, "--store", tmp_path / "results")
    assert result.exit_code == 1
    assert "bench healthy: name mlperf-training-v2.1, bigscience, m4-logs, hash" in result.stdout
    assert "mlperf_called_benign" in result.stdout
    assert "FAIL" in result.stdout
    path = tmp_path / "results" / "healthy.json"
    assert result.stderr == f"relume: stored in {path}\n"
    record = read(path)
    assert (record["id"], record["pass"], record["corpus"]["logs"]) == ("healthy", False, 4)
    assert record["bars"]["mlperf_called_benign"] == {"op": ">=", "value": 24, "pass": False}


def test_run_as_json_prints_what_it_stores(tmp_path: Path) -> None:
    result = run("run", "demo", "--store", tmp_path, "--json")
    document = json.loads(result.stdout)
    assert document.pop("schema_version") == SCHEMA_VERSION
    assert document == read(tmp_path / "demo.json")
    assert "simulated" in document["corpus"]["name"]
    assert result.exit_code == (0 if document["pass"] else 1)
    assert document["pass"] is all(bar["pass"] for bar in document["bars"].values())


def test_dataset_lists_the_corpora() -> None:
    result = run("dataset", "--list")
    assert result.exit_code == 0
    for corpus in CORPORA:
        assert f"{corpus.name:<15} {corpus.what}\n" in result.stdout
    listed = json.loads(run("dataset", "--list", "--json").stdout)
    assert [one["name"] for one in listed["corpora"]] == [corpus.name for corpus in CORPORA]
    assert listed["schema_version"] == SCHEMA_VERSION


def test_dataset_writes_one_and_says_what_is_in_it(tmp_path: Path) -> None:
    log = tmp_path / "mlperf-training-v2.1/site/system/bert/result_0.txt"
    log.parent.mkdir(parents=True)
    log.write_text("line\n", encoding="utf-8")
    result = run("dataset", "mlperf", "--data", tmp_path, "--out", tmp_path / "out")
    assert result.exit_code == 0
    digest = read_dataset(tmp_path / "out").digest()
    assert result.stdout == (
        f"mlperf-training-v2.1 ({digest}), recorded: 1 attempt, 1 labelled, 0 incidents, "
        f"in {tmp_path / 'out'}\n"
    )
    again = run("dataset", "mlperf", "--data", tmp_path, "--out", tmp_path / "more", "--json")
    facts = json.loads(again.stdout)
    assert (facts["hash"], facts["attempts"], facts["incidents"]) == (digest, 1, 0)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ((), "no NAME and no --data and no --out"),
        (("mlperf",), "no --data and no --out"),
        (("mlperf", "--data", "x"), "no --out"),
    ],
)
def test_dataset_says_what_it_needs(arguments: tuple[str, ...], found: str) -> None:
    error = run("dataset", *arguments).exception
    assert isinstance(error, InputError)
    assert f"found {found}; expected NAME --data FOLDER --out FOLDER" in str(error)
