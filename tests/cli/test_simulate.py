from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from relume.benchmarks.simulator.parameters import PUBLISHED
from relume.cli import app
from relume.errors import InputError

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
    ],
)
def test_what_cannot_be_simulated_says_why(arguments: tuple[object, ...], words: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, InputError)
    assert words in str(result.exception)
