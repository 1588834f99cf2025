"""`relume config`: what it prints, where, and the errors that become exit code 2."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from relume.cli.config import app
from relume.errors import ConfigError, InputError
from relume.records import SCHEMA_VERSION
from relume.settings import DEFAULTS, Settings


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty working folder, and an environment without our variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RELUME_CONFIG", raising=False)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_check_without_a_file() -> None:
    assert run("check") == f"no file: right, 0 of {len(DEFAULTS)} settings set\n"


def test_check_of_a_file(folder: Path) -> None:
    (folder / "mine.toml").write_text("[cluster]\nname = 'a'\n")
    assert run("check", "mine.toml") == f"mine.toml: right, 1 of {len(DEFAULTS)} settings set\n"


def test_check_finds_the_file_in_force(folder: Path) -> None:
    (folder / "relume.toml").write_text("")
    assert run("check").startswith("relume.toml: right, 0 of")


@pytest.mark.parametrize("arguments", [["mine.toml"], ["--config", "mine.toml"]])
def test_check_takes_the_file_as_the_other_commands_do(folder: Path, arguments: list[str]) -> None:
    (folder / "relume.toml").write_text("of = 'no use'")
    (folder / "mine.toml").write_text("[cluster]\nname = 'a'\n")
    assert run("check", *arguments).startswith("mine.toml: right, 1 of ")


def test_check_takes_one_file() -> None:
    result = CliRunner().invoke(app, ["check", "a.toml", "--config", "b.toml"])
    assert isinstance(result.exception, InputError)
    assert "found a.toml and --config b.toml" in str(result.exception)


def test_check_names_everything_that_is_wrong(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "relume.toml").write_text(
        "[clusters]\n[diagnose]\nmax_evidense = 1\nmax_evidence = -1"
    )
    monkeypatch.setenv("RELUME_CLUSTER__NAME", "a b")
    result = CliRunner().invoke(app, ["check"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.split(";")[0] for line in result.stderr.splitlines()] == [
        "relume: relume.toml:1: unknown section",
        "relume: relume.toml:3: unknown setting of [diagnose]",
        "relume: relume.toml:4: diagnose.max_evidence",
        "relume: env RELUME_CLUSTER__NAME: cluster.name",
    ]


def test_a_bad_file_becomes_exit_code_2(folder: Path) -> None:
    (folder / "bad.toml").write_text("[clusters]\n")
    result = CliRunner().invoke(app, ["show", "--config", "bad.toml"])
    assert isinstance(result.exception, ConfigError)  # `relume.cli.main` prints it and exits
    assert result.exception.exit_code == 2
    assert str(result.exception).startswith("bad.toml:1: unknown section; found 'clusters'")
    assert result.stdout == ""


def test_show_prints_a_file_that_says_the_same(folder: Path) -> None:
    (folder / "relume.toml").write_text("[diagnose]\nmax_evidence = 3\n")
    shown = run("show")
    assert Settings.model_validate(tomllib.loads(shown)).diagnose.max_evidence == 3
    (folder / "relume.toml").write_text(shown)
    assert run("show") == shown


def test_show_says_where_values_come_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "relume.toml").write_text("[diagnose]\nmax_evidence = 3\n")
    monkeypatch.setenv("RELUME_CLUSTER__NAME", "lab")
    lines = run("show", "--origin").splitlines()
    assert "max_evidence = 3  # file relume.toml:2" in lines
    assert 'name = "lab"  # env RELUME_CLUSTER__NAME' in lines
    assert 'timezone = "UTC"  # default' in lines


@pytest.mark.parametrize("file", [None, "relume.toml"])
def test_show_as_json(folder: Path, file: str | None) -> None:
    if file is not None:
        (folder / file).write_text("")
    document: dict[str, Any] = json.loads(run("show", "--json"))
    assert document == {
        "schema_version": SCHEMA_VERSION,
        "file": file,
        "settings": json.loads(Settings().model_dump_json()),
    }


def test_show_as_json_with_origins() -> None:
    origins = json.loads(run("show", "--json", "--origin"))["origins"]
    assert origins == dict.fromkeys(DEFAULTS, "default")


def test_schema_is_json_schema() -> None:
    document = json.loads(run("schema"))
    assert set(document["properties"]) == set(Settings.model_fields)


def test_a_token_comes_with_the_line_that_stands_for_it() -> None:
    made = json.loads(run("token", "--json"))
    assert made["hashed"] == f"sha256:{hashlib.sha256(made['token'].encode()).hexdigest()}"
    words = run("token").split()
    assert (words[0], words[2], len(words[1])) == ("token", "hashed", 64)
    assert words[1] != made["token"]
