from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from metric_rules import GPU_HOT
from relume.cli import app, main
from relume.errors import InputError

RULE = r"""
category = "site"

[[signature]]
id = "our_gate"
role = "root"
tier = "exception"
kind = "crash"
domain = "platform"
retry = "yes"
summary = "The site's gate [closed]."
patterns = ['gate is closed']
verify = '^gate'
positive = ['[rank3]: gate is closed', 'gate is closed for now']
negative = ['gate is open', 'the last gate is closed']
source = "our launcher"
"""

QUICK_TEST = ("test", "--engine", "re2")
"""RE2 compiles all rules in a fifth of the time."""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["rules", *arguments])


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(RULE)
    return path


def edited(site: Path, old: str, new: str) -> str:
    assert old in RULE
    site.write_text(RULE.replace(old, new))
    return str(site)


def test_list_prints_a_rule_a_line(site: Path) -> None:
    result = run("list", "--rules", str(site), "--family", "site")
    assert result.exit_code == 0
    row = ["our_gate", "site", "root", "platform", "yes", "never"]
    row += [str(site), "The site's gate [closed]."]
    assert result.stdout == "\t".join(row) + "\n"


def test_list_shows_the_rules_of_the_configuration(site: Path) -> None:
    config = site.with_name("relume.conf")
    config.write_text(f"[rules]\nfolders = ['{site.parent}']\n")
    result = run("list", "--config", str(config), "--family", "site")
    assert [row.split("\t")[6] for row in result.stdout.splitlines()] == [str(site)]


def test_rules_that_are_wrong_are_told_line_by_line(
    site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = edited(site, '"exception"', '"exceptional"\nexclud = "yes"')
    monkeypatch.setattr("sys.argv", ["relume", "diagnose", "--rules", path, path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "relume: 2 errors in rules:"
    assert [line.split(";")[0] for line in said[1:]] == [
        f"relume: - {path}: rule our_gate: field exclud",
        f"relume: - {path}: rule our_gate: field tier",
    ]


def test_list_draws_a_table_on_a_terminal(site: Path) -> None:
    ours, theirs = os.openpty()
    command = [
        sys.executable,
        "-m",
        "relume",
        "rules",
        "list",
        "--rules",
        str(site),
        "--family",
        "site",
    ]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "240"}
    subprocess.run(command, stdout=theirs, env=environment, check=True)
    os.close(theirs)
    text = os.read(ours, 65536).decode()
    os.close(ours)
    assert "1 rule" in text
    assert "1 rules" not in text
    assert "summary" in text
    assert "The site's gate [closed]." in text


def test_list_as_json_holds_every_field(site: Path) -> None:
    result = run("list", "--rules", str(site), "--role", "root", "--json")
    document = json.loads(result.stdout)
    assert document["schema_version"] == 1
    assert len(document["content_hash"]) == 64
    assert {rule["role"] for rule in document["rules"]} == {"root"}
    [ours] = [rule for rule in document["rules"] if rule["id"] == "our_gate"]
    assert (ours["family"], ours["tier"], ours["cause"]) == ("site", "exception", "our_gate")
    assert (ours["verify"], ours["captures"], ours["advice"]) == ("^gate", [], "")
    assert (ours["origin"], ours["override"], ours["refines"]) == (str(site), False, None)
    assert ours["negative"] == ["gate is open", "the last gate is closed"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["list", "--family", "cudda"], "did you mean 'cuda'?"),
        (["list", "--role", "rooot"], "did you mean 'root'?"),
        (["test", "--engine", "hyperskan"], "did you mean 'hyperscan'?"),
    ],
)
def test_unknown_names_get_the_nearest(arguments: list[str], hint: str) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, InputError)
    assert hint in str(result.exception)


@pytest.mark.parametrize("engine", ["hyperscan", "re2"])
def test_samples_that_are_right_are_no_failure(site: Path, engine: str) -> None:
    result = run("test", str(site), "--engine", engine)
    assert "our_gate" not in result.stdout
    assert result.stdout.splitlines()[-1].endswith(f"overlaps ({engine})")


def test_packaged_rules_pass_and_exit_0() -> None:
    result = run("test", "--json")
    document = json.loads(result.stdout)
    assert document["failures"] == []
    assert document["pass"] is True
    assert result.exit_code == 0


def test_a_sample_that_fails_exits_1(site: Path) -> None:
    result = run(*QUICK_TEST, edited(site, "'gate is open'", "'gate is closed?'"))
    assert result.exit_code == 1
    assert (
        f"fail: {site}: rule our_gate: negative sample is hit: gate is closed?\n" in result.stdout
    )


def test_a_failing_sample_as_json(site: Path) -> None:
    path = edited(site, "gate is closed for now", "for now the gate is closed")
    result = run(*QUICK_TEST, path, "--json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["schema_version"], document["pass"]) == (1, 1, False)
    assert document["errors"] == []
    assert {
        "rule": "our_gate",
        "origin": str(site),
        "expected_hit": True,
        "located": True,
        "sample": "for now the gate is closed",
    } in document["failures"]


def test_bad_rules_exit_2_and_are_all_named(site: Path) -> None:
    site.write_text(
        RULE.replace("'^gate'", "'('") + RULE.split("\n\n", 1)[1].replace("root", "rot")
    )
    result = run(*QUICK_TEST, str(site))
    assert result.exit_code == 2
    assert "rule our_gate: field verify" in result.stderr
    assert "rule our_gate: field role" in result.stderr
    assert ": 2 errors, 0 failures, " in result.stdout
    assert result.output.index("field verify") < result.output.index("0 failures")


def test_a_rule_that_closes_nothing_known_exits_2(site: Path) -> None:
    path = edited(site, 'role = "root"', 'role = "root"\ncloses = ["our_gaet"]')
    result = run(*QUICK_TEST, path)
    assert result.exit_code == 2
    assert "rule our_gate: field closes; found 'our_gaet'" in result.stderr
    assert "did you mean 'our_gate'?" in result.stderr
    assert ": 1 error, 0 failures, " in result.stdout


def test_a_folder_of_rules_is_tested(site: Path) -> None:
    edited(site, "'gate is open'", "'gate is closed?'")
    assert run(*QUICK_TEST, str(site.parent)).exit_code == 1


def test_a_path_that_is_not_there_exits_2(tmp_path: Path) -> None:
    result = run(*QUICK_TEST, str(tmp_path / "gone.toml"))
    assert result.exit_code == 2
    assert "gone.toml: can't be read" in result.stderr


def test_a_folder_without_rules_is_refused(tmp_path: Path) -> None:
    result = run("list", "--rules", str(tmp_path))
    assert "no *.toml in the folder" in str(result.exception)


def test_own_rules_are_not_drowned_in_notes_about_packaged_ones(site: Path) -> None:
    result = run(*QUICK_TEST, str(site))
    assert result.exit_code == 0
    assert "note:" not in result.stdout
    assert "note:" in run(*QUICK_TEST).stdout


METRIC_RULE = GPU_HOT.replace('"site"', '"metrics_of_ours"')


def test_metric_rules_are_tested_and_listed_beside_the_others(tmp_path: Path) -> None:
    file = tmp_path / "metrics.toml"
    file.write_text(METRIC_RULE)
    result = run(*QUICK_TEST, str(file))
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == "1 metric rule, 4 series, 0 failures"
    listed = run("list", "--rules", str(file), "--family", "metrics_of_ours").stdout
    assert listed.rstrip("\n").split("\t") == [
        *("gpu_hot", "metrics_of_ours", "metric", "facility", "", "never", str(file)),
        "gpu_temperature_celsius > 90: A GPU is hot.",
    ]
    record = json.loads(run("list", "--rules", str(file), "--json").stdout)
    [rule] = record["metric_rules"]
    assert (rule["id"], rule["condition"], rule["family"]) == (
        *("gpu_hot", "> 90", "metrics_of_ours"),
    )


def test_metric_rules_whose_samples_fail_exit_1_and_are_refused_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "metrics.toml"
    file.write_text(METRIC_RULE.replace("[60, 91]", "[60, 89]"))
    result = run(*QUICK_TEST, str(file))
    assert result.exit_code == 1
    words = "metric rule gpu_hot never holds for the positive series 1"
    assert f"fail: {file}: {words}" in result.stdout
    record = json.loads(run(*QUICK_TEST, str(file), "--json").stdout)
    assert record["pass"] is False
    assert len(record["metric_rules"]["failures"]) == 1
    refused = run("list", "--rules", str(file))
    assert words in str(refused.exception)
