from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recording import steps
from relume.benchmarks.simulator.parameters import PUBLISHED
from relume.cli import app
from relume.errors import InputError
from relume.events import LogLine, Sample, SchedulerEvent
from relume.ingest.datasets import read_dataset
from relume.ingest.lake import LakeReader
from relume.ingest.lake.segments import TABLES

SMALL = ("--nodes", "64", "--days", "10", "--operator", "baseline", "--operator", "oracle")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)])


def test_a_column_for_each_operator_and_a_row_for_each_bucket() -> None:
    result = run(*SMALL)
    assert result.exit_code == 0
    head, *rows = result.stdout.splitlines()
    assert head.split()[-2:] == ["baseline", "oracle"]
    assert head.strip().startswith("simulated")
    shares = {row.split()[0]: row.split()[1:] for row in rows}
    assert sum(float(shares[name][0]) for name in shares if "." in shares[name][0]) > 99.9
    assert "futile" in shares


def test_json_holds_shares_that_add_up_to_one() -> None:
    outcomes = json.loads(run(*SMALL, "--jobs", 30, "--json").stdout)["outcomes"]
    assert [outcome["operator"] for outcome in outcomes] == ["baseline", "oracle"]
    for outcome in outcomes:
        assert sum(outcome["shares"].values()) == pytest.approx(1, abs=1e-9)


def test_the_seed_decides() -> None:
    first, again, other = (run(*SMALL, "--seed", seed).stdout for seed in (1, 1, 2))
    assert first == again != other


def test_a_site_brings_its_own_parameters_and_keeps_the_recording(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(PUBLISHED.read_text().replace("per_node_day = 0.0038", "per_node_day = 0.0"))
    result = run(*SMALL, "--parameters", own, "--out", tmp_path / "out", "--json")
    assert {outcome["failures"] for outcome in json.loads(result.stdout)["outcomes"]} == {0}
    assert (tmp_path / "out" / "oracle" / "spans.parquet").exists()
    assert "8 files" in result.stderr


def test_telemetry_is_a_data_set_and_a_lake_reads_all_of_it(tmp_path: Path) -> None:
    folder, lake = tmp_path / "data", tmp_path / "lake"
    few = ("--nodes", 3, "--days", 0.03, "--jobs", 4, "--fault-factor", 1000)
    result = run(*few, "--telemetry", folder)
    assert result.exit_code == 0
    entries = list(read_dataset(folder).attempts())
    assert f"{len(entries)} attempts with " in result.stderr
    assert f"relume backtest {folder}" in result.stderr
    for source in (folder, folder / "metrics"):
        imported = CliRunner().invoke(app, ["lake", "import", str(source), "--lake", str(lake)])
        assert imported.exit_code == 0
        assert "metric_unknown" not in imported.output
    reader = LakeReader(lake)
    assert {TABLES[LogLine], TABLES[Sample]} <= reader.tables().keys()
    assert {one.attempt for one in entries} <= {
        event.attempt for event in reader.events() if isinstance(event, SchedulerEvent)
    }


def test_a_fault_is_put_into_telemetry(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("".join(f"{line}\n" for line in steps(60)))
    out = tmp_path / "out"
    result = run("--inject", "hang", "--from", log, "--out", out, "--at", 0.5)
    assert result.exit_code == 0
    assert "hang in " in result.stderr
    assert "1 label of it" in result.stderr
    [entry] = read_dataset(out).attempts()
    assert [one.kind.value for one in entry.incidents or ()] == ["hang"]


def test_without_stored_results_relume_is_left_out_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("--nodes", 8, "--days", 1)
    assert result.stdout.splitlines()[0].split()[-3:] == ["baseline", "human", "oracle"]
    assert "without relume: " in result.stderr
    asked = run("--nodes", 8, "--days", 1, "--operator", "relume")
    assert isinstance(asked.exception, InputError)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--nodes", 1), "2 to 100000 nodes"),
        (("--operator", "nobody"), "one of baseline"),
        (("--parameters", "none.toml"), "No such file"),
        (("--fault-factor", -1), "times as many faults"),
        (("--telemetry", "none", "--nodes", 900), "at most 1000"),
        (("--telemetry", "none", *SMALL), "found 2 operators; expected one --operator"),
        (("--inject", "hang", "--out", "none"), "found no --from"),
        (("--inject", "hang", "--from", "none"), "found no --out"),
        (("--inject", "nothing"), "expected crash-workload"),
        (("--from", "none"), "found no --inject; expected a fault"),
        (("--at", "0.5", "--factor", "3"), "--at, --factor; found no --inject"),
    ],
)
def test_what_cannot_be_simulated_says_why(arguments: tuple[object, ...], words: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, InputError)
    assert words in str(result.exception)
